package documents

import (
	"bytes"
	"encoding/binary"
	"regexp"
	"unicode/utf16"
)

// yamlDirective is a directive with the version of YAML. The YAML library refuses 1.2, although it reads
// it.
var yamlDirective = regexp.MustCompile(`(?m)^%YAML[ \t][^\r\n]*`)

// Text returns the text of a task file in UTF-8, without a byte order mark and without the directive
// %YAML. The lines keep their numbers. PowerShell writes UTF-16 with a byte order mark.
func Text(data []byte) []byte {
	for mark, order := range map[string]binary.ByteOrder{"\xff\xfe": binary.LittleEndian, "\xfe\xff": binary.BigEndian} {
		rest, ok := bytes.CutPrefix(data, []byte(mark))
		if !ok || len(rest)%2 != 0 {
			continue
		}
		units := make([]uint16, len(rest)/2)
		for i := range units {
			units[i] = order.Uint16(rest[2*i:])
		}
		data = []byte(string(utf16.Decode(units)))
		break
	}
	data = bytes.TrimPrefix(data, []byte("\uFEFF"))
	if bytes.HasPrefix(data, []byte("%YAML")) || bytes.Contains(data, []byte("\n%YAML")) {
		data = yamlDirective.ReplaceAll(data, nil)
	}
	return data
}
