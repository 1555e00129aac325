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
	t.Parallel()
	const head = "POST / HTTP/1.1\r\nHost: x\r\n"
	chunks := func(body string) string { return head + "Transfer-Encoding: chunked\r\n\r\n" + body }
	longest := head + "X: " + strings.Repeat("x", HeadLimit-len(head)-len("X: \r\n\r\n")) + "\r\n\r\n"
	check := func(text string, want uint64, wrong error) {
		t.Helper()
		for _, size := range []int{1, 2, 3, 7, 64, len(text) + 1} {
			if got, err := inPieces(text, size); got != want || !errors.Is(err, wrong) {
				t.Errorf("%.200q, in pieces of %d: request %d, %v, want %d, %v", text, size, got, err, want, wrong)
			}
		}
	}
	for _, tt := range []struct {
		text string
		want uint64 // number of the request that contains the next byte
	}{
		{"", 1},
		{"\r\n\r\n" + head, 1},
		{head + "\r\n", 2},
		{head + "\r\n" + head + "\r\n", 3},
		{head + "\r\n" + head, 2},
		{head + "X: y\r\n\r\n", 2},
		{head + "X-Content-Length: 3\r\nContent-Length-X: 4\r\n\r\n", 2},
		{head + "Content-Length: 2\r\n\r\na", 1},
		{head + "Content-Length: 2\r\n\r\nab", 2},
		{head + "Content-Length: 0\r\n\r\n", 2},
		{longest, 2},
		{longest + longest, 3},
		{chunks("0\r\n\r\n"), 2},
		{head + "Transfer-Encoding: Chunked\r\n\r\n0\r\n\r\n", 2},
		{chunks("1\r\na\r\nA\r\n0123456789\r\n0f\r\n0123456789abcde\r\n0000\r\n\r\n"), 2},
		{chunks("1\r\na\r\n"), 1},
		{chunks("1;x=\"y z\";v\r\na\r\n0;z\r\n\r\n"), 2},
		{chunks("1;" + strings.Repeat("x", maxChunkLine-len("1;\r\n")) + "\r\na\r\n0\r\n\r\n"), 2},
		{chunks(strings.Repeat("0", maxSizeDigits-1) + "1\r\na\r\n0\r\n\r\n"), 2},
	} {
		check(tt.text, tt.want, nil)
	}
	for wrong, texts := range map[error][]string{
		errHead: {
			"nonsense\r\n", "GET /\r\n", "GET / HTTP/x.y\r\n", "GET  / HTTP/1.1\r\n", "GET /a b HTTP/1.1\r\n", "GET / HTTP/1.1\n",
			head + "X-User : ann\r\n", head + "X: a\r\n b\r\n", head + "X\r\n", head + ": x\r\n", head + "X: a\nY: b\r\n", head + "X: a\rb\r\n",
		},
		errVersion: {"GET / HTTP/9.9\r\n", "PRI * HTTP/2.0\r\n"},
		errHost: {
			"GET / HTTP/1.1\r\n\r\n", head + "host: x\r\n", "GET / HTTP/1.0\r\nHost: x\r\nHost: x\r\n",
			"GET / HTTP/1.1\r\nHost: x, y\r\n", "GET / HTTP/1.1\r\nHost: x/y\r\n",
		},
		errLength: {head + "Content-Length: many\r\n", head + "Content-Length: +2\r\n", head + "Content-Length: 18446744073709551617\r\n"},
		errAmbiguousLength: {
			head + "Content-Length: 60\r\nContent-Length: 0\r\n", head + "Content-Length: 0\r\ncontent-length: 0\r\n",
			head + "Content-Length: 60\r\nTransfer-Encoding: chunked\r\n", head + "transfer-encoding:chunked\r\nCONTENT-LENGTH:0\r\n",
			head + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", head + "Transfer-Encoding: gzip\r\n",
			head + "Transfer-Encoding: gzip, chunked\r\n", head + "Transfer-Encoding: identity\r\n",
			"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n",
		},
		errLongHead: {strings.Replace(longest, "X: ", "XX: ", 1)},
		errChunk: {
			chunks("2;\nxx\r\na5\r\n0\r\n\r\n"), chunks("2 \nxx\r\n"), chunks("2zz\r\n"), chunks("2 \r\n"), chunks("1 ;x\r\n"), chunks("2\r\n{}\r\n0;\nxx\r\n"),
			chunks("0x5\r\n"), chunks("+2\r\n"), chunks("\r\n"), chunks(";x\r\n"), chunks("g\r\n"), chunks("ffffffffffffffff\r\n"), chunks("2;a=\x01\r\n"), chunks("2;a\rb\r\n"),
			chunks("1;" + strings.Repeat("x", maxChunkLine-len("1;\r\n")+1) + "\r\n"), chunks(strings.Repeat("0", maxSizeDigits) + "1\r\n"),
			chunks("2\r\n{}\n0\r\n"), chunks("2\r\n{}XX0\r\n"), chunks("2\n{}\r\n"), chunks("2\r\n{}\r\n0\n\r\n"), chunks("2\r\n{}\r\n0\r\n\n"),
		},
		errTrailer: {chunks("0\r\nX: y\r\n\r\n"), chunks("2\r\n{}\r\n0\r\nX-User: ceo\r\n\r\n")},
	} {
		for _, text := range texts {
			check(text, 1, wrong)
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
