package documents

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"k8s-cli/pkg/task"
)

func TestSplit(t *testing.T) {
	for _, tt := range []struct {
		name, file string
		want       File
	}{
		{"one", "run: x\n", File{Tasks: [][]byte{[]byte("run: x\n")}}},
		{"one behind a marker", "# c\n---\nrun: x\n---\n# end\n", File{Tasks: [][]byte{[]byte("# c\n---\nrun: x\n---\n# end\n")}}},
		{"one that is invalid", "run: [\n", File{Tasks: [][]byte{[]byte("run: [\n")}}},
		{"none", "", File{Tasks: [][]byte{{}}}},
		{"a pipeline with a header", "name: p\n---\nrun: a\n---\nrun: b", File{Name: "p", Tasks: [][]byte{[]byte("\n---\nrun: a\n"), []byte("\n\n\n---\nrun: b")}}},
		{"a pipeline without a header", "name: a\nrun: a\n---\nrun: b\n", File{Tasks: [][]byte{[]byte("name: a\nrun: a\n"), []byte("\n\n---\nrun: b\n")}}},
		{"a header and one task", "---\nname: p\nexecution: serial\n--- # task\nrun: a\n", File{Name: "p", Tasks: [][]byte{[]byte("\n\n\n--- # task\nrun: a\n")}}},
		{"a job group", "name: g\nexecution: parallel\nprimary_tasks: [a]\n---\nname: a\nrun: a\n", File{Name: "g", Parallel: true, Tasks: [][]byte{[]byte("\n\n\n---\nname: a\nrun: a\n")}}},
		{"markers in a script", "run: |\n  ---\n  cat <<E\n  --- a\n  E\n---\nrun: ----\n", File{Tasks: [][]byte{[]byte("run: |\n  ---\n  cat <<E\n  --- a\n  E\n"), []byte("\n\n\n\n\n---\nrun: ----\n")}}},
		{"a document that is invalid", "run: a\n---\nrun: [\n", File{Tasks: [][]byte{[]byte("run: a\n"), []byte("\n---\nrun: [\n")}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Split([]byte(tt.file))
			if diff := cmp.Diff(tt.want, got); err != nil || diff != "" {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestWrongHeaders(t *testing.T) {
	for file, want := range map[string]string{
		"name: [a]\n---\nrun: a\n":                         "name: must be a text (line 1)",
		"name: p\nexecution: fast\n---\nrun: a\n":          `execution: "fast" is not serial or parallel (line 2)`,
		"name: p\nprimary_tasks: [a]\n---\nrun: a\n":       "primary_tasks: is valid only with execution: parallel (line 2)",
		"name: p\n\ntermination_delay: 30s\n---\nrun: a\n": "termination_delay: is valid only with execution: parallel (line 3)",
		strings.Repeat("---\nrun: x\n", maxDocuments+2):    "more than 100 documents in one file; split the file",
	} {
		if _, err := Split([]byte(file)); !errors.Is(err, task.ErrInvalid) || err.Error() != want {
			t.Errorf("%.40q: got %v, want %s", file, err, want)
		}
	}
}

func FuzzSplit(f *testing.F) {
	f.Add([]byte("name: p\n---\nrun: a\n---\nrun: b\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := Split(data)
		if err == nil && len(file.Tasks) == 0 {
			t.Error("a file without a task and without an error")
		}
	})
}
