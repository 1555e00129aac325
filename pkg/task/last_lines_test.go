package task

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestLastLines(t *testing.T) {
	lines := func(n int) string { return strings.TrimSuffix(strings.Repeat("line\n", n), "\n") }
	for _, tt := range []struct{ name, text, want string }{
		{"nothing", "", ""},
		{"blanks around", "\n a\nb \n\n", "a\nb"},
		{"as many as are kept", lines(10) + "\n", lines(10)},
		{"more", "first\n" + lines(10), lines(10)},
		{"as long as is kept", strings.Repeat("a", 1024), strings.Repeat("a", 1024)},
		{"longer", "b" + strings.Repeat("a", 1024), strings.Repeat("a", 1024)},
		{"no half characters", "é" + strings.Repeat("a", 1023), strings.Repeat("a", 1023)},
		{"no half wide characters", "🚀" + strings.Repeat("a", 1021), strings.Repeat("a", 1021)},
		{"bytes that are no UTF-8", "a\xffb", "a?b"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := LastLines(tt.text); got != tt.want || !utf8.ValidString(got) {
				t.Errorf("LastLines = %q, want %q", got, tt.want)
			}
		})
	}
}
