package taskfile

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"k8s-cli/pkg/task"
	"k8s-cli/test/testkit/must"
)

func FuzzParse(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.yaml")
	shapes, _ := filepath.Glob("testdata/shapes/*.yaml")
	files = append(files, shapes...)
	for _, tt := range forms {
		f.Add([]byte(tt.file + "\nrun: x\n"))
	}
	for _, file := range files {
		if data, err := os.ReadFile(file); err == nil {
			f.Add(data)
		}
	}
	for _, text := range hostileYAML {
		if len(text) < 500 {
			f.Add([]byte(text))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, warnings, err := Parse(data)
		checkParsed(t, got, warnings, err)
	})
}

func FuzzParseJSON(f *testing.F) {
	for _, text := range []string{
		`{"name":"train","num_nodes":2,"resources":{"cpus":4,"accelerators":{"A100":8},"ports":[1,"2-3"]},"envs":{"A":1},"volumes":{"/a":"b"},"setup":"x","run":"y"}`,
		`{"run":"x","file_mounts":{"/a":{"source":"b"}},"inputs":{},"resources":{"any_of":[],"disk_size":"1TB"}}`,
		`{"run":"\ud800","name":null}`, `[{}]`, `{"a":1,"a":2}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, warnings, err := ParseJSON(data)
		checkParsed(t, got, warnings, err)
		if err == nil && !json.Valid([]byte(strings.TrimPrefix(string(data), "\uFEFF"))) {
			t.Error("what encoding/json calls broken was accepted")
		}
	})
}

func FuzzParseVolume(f *testing.F) {
	f.Add([]byte(`{"name":"data","size":"10Gi","storage_class":"fast","access_modes":["ReadWriteOnce"]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := ParseVolume(data)
		if err != nil {
			checkKind(t, err)
		} else if err := v.Validate(); err != nil {
			t.Errorf("an accepted volume is not valid: %v", err)
		}
	})
}

// checkParsed checks what must be true for every text: an accepted task is valid and
// survives encoding, and errors and warnings are readable sentences.
func checkParsed(t *testing.T, got task.Spec, warnings []string, err error) {
	t.Helper()
	if err != nil {
		checkKind(t, err)
		checkSentence(t, err.Error())
		if diff := cmp.Diff(task.Spec{}, got); diff != "" || warnings != nil {
			t.Errorf("an error comes with a task: %s %q", diff, warnings)
		}
		return
	}
	for _, w := range warnings {
		checkSentence(t, w)
	}
	if err := got.Validate(); err != nil {
		t.Errorf("an accepted task is not valid: %v", err)
	}
	body := must.Encode(t, got)
	if len(body) > MaxSize {
		return
	}
	again, repeated, err := ParseJSON(body)
	if err != nil {
		t.Fatalf("the task as JSON is refused: %v\n%s", err, body)
	}
	if diff := cmp.Diff(got, again); diff != "" {
		t.Errorf("the task changes as JSON (-before +after):\n%s", diff)
	}
	for _, w := range repeated {
		if !slices.Contains(warnings, w) {
			t.Errorf("as JSON the task has a warning that it had not: %q, only %q", w, warnings)
		}
	}
}

func checkSentence(t *testing.T, s string) {
	t.Helper()
	if s == "" || len(s) > 4000 || !utf8.ValidString(s) || strings.ContainsAny(s, "\n\r\x00\x1b") {
		t.Errorf("not a sentence for people: %q", s)
	}
}
