package task

import (
	"strings"
	"unicode/utf8"
)

// MaxLines is how many lines are kept of what a node wrote.
const MaxLines = 10

const maxOutput = 1 << 10 // bytes of them

// LastLines returns the end of what a node wrote: as many lines and bytes as are
// kept, whole runes only.
func LastLines(text string) string {
	lines := strings.Split(strings.ToValidUTF8(strings.TrimSpace(text), "?"), "\n")
	text = strings.Join(lines[max(len(lines)-MaxLines, 0):], "\n")
	if cut := len(text) - maxOutput; cut > 0 {
		for !utf8.RuneStart(text[cut]) {
			cut++
		}
		text = text[cut:]
	}
	return text
}
