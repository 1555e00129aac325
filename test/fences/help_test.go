package fences

import (
	"os/exec"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestMakeHelpFitsTheTerminal(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "make", "-s", "-C", root, "help").CombinedOutput()
	if err != nil || strings.Count(string(out), "\n") < 30 {
		t.Fatalf("%v\n%s", err, out)
	}
	for line := range strings.Lines(string(out)) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 100 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}
