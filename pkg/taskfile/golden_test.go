package taskfile

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"k8s-cli/pkg/task"
	"k8s-cli/test/testkit/must"
)

var update = flag.Bool("update", false, "write the golden files anew")

// An outcome is the content of a golden file.
type outcome struct {
	Task     *task.Spec `json:"task,omitempty"`
	Warnings []string   `json:"warnings,omitempty"`
	Error    string     `json:"error,omitempty"`
	Kind     string     `json:"kind,omitempty"`
}

func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	shapes, wrong := filepath.Glob("testdata/shapes/*.yaml") // shapes of SkyPilot's own examples
	if err != nil || wrong != nil || len(files) == 0 || len(shapes) < 30 {
		t.Fatalf("testdata: %d files and %d shapes, %v", len(files), len(shapes), err)
	}
	files = append(files, shapes...)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			data := must.Read(t, file)
			got := encode(t, outcomeOf(Parse(data)))
			golden := strings.TrimSuffix(file, ".yaml") + ".golden.json"
			if *update {
				must.Succeed(t, os.WriteFile(golden, got, 0o644))
			}
			want := must.Read(t, golden)
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", golden, diff)
			}
		})
	}
}

func outcomeOf(t task.Spec, warnings []string, err error) outcome {
	if err == nil {
		return outcome{Task: &t, Warnings: warnings}
	}
	return outcome{Error: err.Error(), Kind: errors.Unwrap(err).Error()}
}

func encode(t *testing.T, o outcome) []byte {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	must.Succeed(t, e.Encode(o))
	return []byte(b.String())
}
