package taskfile

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"k8s-cli/pkg/task/problem"
)

var (
	yamlError   = regexp.MustCompile(`^(?:yaml: )?(?:line ([0-9]+): )?(.*)`)
	parserError = regexp.MustCompile(`^did not find expected (node content|key|',' or|'-' indicator|<)`)
	anchorError = regexp.MustCompile(`^unknown anchor '(.*)' referenced`)

	tabIndent = regexp.MustCompile(`^ *\t`)
	entry     = regexp.MustCompile(`^ *(?:- +)*([A-Za-z0-9_./~-]+): +(.*)`)       // a field with a value on the same line
	reserved  = regexp.MustCompile("^ *(?:- +)*(?:[A-Za-z0-9_./~-]+: +)?([@`%])") // no plain value may begin so
	anyField  = regexp.MustCompile(`^ *(?:- +)*[^\s#'"][^#'"]*:(?: |$)`)
	quoted    = regexp.MustCompile(`^(?:"(?:[^"\\]|\\.)*"|'(?:[^']|'')*')`)
)

// notYAML returns the error for a text that the library cannot read. It says what is wrong in which
// line, and what to write instead, or what the library says of an error that it does not know.
func notYAML(err error, data []byte) error {
	m := yamlError.FindStringSubmatch(err.Error())
	line, _ := strconv.Atoi(m[1])
	if parserError.MatchString(m[2]) && line > 0 {
		line++ // the library counts lines from 0 in these messages
	}
	e := syntaxError{lines: strings.Split(strings.ReplaceAll(string(data), "\r\n", "\n"), "\n"), line: max(line, 1), text: m[2]} // the library omits line 1
	if e.explain(); e.text == m[2] {
		e.line, e.text = line, "the text is not valid YAML: "+e.text
	}
	if len(e.text) > 200 {
		e.text = strings.ToValidUTF8(e.text[:200], "") + "..."
	}
	return &fieldError{kind: problem.Malformed, text: e.text, line: e.line}
}

// A syntaxError is what the library says, or what explain says instead.
type syntaxError struct {
	lines []string
	line  int // from 1; 0 if unknown
	text  string
}

// set replaces the message.
func (e *syntaxError) set(line int, format string, args ...any) {
	e.line, e.text = line, fmt.Sprintf(format, args...)
}

// at returns a line of the text or "".
func (e *syntaxError) at(line int) string {
	if line < 1 || line > len(e.lines) {
		return ""
	}
	return e.lines[line-1]
}

// find returns the first line, from the line of the error on, that a condition holds for. Where the
// library names no line or the line in which a value begins, the cause is there or later.
func (e *syntaxError) find(holds func(string) bool) int {
	for n := max(e.line, 1); n <= len(e.lines); n++ {
		if holds(e.at(n)) {
			return n
		}
	}
	return 0
}

func (e *syntaxError) explain() {
	switch {
	case strings.Contains(e.text, "cannot start any token"), strings.Contains(e.text, "tab character"):
		e.explainToken()
	case strings.Contains(e.text, "mapping values are not allowed"):
		e.explainColon()
	case strings.Contains(e.text, "could not find expected ':'"):
		e.explainNoColon()
	case strings.Contains(e.text, "unexpected end of stream"), strings.Contains(e.text, "unexpected document indicator"):
		e.set(e.line, "a quote is not closed; write the closing quote")
	case strings.Contains(e.text, "did not find expected ',' or"):
		e.set(e.line, "a list [ or a mapping { is not closed, or lacks a comma")
	case strings.Contains(e.text, "did not find expected key"), strings.Contains(e.text, "did not find expected '-' indicator"):
		e.set(e.line, "the line does not continue what stands above it; fields of one mapping, and items of one list, begin in the same column")
	case strings.Contains(e.text, "control characters are not allowed"):
		control := func(s string) bool { return strings.ContainsFunc(s, func(r rune) bool { return r < ' ' && r != '\t' }) }
		e.set(e.find(control), "control characters are not allowed; is the file a task file?")
	default:
		if m := anchorError.FindStringSubmatch(e.text); m != nil {
			e.set(e.find(func(s string) bool { return strings.Contains(s, "*"+m[1]) }), "no value has the anchor &%[1]s, to which *%[1]s refers; a text that begins with * needs quotes", m[1])
		}
	}
}

// explainToken explains a tab, or a value that begins with a character that YAML reserves.
func (e *syntaxError) explainToken() {
	if n := e.find(tabIndent.MatchString); n > 0 && (strings.Contains(e.text, "tab character") || tabIndent.MatchString(e.at(e.line))) {
		e.set(n, "the line begins with a tab; YAML takes only spaces for indentation")
		return
	}
	if n := e.find(reserved.MatchString); n > 0 {
		e.set(n, "a value that begins with %s needs quotes, or stands in the lines below a field with |", reserved.FindStringSubmatch(e.at(n))[1])
	}
}

// explainColon explains a second colon in a line, or a line that is indented too far.
func (e *syntaxError) explainColon() {
	if m := entry.FindStringSubmatch(e.at(e.line)); m != nil && (strings.Contains(quoted.ReplaceAllString(m[2], ""), ": ") || strings.HasSuffix(m[2], ":")) {
		e.set(e.line, `a value with ": " needs quotes, or stands in the lines below "%s: |"`, m[1])
		return
	}
	e.set(e.line, "the line is indented further than the field above, which already has a value; fields of one mapping begin in the same column")
}

// explainNoColon explains a line that is neither a field nor part of a script.
func (e *syntaxError) explainNoColon() {
	n := e.find(func(s string) bool {
		s = strings.TrimSpace(s)
		return s != "" && !strings.HasPrefix(s, "#") && !strings.HasPrefix(s, "- ") && !anyField.MatchString(s)
	})
	if n == 0 {
		return
	}
	for above := n - 1; above > 0; above-- {
		if !script.Match([]byte(e.at(above))) {
			continue
		}
		depth := func(s string) int { return len(s) - len(strings.TrimLeft(s, " ")) }
		if depth(e.at(n)) <= depth(e.at(above)) {
			e.set(n, "the line is not indented, so it does not belong to %q in line %d; indent it as the lines before", strings.TrimSpace(e.at(above)), above)
			return
		}
		break
	}
	e.set(n, "the line is not a field; write NAME: VALUE")
}
