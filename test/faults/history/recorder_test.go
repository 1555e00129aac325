package history

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The watch may send events for a moment after the history was closed.
func TestRecorderIgnoresLateEvents(t *testing.T) {
	dir := t.TempDir()
	r := NewRecorder(dir)
	r.Object(Object{Name: "one"})
	h, err := r.Close()
	if err != nil || len(h.Objects) != 1 {
		t.Fatalf("%+v, %v", h, err)
	}
	r.Object(Object{Name: "late"})
	text, err := os.ReadFile(filepath.Join(dir, "objects.jsonl"))
	if err != nil || len(h.Objects) != 1 || !strings.Contains(string(text), `"one"`) {
		t.Errorf("%d objects; the file holds %q, %v", len(h.Objects), text, err)
	}
}
