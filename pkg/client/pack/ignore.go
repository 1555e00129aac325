package pack

import (
	"bufio"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A rule is a line of a .gitignore or .skyignore file. The format is that of git (gitignore(5)).
type rule struct {
	at      []string // path of the directory of the file, below the top
	include bool     // the line begins with !
	dirOnly bool     // the line ends with /
	base    bool     // the pattern is for the last element of a path
	form    *regexp.Regexp
}

// byRules selects by files of patterns: without git, and for .skyignore.
type byRules struct {
	rules  []rule
	nested bool // .gitignore files apply to their directories
}

func (b byRules) enter(dir string, at []string) (selector, error) {
	if !b.nested {
		return b, nil
	}
	more, err := readRules(filepath.Join(dir, gitIgnore), at)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return byRules{append(slices.Clip(b.rules), more...), true}, nil
}

// has reports what the last rule says that matches. The directories above the entry are not excluded.
func (b byRules) has(at []string, isDir bool) bool {
	for _, r := range slices.Backward(b.rules) {
		if r.matches(at, isDir) {
			return r.include
		}
	}
	return true
}

func (r rule) matches(at []string, isDir bool) bool {
	if r.dirOnly && !isDir {
		return false
	}
	name := at[len(at)-1]
	if !r.base {
		name = strings.Join(at[len(r.at):], "/")
	}
	return r.form.MatchString(bytewise(name))
}

// bytewise returns a text with one character for each byte: git compares bytes.
func bytewise(s string) string {
	runes := make([]rune, len(s))
	for i, c := range []byte(s) {
		runes[i] = rune(c)
	}
	return string(runes)
}

// readRules reads a file of patterns. at is the path of the file's directory below the top.
func readRules(file string, at []string) ([]rule, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	rules := []rule{}
	lines := bufio.NewScanner(f)
	for first := true; lines.Scan(); first = false {
		line := lines.Text()
		if first {
			line = strings.TrimPrefix(line, "\ufeff")
		}
		if rest, ok := strings.CutPrefix(line, "./"); ok && filepath.Base(file) == skyIgnore { // as for rsync
			line = "/" + rest
		}
		if r, ok := parseRule(line, at); ok {
			rules = append(rules, r)
		}
	}
	return rules, lines.Err()
}

func parseRule(line string, at []string) (r rule, ok bool) {
	line = strings.TrimSuffix(line, "\r")
	for strings.HasSuffix(line, " ") && !strings.HasSuffix(line, `\ `) {
		line = line[:len(line)-1]
	}
	if line == "" || strings.HasPrefix(line, "#") {
		return rule{}, false
	}
	r = rule{at: at}
	line, r.include = strings.CutPrefix(line, "!")
	line, r.dirOnly = strings.CutSuffix(line, "/")
	r.base = !strings.Contains(line, "/")
	form, err := regexp.Compile(bytewise(expression(strings.TrimPrefix(line, "/"))))
	if line == "" || err != nil {
		return rule{}, false
	}
	r.form = form
	return r, true
}

// expression returns the regular expression of a pattern.
func expression(pattern string) string {
	var b strings.Builder
	b.WriteString(`(?s)\A`)
	for i := 0; i < len(pattern); {
		rest := pattern[i:]
		start := i == 0 || pattern[i-1] == '/'
		switch {
		case start && strings.HasPrefix(rest, "**/"):
			b.WriteString(`(?:.*/)?`)
			i += len("**/")
		case start && rest == "**":
			b.WriteString(`.+`)
			i += len("**")
		case rest[0] == '*':
			b.WriteString(`[^/]*`)
			i += len(rest) - len(strings.TrimLeft(rest, "*"))
		case rest[0] == '?':
			b.WriteString(`[^/]`)
			i++
		case rest[0] == '[':
			class, n := characterClass(rest)
			b.WriteString(class)
			i += n
		case rest[0] == '\\' && len(rest) > 1:
			b.WriteString(quoted(rest[1]))
			i += 2
		default:
			b.WriteString(quoted(rest[0]))
			i++
		}
	}
	return b.String() + `\z`
}

// quoted returns the regular expression of a byte.
func quoted(c byte) string { return regexp.QuoteMeta(string([]byte{c})) }

// inClass returns the regular expression of a byte in a class of characters.
func inClass(c byte) string {
	if strings.IndexByte(`[]^&~\-`, c) >= 0 {
		return `\` + string([]byte{c})
	}
	return string([]byte{c})
}

// characterClass returns the regular expression of the class at the beginning of a pattern, and the
// length of the class. A class without its end matches nothing.
func characterClass(pattern string) (expression string, length int) {
	at := 1
	negated := at < len(pattern) && (pattern[at] == '!' || pattern[at] == '^')
	if negated {
		at++
	}
	var b strings.Builder
	for first := true; at < len(pattern); first = false {
		switch c := pattern[at]; {
		case c == ']' && !first:
			if negated {
				return "[^/" + b.String() + "]", at + 1
			}
			return "[" + b.String() + "]", at + 1
		case strings.HasPrefix(pattern[at:], "[:") && strings.Contains(pattern[at:], ":]"):
			end := at + strings.Index(pattern[at:], ":]") + len(":]")
			b.WriteString(pattern[at:end])
			at = end
		case c == '\\' && at+1 < len(pattern):
			b.WriteString(inClass(pattern[at+1]))
			at += 2
		case c != '-':
			b.WriteString(inClass(c))
			at++
		default:
			b.WriteString(pattern[at : at+1])
			at++
		}
	}
	return `[^\x00-\x{10FFFF}]`, len(pattern)
}
