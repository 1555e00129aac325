package documents

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"k8s-cli/pkg/task/group"
	"k8s-cli/pkg/task/problem"
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
		{"a job group", "name: g\nexecution: parallel\nprimary_tasks: [a]\n---\nname: a\nrun: a\n", File{Name: "g", Parallel: true, JobGroup: []group.JobGroupItem{{Name: "g"}}, Tasks: [][]byte{[]byte("\n\n\n---\nname: a\nrun: a\n")}}},
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

const (
	parallel = "execution: parallel\n"
	header   = "name: g\n" + parallel
	two      = "---\nname: a\nrun: a\n---\nname: b\nrun: b\n"
)

// The header of a job group says which tasks are primary, and how long the others go on.
func TestRolesInAJobGroup(t *testing.T) {
	for fields, want := range map[string][]group.JobGroupItem{
		"":                     {{Name: "g"}, {Name: "g"}},
		"primary_tasks: [b]\n": {{Name: "g", Auxiliary: true}, {Name: "g"}},
		"primary_tasks: [b]\ntermination_delay: 30s\n":                   {{Name: "g", Auxiliary: true, Delay: "30s"}, {Name: "g"}},
		"primary_tasks: [b]\ntermination_delay: {default: 30s}\n":        {{Name: "g", Auxiliary: true, Delay: "30s"}, {Name: "g"}},
		"primary_tasks: [b]\ntermination_delay: {default: 30s, a: 1m}\n": {{Name: "g", Auxiliary: true, Delay: "1m"}, {Name: "g"}},
		"primary_tasks: [b]\ntermination_delay: {a: 0s}\n":               {{Name: "g", Auxiliary: true, Delay: "0s"}, {Name: "g"}},
		"primary_tasks: null\ntermination_delay: 30s\n":                  {{Name: "g"}, {Name: "g"}},
	} {
		got, err := Split([]byte(header + fields + two))
		if diff := cmp.Diff(want, got.JobGroup); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", fields, err, diff)
		}
	}
}

func TestInvalidHeaders(t *testing.T) {
	for file, want := range map[string]string{
		"name: [a]\n---\nrun: a\n":                                                 "line 1, name: must be a text",
		"name: p\nexecution: fast\n---\nrun: a\n":                                  `line 2, execution: "fast" is not serial or parallel`,
		"name: p\nprimary_tasks: [a]\n---\nrun: a\n":                               "line 2, primary_tasks: is valid only with execution: parallel",
		"name: p\n\ntermination_delay: 30s\n---\nrun: a\n":                         "line 3, termination_delay: is valid only with execution: parallel",
		"execution: parallel\n" + two:                                              "line 1, name: a job group needs a name; add name beside execution",
		"name: a b\n" + parallel + two:                                             `line 1, name: "a b" must be at most 63 letters, digits, - _ and ., and must begin and end with a letter or digit; the tasks of a job group reach each other as {task}-{rank}.{job group}`,
		header + "---\nrun: a\n---\nname: b\nrun: b\n":                             "line 2, task 1: name: each task of a job group needs a name",
		header + "---\nname: a\nrun: a\n---\nname: a\nrun: b\n":                    `line 7, name: task 1 also has the name "a"; choose another name for one of them`,
		header + "primary_tasks: a\n" + two:                                        "line 3, primary_tasks: must be a list of the names of tasks, for example [trainer]",
		header + "primary_tasks: []\n" + two:                                       "line 3, primary_tasks: must be a list of the names of tasks, for example [trainer]",
		header + "primary_tasks:\n- a\n- c\n" + two:                                `line 5, primary_tasks: the job group has no task "c"; its tasks are a, b`,
		header + "termination_delay: 30\n" + two:                                   `line 3, termination_delay: "30" is not a duration with a unit, for example 90s, 30m, 2h, 1h30m, 1d or 2w`,
		header + "termination_delay: [30s]\n" + two:                                "line 3, termination_delay: must be a duration, for example 30s, or a mapping of default and names of tasks to durations",
		header + "primary_tasks: [a]\ntermination_delay: {default: [30s]}\n" + two: "line 4, termination_delay: must be a duration, for example 30s",
		header + "primary_tasks: [a]\ntermination_delay: {c: 30s}\n" + two:         `line 4, termination_delay: the job group has no task "c"; its tasks are a, b`,
		header + "primary_tasks: [a]\ntermination_delay: {a: 30s}\n" + two:         `line 4, termination_delay: "a" is a primary task, which the job group waits for; name auxiliary tasks, which are not in primary_tasks`,
		header + "primary_tasks: [a]\ntermination_delay: {b: fast}\n" + two:        `line 4, termination_delay: "fast" is not a duration with a unit, for example 90s, 30m, 2h, 1h30m, 1d or 2w`,
		strings.Repeat("---\nrun: x\n", maxDocuments+2):                            "more than 100 documents in one file; split the file",
	} {
		if _, err := Split([]byte(file)); !errors.Is(err, problem.Invalid) || err.Error() != want {
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
