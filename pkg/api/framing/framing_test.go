package framing

import (
	"errors"
	"strings"
	"testing"
)

// inPieces sends text through a framing in pieces of a size. inPieces returns the number of
// the current request and the first error.
func inPieces(text string, size int) (requests uint64, err error) {
	var f framing
	for len(text) > 0 {
		piece := text[:min(size, len(text))]
		text = text[len(piece):]
		if n, err := f.check([]byte(piece)); err != nil || n != len(piece) {
			return f.current(), err
		}
	}
	return f.current(), nil
}

// TestRequestsInPieces checks that the result does not depend on the pieces in which a
// request arrives.
func TestRequestsInPieces(t *testing.T) {
	const head = "POST / HTTP/1.1\r\nHost: x\r\n"
	chunks := func(body string) string { return head + "Transfer-Encoding: chunked\r\n\r\n" + body }
	longest := head + "X: " + strings.Repeat("x", HeadLimit-len(head)-len("X: \r\n\r\n")) + "\r\n\r\n"
	for _, tt := range []struct {
		name string
		text string
		want uint64 // number of the request that contains the next byte
		err  error
	}{
		{"nothing", "", 1, nil},
		{"empty lines first", "\r\n\r\n" + head, 1, nil},
		{"a head", head + "\r\n", 2, nil},
		{"two heads", head + "\r\n" + head + "\r\n", 3, nil},
		{"a head that is not complete", head + "\r\n" + head, 2, nil},
		{"a body that is not complete", head + "Content-Length: 2\r\n\r\na", 1, nil},
		{"a body", head + "Content-Length: 2\r\n\r\nab", 2, nil},
		{"a body of nothing", head + "Content-Length: 0\r\n\r\n", 2, nil},
		{"the largest head", longest, 2, nil},
		{"the largest head twice", longest + longest, 3, nil},
		{"a larger head", strings.Replace(longest, "X: ", "XX: ", 1), 1, errLongHead},
		{"no chunks", chunks("0\r\n\r\n"), 2, nil},
		{"chunks", chunks("1\r\na\r\nA\r\n0123456789\r\n0f\r\n0123456789abcde\r\n0\r\n\r\n"), 2, nil},
		{"chunks that are not complete", chunks("1\r\na\r\n"), 1, nil},
		{"an extension", chunks("1;x=\"y\"\r\na\r\n0;z\r\n\r\n"), 2, nil},
		{"the longest extension", chunks("1;" + strings.Repeat("x", maxChunkLine-len("1;\r\n")) + "\r\na\r\n0\r\n\r\n"), 2, nil},
		{"a longer extension", chunks("1;" + strings.Repeat("x", maxChunkLine-len("1;\r\n")+1) + "\r\na\r\n0\r\n\r\n"), 1, errChunk},
		{"the most digits", chunks(strings.Repeat("0", maxSizeDigits-1) + "1\r\na\r\n0\r\n\r\n"), 2, nil},
		{"more digits", chunks(strings.Repeat("0", maxSizeDigits) + "1\r\na\r\n0\r\n\r\n"), 1, errChunk},
		{"no digits", chunks("\r\n"), 1, errChunk},
		{"no digits, and an extension", chunks(";x\r\n"), 1, errChunk},
		{"a digit that is none", chunks("g\r\n"), 1, errChunk},
		{"a blank behind the size", chunks("1 ;x\r\n"), 1, errChunk},
		{"a control character", chunks("1;\x01\r\n"), 1, errChunk},
		{"more data than the chunk has", chunks("1\r\nab\r\n"), 1, errChunk},
		{"a trailer", chunks("0\r\nX: y\r\n\r\n"), 1, errTrailer},
		{"a field without a name", head + ": x\r\n\r\n", 1, errHead},
		{"a name of one letter", head + "X: y\r\n\r\n", 2, nil},
	} {
		for _, size := range []int{1, 2, 3, 7, 64, len(tt.text) + 1} {
			if got, err := inPieces(tt.text, size); got != tt.want || !errors.Is(err, tt.err) {
				t.Errorf("%s, in pieces of %d: request %d, %v, want %d, %v", tt.name, size, got, err, tt.want, tt.err)
			}
		}
	}
}

func TestClassesOfBytes(t *testing.T) {
	const letters, digits = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789"
	for i := range 256 {
		c := byte(i)
		in := func(set string) bool { return strings.IndexByte(set, c) >= 0 }
		for name, is := range map[string][2]bool{
			"hexadecimal": {isHex(c), in(digits + "abcdefABCDEF")},
			"a token":     {classes[c]&tokenByte != 0, in(letters + digits + "!#$%&'*+-.^_`|~")},
			"of a host":   {classes[c]&hostByte != 0, in(letters + digits + "-._~!$&'()*+;=%[]:")},
			"visible":     {classes[c]&visibleByte != 0, c > ' ' && c != 0x7f},
			"of a value":  {classes[c]&fieldByte != 0, c == '\t' || c >= ' ' && c != 0x7f},
			"a version":   {classes[c]&versionByte != 0, in(digits + ".")},
		} {
			if is[0] != is[1] {
				t.Errorf("%#02x is %s: %v, want %v", c, name, is[0], is[1])
			}
		}
	}
	for value, want := range map[string]string{"": "", " \t": "", "\t a b\t ": "a b", "a": "a", "\na ": "\na"} {
		if got := string(blanksOff([]byte(value))); got != want {
			t.Errorf("%q without blanks is %q, want %q", value, got, want)
		}
	}
}
