package show

import (
	"bytes"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Plain returns text on one line, with an escape in place of each character that
// a terminal obeys or does not show: control characters, ESC among them, and
// those that change the direction of text or have no width. Names and messages
// come from servers, issuers and other users.
func Plain(text string) string {
	if utf8.ValidString(text) && !strings.ContainsFunc(text, unsafe) {
		return text
	}
	var b strings.Builder
	for _, r := range text { // a byte that is not UTF-8 is U+FFFD
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

// unsafeData leaves to data its lines and tabs, which no terminal misunderstands.
func unsafeData(r rune) bool { return r != '\n' && r != '\t' && unsafe(r) }

// quoteUnsafe returns data with escapes in place of the same characters, each of
// which is in a string in double quotes. A reader of the data gets the same strings.
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
