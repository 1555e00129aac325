package framing

import "bytes"

// A byteClass is a set of bytes that are allowed in one element of a request.
type byteClass uint8

const (
	tokenByte   byteClass = 1 << iota // method or field name
	hostByte                          // value of Host
	visibleByte                       // request target
	fieldByte                         // field value: visible bytes, spaces and tabs
	versionByte                       // digits and dots
)

var classes = func() (table [256]byteClass) {
	for c := 0x21; c < 0x7f; c++ {
		table[c] |= visibleByte | fieldByte
		letter := 'a' <= c|0x20 && c|0x20 <= 'z'
		digit := '0' <= c && c <= '9'
		if letter || digit || bytes.IndexByte([]byte("!#$%&'*+-.^_`|~"), byte(c)) >= 0 {
			table[c] |= tokenByte
		}
		if letter || digit || bytes.IndexByte([]byte("-._~!$&'()*+;=%[]:"), byte(c)) >= 0 {
			table[c] |= hostByte
		}
		if digit || c == '.' {
			table[c] |= versionByte
		}
	}
	for c := 0x80; c <= 0xff; c++ {
		table[c] |= visibleByte | fieldByte // unencoded UTF-8
	}
	table[' '] |= fieldByte
	table['\t'] |= fieldByte
	return table
}()

// isHost reports whether text is a host name or an address, with or without a port.
func isHost(text []byte) bool {
	name, port := text, []byte(nil)
	if end := bytes.IndexByte(text, ']'); end >= 0 { // an IPv6 address
		name, port = text[:end+1], text[end+1:]
	} else if colon := bytes.IndexByte(text, ':'); colon >= 0 {
		name, port = text[:colon], text[colon:]
	}
	if len(port) > 0 && (port[0] != ':' || bytes.IndexByte(port, '.') >= 0 || !all(port[1:], versionByte)) {
		return false
	}
	return all(name, hostByte)
}

// all reports whether every byte of text is of a class.
func all(text []byte, class byteClass) bool {
	for _, c := range text {
		if classes[c]&class == 0 {
			return false
		}
	}
	return true
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f'
}

// blanksOff returns value without leading and trailing spaces and tabs.
func blanksOff(value []byte) []byte {
	for len(value) > 0 && (value[0] == ' ' || value[0] == '\t') {
		value = value[1:]
	}
	for n := len(value); n > 0 && (value[n-1] == ' ' || value[n-1] == '\t'); n-- {
		value = value[:n-1]
	}
	return value
}
