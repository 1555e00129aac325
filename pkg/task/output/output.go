// Package output shortens the output of a node to its last lines.
package output

import (
	"strings"
	"unicode/utf8"
)

// MaxLines is how many of the last lines of a node are stored.
const MaxLines = 10

const maxOutput = 1 << 10 // largest size of these lines, in bytes

// LastLines returns the end of the output of a node, at most MaxLines lines and maxOutput
// bytes, without splitting a rune.
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
