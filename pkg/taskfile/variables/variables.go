// Package variables replaces $NAME and ${NAME} in the paths of a task.
package variables

import "strings"

// Expand returns text with the variables in values replaced, and their number. Expand stops after
// most+1 variables, and when the values have used up budget, the number of bytes that they may add.
func Expand(text string, values map[string]string, most int, budget *int) (string, int) {
	var b strings.Builder
	n := 0
	for n <= most && *budget >= 0 {
		at := strings.IndexByte(text, '$')
		if at < 0 {
			break
		}
		name, length := variable(text[at:])
		value, ok := values[name]
		if !ok {
			b.WriteString(text[:at+1])
			text = text[at+1:]
			continue
		}
		b.WriteString(text[:at])
		b.WriteString(value)
		text = text[at+length:]
		*budget -= len(value)
		n++
	}
	b.WriteString(text)
	return b.String(), n
}

// variable returns the name in the $NAME or ${NAME} at the beginning of text, and the
// length of this expression. The name is empty if text begins with neither.
func variable(text string) (name string, length int) {
	rest, braces := strings.CutPrefix(text[1:], "{")
	end := strings.IndexFunc(rest, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	})
	if end < 0 {
		end = len(rest)
	}
	if !braces {
		return rest[:end], 1 + end
	}
	if !strings.HasPrefix(rest[end:], "}") {
		return "", 0
	}
	return rest[:end], end + len("${}")
}
