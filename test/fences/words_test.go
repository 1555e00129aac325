package fences

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"k8s-cli/test/testkit/must"
)

// A wordList maps phrases that are hard to read to a plain alternative.
type wordList map[string]string

var (
	// idiom is the list of phrases that are hard to read in any text.
	idiom = wordList{
		"for want of":       "without",
		"be had":            "available",
		"handed in":         "submitted",
		"none more":         "not counted again",
		"as far as it is":   "best effort",
		"on its way":        "in progress",
		"on their way":      "in progress",
		"stands there":      "duplicate",
		"stand there":       "duplicate",
		"ails":              "is wrong with",
		"for ever":          "forever",
		"not any more":      "no longer",
		"under way":         "in progress",
		"too many, at most": "exceed the limit of",
		"too much, at most": "exceed the limit of",
	}

	// vague is the list of words that are acceptable in prose, but not in a message: a
	// message names the thing.
	vague = wordList{
		"nobody":               "no user, no client",
		"somebody":             "a user, another program",
		"whoever":              "a user, a client",
		"of which":             "a second sentence",
		"hand in":              "submit",
		"the most that":        "the limit",
		"is tried again":       "is retried",
		"will try again":       "retrying",
		"no longer:":           "a message of its own for the recovery",
		"is not taken":         "is rejected",
		"are not taken":        "are rejected",
		"nothing new is taken": "only stops and deletions are accepted",
	}
)

// checked maps a file name suffix to the directories and the word lists that apply. For Go
// the test checks the string literals of the product, for documentation all lines.
var checked = []struct {
	suffix string
	roots  []string
	lists  []wordList
}{
	{".go", []string{"pkg", "deploy", "cmd"}, []wordList{idiom, vague}},
	{".md", []string{"README.md", "SECURITY.md", "CONTRIBUTING.md", "docs", "clients/ci"}, []wordList{idiom}},
}

// honest are the places in which a listed phrase is correct: a file and a text in that file.
var honest = []saying{
	{"deploy/local/image/task.go", 0, "nobody:x:65534:65534"}, // a user in /etc/passwd
}

func TestPlainWords(t *testing.T) {
	met := make([]bool, len(honest))
	for _, c := range checked {
		for _, list := range c.lists {
			words := list.pattern()
			for _, s := range sayings(t, c.suffix, c.roots) {
				found := words.FindStringSubmatch(s.text)
				if found == nil {
					continue
				}
				if i := slices.IndexFunc(honest, s.holds); i >= 0 {
					met[i] = true
					continue
				}
				t.Errorf("%s:%d: %q is not plain; say for example %q: %s", s.file, s.line, found[1], list[strings.ToLower(found[1])], s.text)
			}
		}
	}
	for i, h := range honest {
		if !met[i] {
			t.Errorf("%s has no %q any more", h.file, h.text)
		}
	}
}

// pattern returns an expression that matches the phrases of a list as whole words.
func (l wordList) pattern() *regexp.Regexp {
	var all []string
	for phrase := range l {
		all = append(all, regexp.QuoteMeta(phrase))
	}
	slices.Sort(all)
	return regexp.MustCompile(`(?i)(?:^|\PL)(` + strings.Join(all, "|") + `)(?:\PL|$)`)
}

// A saying is a text that users read, and its place.
type saying struct {
	file string
	line int
	text string
}

func (s saying) holds(part saying) bool {
	return s.file == part.file && strings.Contains(s.text, part.text)
}

// sayings returns the texts in the files below roots, except tests.
func sayings(t *testing.T, suffix string, roots []string) (all []saying) {
	t.Helper()
	read := linesOf
	if suffix == ".go" {
		read = literalsOf
	}
	for _, top := range roots {
		err := filepath.WalkDir(filepath.Join(root, top), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, suffix) || strings.HasSuffix(path, "_test.go") {
				return err
			}
			name, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			some, err := read(path)
			for _, s := range some {
				s.file = filepath.ToSlash(name)
				all = append(all, s)
			}
			return err
		})
		must.Succeed(t, err)
	}
	return all
}

// literalsOf returns the string literals of a Go file.
func literalsOf(path string) (all []saying, err error) {
	positions := token.NewFileSet()
	parsed, err := parser.ParseFile(positions, path, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
			text, _ := strconv.Unquote(literal.Value)
			all = append(all, saying{line: positions.Position(literal.Pos()).Line, text: text})
		}
		return true
	})
	return all, nil
}

func linesOf(path string) (all []saying, err error) {
	text, err := os.ReadFile(path)
	for i, line := range strings.Split(string(text), "\n") {
		all = append(all, saying{line: i + 1, text: line})
	}
	return all, err
}
