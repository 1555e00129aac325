package task

import (
	"strings"
	"unicode/utf8"
)

// MaxLastLines is how many of the last lines of a node are stored.
const MaxLastLines = 10

const maxLastLinesSize = 1 << 10 // largest size of these lines, in bytes

// LastLines returns the end of the output of a node, at most MaxLastLines lines and maxLastLinesSize
// bytes, without splitting a rune.
func LastLines(text string) string {
	lines := strings.Split(strings.ToValidUTF8(strings.TrimSpace(text), "?"), "\n")
	text = strings.Join(lines[max(len(lines)-MaxLastLines, 0):], "\n")
	if cut := len(text) - maxLastLinesSize; cut > 0 {
		for !utf8.RuneStart(text[cut]) {
			cut++
		}
		text = text[cut:]
	}
	return text
}
