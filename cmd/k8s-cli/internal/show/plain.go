package show

import (
	"bytes"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Plain returns text on one line. It escapes each character that a terminal interprets or
// does not show: control characters including ESC, characters that change the direction
// of text, and characters without a width. Text needs Plain because servers, issuers and
// other users write names and messages.
func Plain(text string) string {
	if utf8.ValidString(text) && !strings.ContainsFunc(text, unsafe) {
		return text
	}
	var b strings.Builder
	for _, r := range text { // range returns U+FFFD for a byte that is not UTF-8
		switch {
		case !unsafe(r):
			b.WriteRune(r)
		case unicode.IsSpace(r):
			b.WriteByte(' ')
		default:
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		}
	}
	return b.String()
}

func unsafe(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp)
}

// unsafeData reports unsafe characters in data. Newlines and tabs are safe for a
// terminal.
func unsafeData(r rune) bool { return r != '\n' && r != '\t' && unsafe(r) }

// quoteUnsafe escapes the characters of unsafeData. All such characters are within
// double-quoted strings, so that a parser reads the original strings.
func quoteUnsafe(data []byte, f Format) []byte {
	var b bytes.Buffer
	for _, r := range string(data) {
		switch {
		case !unsafeData(r):
			b.WriteRune(r)
		case f == YAML && r > 0xffff:
			b.WriteString(`\U` + hex(r, 8))
		default:
			for _, unit := range utf16.AppendRune(nil, r) {
				b.WriteString(`\u` + hex(rune(unit), 4))
			}
		}
	}
	return b.Bytes()
}

func hex(r rune, digits int) string {
	text := strconv.FormatInt(int64(r), 16)
	return strings.Repeat("0", digits-len(text)) + text
}
