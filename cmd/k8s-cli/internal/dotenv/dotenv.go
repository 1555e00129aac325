// Package dotenv reads files of environment variables. A line has the form NAME=VALUE.
//
// Blank lines and lines that begin with # have no effect. A line may begin with "export ".
// A value without quotes ends at the end of the line or before a blank and a #, without
// blanks around it. A value in single quotes is literal. In a value in double quotes, \n,
// \r, \t, \", \\ and \$ are escapes. Values in quotes may have several lines. Unlike a
// shell, the package does not replace $NAME: a secret may contain any character.
package dotenv

import (
	"fmt"
	"os"
	"regexp"
	"strings"
)

// Load returns the variables of a file. An error names the file and the line, and never
// contains a value.
func Load(path string) (map[string]string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return Parse(path, string(data))
}

// Parse returns the variables in text. The errors call the text file.
func Parse(file, text string) (map[string]string, error) {
	all := map[string]string{}
	p := parser{file: file, line: 1, rest: strings.TrimPrefix(strings.ReplaceAll(text, "\r\n", "\n"), "\ufeff")}
	for p.rest != "" {
		at := p.line
		name, value, ok, err := p.variable()
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		if _, known := all[name]; known {
			return nil, fmt.Errorf("%s:%d: duplicate variable %s", file, at, name)
		}
		all[name] = value
	}
	return all, nil
}

// A parser reads one variable after the other.
type parser struct {
	file string
	line int // number of the first line of rest, from 1
	rest string
}

func (p *parser) errorf(format string, args ...any) error {
	return fmt.Errorf("%s:%d: %s", p.file, p.line, fmt.Sprintf(format, args...))
}

var start = regexp.MustCompile(`^[ \t]*(?:export[ \t]+)?([A-Za-z_][A-Za-z0-9_]*)[ \t]*=[ \t]*`)

// variable reads the next line, and more lines if a value in quotes has more. ok is false
// for a line without a variable.
func (p *parser) variable() (name, value string, ok bool, err error) {
	line, rest, _ := strings.Cut(p.rest, "\n")
	if trimmed := strings.TrimSpace(line); trimmed == "" || trimmed[0] == '#' {
		p.rest = rest
		p.line++
		return "", "", false, nil
	}
	found := start.FindStringSubmatch(line)
	if found == nil {
		return "", "", false, p.errorf("want NAME=VALUE, where NAME has letters, digits and _")
	}
	p.rest = p.rest[len(found[0]):]
	value, err = p.value()
	return found[1], value, true, err
}

// value reads a value and the rest of its last line.
func (p *parser) value() (string, error) {
	if p.rest != "" && (p.rest[0] == '"' || p.rest[0] == '\'') {
		return p.quoted(p.rest[0])
	}
	line, rest, _ := strings.Cut(p.rest, "\n")
	p.rest = rest
	p.line++
	for i := 1; i < len(line); i++ {
		if line[i] == '#' && (line[i-1] == ' ' || line[i-1] == '\t') {
			line = line[:i]
		}
	}
	if strings.HasPrefix(line, "#") {
		line = ""
	}
	return strings.TrimSpace(line), nil
}

var escapes = map[byte]byte{'n': '\n', 'r': '\r', 't': '\t', '"': '"', '\\': '\\', '$': '$'}

// quoted reads a value in quotes.
func (p *parser) quoted(quote byte) (string, error) {
	var b strings.Builder
	for i := 1; i < len(p.rest); i++ {
		switch c := p.rest[i]; {
		case c == quote:
			return b.String(), p.end(p.rest[i+1:], strings.Count(p.rest[:i], "\n"))
		case c == '\\' && quote == '"' && i+1 < len(p.rest):
			i++
			escaped, ok := escapes[p.rest[i]]
			if !ok {
				return "", p.errorf(`unknown escape in a value in double quotes; write \\ for a backslash`)
			}
			b.WriteByte(escaped)
		default:
			b.WriteByte(c)
		}
	}
	return "", p.errorf("the quote %c is not closed", quote)
}

// end checks the rest of the line after a value in quotes, which has this number of further
// lines.
func (p *parser) end(rest string, lines int) error {
	line, rest, _ := strings.Cut(rest, "\n")
	if trimmed := strings.TrimSpace(line); trimmed != "" && trimmed[0] != '#' {
		return p.errorf("text after the closing quote")
	}
	p.rest = rest
	p.line += lines + 1
	return nil
}
