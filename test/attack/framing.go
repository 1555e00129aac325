package main

import (
	"fmt"
	"strings"
)

// task14 is a task in 14 bytes, which is e in hexadecimal.
const task14 = `{"run":"true"}`

// probe is a second request, to which the server must not answer after an invalid first
// request.
const probe = "GET /healthz HTTP/1.1\r\nHost: {host}\r\n\r\n"

const postHead = "POST /tasks/preview HTTP/1.1\r\nHost: {host}\r\nX-User: ann\r\nContent-Type: application/json\r\n"

// framingAttacks send requests whose end, or whose header, two HTTP parsers could interpret
// differently. To one of the parsers, the rest of the bytes would be a request in the name
// of another user.
func framingAttacks() []attack {
	all := []attack{
		control(raw("chunks", byHeader, postHead+"Transfer-Encoding: chunked\r\n\r\ne\r\n"+task14+"\r\n0\r\n\r\n", works)),
		control(raw("a length", byHeader, postHead+"Content-Length: 14\r\n\r\n"+task14, works)),
	}
	for name, body := range byName(chunkLines()) {
		all = append(all, raw("chunk: "+name, byHeader, postHead+"Transfer-Encoding: chunked\r\n\r\n"+body+probe, closed(400)))
	}
	for _, head := range []string{
		"Content-Length: 14\r\nTransfer-Encoding: chunked\r\n", "Transfer-Encoding: chunked\r\nContent-Length: 14\r\n",
		"Transfer-Encoding: chunked\r\nContent-Length: 0\r\n", "Content-Length: 0\r\nTransfer-Encoding: chunked\r\n",
		"Content-Length: 14\r\nContent-Length: 14\r\n", "Content-Length: 14\r\nContent-Length: 0\r\n", "Content-Length: 0\r\nContent-Length: 14\r\n",
		"Content-Length: 14, 14\r\n", "Content-Length: 14,0\r\n", "Content-Length: +14\r\n", "Content-Length: -14\r\n", "Content-Length: -1\r\n",
		"Content-Length: 0xe\r\n", "Content-Length: 1 4\r\n", "Content-Length: 14;\r\n", "Content-Length: 1_4\r\n", "Content-Length: 14.0\r\n", "Content-Length: e\r\n",
		"Content-Length: \"14\"\r\n", "Content-Length: 18446744073709551630\r\n", "Content-Length: 99999999999999999999999999\r\n", "Content-Length: \xd9\xa1\xd9\xa4\r\n",
		"Content-Length:\r\n", "Content-Length : 14\r\n", "Content-Length\t: 14\r\n", "X: y\r\n Content-Length: 14\r\nContent-Length: 3\r\n",
		"Transfer-Encoding: xchunked\r\n", "Transfer-Encoding: chunkedx\r\n", "Transfer-Encoding: identity\r\n", "Transfer-Encoding: identity, chunked\r\n",
		"Transfer-Encoding: chunked, identity\r\n", "Transfer-Encoding: chunked, chunked\r\n", "Transfer-Encoding: gzip, chunked\r\n", "Transfer-Encoding: gzip\r\n",
		"Transfer-Encoding: \"chunked\"\r\n", "Transfer-Encoding: chunked;q=1\r\n", "Transfer-Encoding: chunk\x00ed\r\n", "Transfer-Encoding: chunked\x0b\r\n",
		"Transfer-Encoding: \x0bchunked\r\n", "Transfer-Encoding : chunked\r\n", "Transfer-Encoding\t: chunked\r\n", "Transfer-Encoding:\r\n chunked\r\n",
		"Transfer-Encoding: x\r\n chunked\r\n", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
		"Transfer-Encoding:\r\nTransfer-Encoding: chunked\r\n", "Transfer-Encoding: \r\n", "Transfer-Encoding: ,chunked\r\n",
	} {
		all = append(all, raw("head: "+brief(strings.TrimSuffix(head, "\r\n")), byHeader, postHead+head+"\r\ne\r\n"+task14+"\r\n0\r\n\r\n"+probe, closed(400, 501)))
	}
	return append(append(all, hostAttacks()...), quoteAttacks()...)
}

// chunkLines are chunked bodies that RFC 9112, section 7.1, does not allow.
func chunkLines() map[string]string {
	const end, last = "\r\n", "0\r\n\r\n"
	chunk := task14 + end
	return map[string]string{
		"LF in an extension":           "e;\nxx" + end + chunk + last,
		"LF behind a blank":            "e \nxx" + end + chunk + last,
		"letters behind the size":      "ezz" + end + chunk + last,
		"0x":                           "0x5" + end + chunk + last,
		"0x and the size":              "0xe" + end + chunk + last,
		"bare LF":                      "e\n" + chunk + last,
		"bare CR":                      "e\r" + chunk + last,
		"two CR":                       "e\r\r\n" + chunk + last,
		"CR and a letter":              "e\rx\n" + chunk + last,
		"a blank in front":             " e" + end + chunk + last,
		"a tab in front":               "\te" + end + chunk + last,
		"a plus":                       "+e" + end + chunk + last,
		"a minus":                      "-e" + end + chunk + last,
		"an underscore":                "0_e" + end + chunk + last,
		"a blank inside":               "0 e" + end + chunk + last,
		"no size":                      end + chunk + last,
		"an extension without a size":  ";a=b" + end + chunk + last,
		"NUL behind the size":          "e\x00" + end + chunk + last,
		"NUL in an extension":          "e;a=\x00" + end + chunk + last,
		"CR in an extension":           "e;a\rb" + end + chunk + last,
		"2^64 and the size":            "1000000000000000e" + end + chunk + last,
		"as many digits as fit":        strings.Repeat("f", 16) + end + chunk + last,
		"hundred digits":               strings.Repeat("f", 100) + end + chunk + last,
		"a thousand zeros":             strings.Repeat("0", 1000) + "e" + end + chunk + last,
		"an extension of 64 KiB":       "e;" + strings.Repeat("x", 64<<10) + end + chunk + last,
		"an extension of 1 MiB":        "e;x=" + strings.Repeat("y", 1<<20) + end + chunk + last,
		"letters behind the data":      "e" + end + task14 + "XX" + last,
		"LF behind the data":           "e" + end + task14 + "\n" + last,
		"nothing behind the data":      "e" + end + task14 + last,
		"data that is longer":          "d" + end + chunk + last,
		"LF behind the last size":      "e" + end + chunk + "0\n\n",
		"LF in the last extension":     "e" + end + chunk + "0;\nxx" + end + end,
		"0x0 at the end":               "e" + end + chunk + "0x0" + end + end,
		"letters behind the last size": "e" + end + chunk + "0zz" + end + end,
		"a trailer":                    "e" + end + chunk + "0" + end + "X-Checksum: 1" + end + end,
		"a trailer with a name":        "e" + end + chunk + "0" + end + "X-User: ceo" + end + end,
		"a trailer with a length":      "e" + end + chunk + "0" + end + "Content-Length: 3" + end + end,
		"a trailer that is no header":  "e" + end + chunk + "0" + end + "xx" + end + end,
	}
}

// hostAttacks are headers for which RFC 9112 requires a 400.
func hostAttacks() (all []attack) {
	for name, lines := range byName(map[string]string{
		"no Host": "", "two Hosts": "Host: {host}\r\nHost: {host}\r\n", "two different Hosts": "Host: {host}\r\nHost: evil.example\r\n",
		"a Host and a folded one": "Host: {host}\r\n Host: evil.example\r\n", "Host with a blank": "Host: {host} evil.example\r\n",
		"Host with a list": "Host: {host},evil.example\r\n", "Host with a path": "Host: {host}/x\r\n", "Host with a user": "Host: ann@{host}\r\n",
	}) {
		all = append(all, raw("host: "+name, byHeader, "GET /tasks HTTP/1.1\r\n"+lines+"X-User: ann\r\n\r\n", foreign))
	}
	for _, version := range []string{"HTTP/9.9", "HTTP/2.0", "HTTP/0.9", "HTTP/1.", "HTTP/11", "HTTP/-1.1", "HTTP/1.1x", "http/1.1", "HTTP/1.10", "HTTPS/1.1", "HTTP/"} {
		all = append(all, raw("version: "+version, byHeader, "GET /tasks "+version+"\r\nHost: {host}\r\nX-User: ann\r\n\r\n", rejected))
	}
	for name, line := range byName(map[string]string{
		"a header without a colon": "X-Nothing\r\n", "a header without a name": ": x\r\n", "a name with a blank": "X User: ann\r\n", "a blank behind a name": "X-User : ann\r\n",
		"a name with NUL": "X-\x00: y\r\n", "NUL in a value": "X-Y: a\x00b\r\n", "bare CR in a value": "X-Y: a\rX-User: ceo\r\n", "bare CR in front of a name": "\rX-Y: b\r\n",
	}) {
		all = append(all, raw("head: "+name, byHeader, "GET /tasks HTTP/1.1\r\nHost: {host}\r\n"+line+"X-User: ann\r\n\r\n", codes(400, 401)))
	}
	return append(all,
		raw("head: a name behind a bare LF", byHeader, "GET /tasks HTTP/1.1\r\nHost: {host}\r\nX-Y: a\nX-User: ceo\r\nX-User: ann\r\n\r\n", codes(400, 401)),
		raw("head: a folded name", byHeader, "GET /tasks HTTP/1.1\r\nHost: {host}\r\nX-User: ann\r\n X-User: ceo\r\nX-User: bob\r\n\r\n", codes(400, 401)),
		raw("method: with a blank", byHeader, "GET  /tasks HTTP/1.1\r\nHost: {host}\r\nX-User: ann\r\n\r\n", codes(400, 404)),
		raw("method: CONNECT", byHeader, "CONNECT evil.example:80 HTTP/1.1\r\nHost: {host}\r\nX-User: ann\r\n\r\n", refused),
		raw("method: TRACE", byHeader, "TRACE /tasks HTTP/1.1\r\nHost: {host}\r\nX-User: ann\r\n\r\n", refused),
		raw("head: a thousand headers", byHeader, "GET /tasks HTTP/1.1\r\nHost: {host}\r\n"+strings.Repeat("X-Y: 0123456789012345678\r\n", 1000)+"\r\n", codes(400, 431)),
		raw("head: a header of 1 MiB", byHeader, "GET /tasks HTTP/1.1\r\nHost: {host}\r\nX-Y: "+strings.Repeat("y", 1<<20)+"\r\n\r\n", rejected),
		raw("head: a path of 1 MiB", byHeader, "GET /tasks/"+strings.Repeat("y", 1<<20)+" HTTP/1.1\r\nHost: {host}\r\n\r\n", rejected),
	)
}

// quoteAttacks check that an error does not repeat the header of a request, which may
// contain a token.
func quoteAttacks() (all []attack) {
	const hidden = "not-to-be-repeated"
	for i, text := range []string{
		"GET /tasks HTTP/1.1\r\nAuthorization: Bearer " + hidden + "\r\nX-Nothing\r\n\r\n",
		"GET /tasks\r\nAuthorization: Bearer " + hidden + "\r\n\r\n",
		"Authorization: Bearer " + hidden + "\r\n\r\n",
		"GET /tasks HTTP/1.1\r\nAuthorization: Bearer " + hidden + "\r\n: x\r\n\r\n",
		"GET /tasks HTTP/x\r\nAuthorization: Bearer " + hidden + "\r\n\r\n",
		"GET /tasks HTTP/1.1\r\nContent-Length: x\r\nAuthorization: Bearer " + hidden + "\r\n\r\n",
		"GET /tasks HTTP/1.1\r\nAuthorization: Bearer " + hidden + "\r\nX-Y: " + strings.Repeat("y", 32<<10) + "\r\n\r\n",
		"GET /tasks HTTP/1.1\r\nAuthorization: Bearer " + hidden + "\r\nX-Y: " + strings.Repeat(hidden, 2000) + "\r\n\r\n",
		"\x16\x03\x01\x02\x00\x01" + hidden + "\r\n\r\n",
	} {
		all = append(all, raw(fmt.Sprintf("quote: bad head %d", i+1), byToken, text, without(rejected, hidden)))
	}
	return all
}
