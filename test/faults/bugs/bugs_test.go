package bugs

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"testing"
)

// Each edit of a bug applies to the sources exactly once, and the result is valid Go. The
// test fails when the sources change and the table does not.
func TestEveryBugStillFitsTheSources(t *testing.T) {
	names := map[string]bool{}
	for _, b := range All {
		t.Run(b.Name, func(t *testing.T) {
			if names[b.Name] || len(b.Edits) == 0 || len(b.Rules) == 0 || b.Scenario == "" {
				t.Error("the name is taken, or something is missing")
			}
			names[b.Name] = true
			for _, file := range b.Files() {
				text, err := os.ReadFile(filepath.Join("../../..", file))
				if err != nil {
					t.Fatal(err)
				}
				changed, err := b.Apply(file, string(text))
				if err != nil {
					t.Fatal(err)
				}
				if _, err := parser.ParseFile(token.NewFileSet(), file, changed, 0); err != nil {
					t.Errorf("it is no Go any more: %v", err)
				}
			}
		})
	}
}

func TestApplyRejectsAnAmbiguousEdit(t *testing.T) {
	b := Bug{Edits: []Edit{{"f", "a", "b"}}}
	for text, want := range map[string]string{"xay": "xby", "aa": "", "x": ""} {
		got, err := b.Apply("f", text)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("Apply(%q) = %q, %v; want %q", text, got, err, want)
		}
	}
}
