package features

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s-cli/test/testkit/must"
)

const checkout = "../.."

// TestPages runs the commands of README.md, clients/ci and docs as written, page by page, and checks
// that each command prints what the page shows. The commands of a page share one shell.
// exceptions lists the commands that do not run here, each with its reason.
func TestPages(t *testing.T) {
	t.Parallel()
	need(t)
	for _, page := range pages(t) {
		commands := slices.DeleteFunc(commandsOfPage(t, page), func(c shown) bool { return exceptionOf(c).elsewhere != "" })
		prepare := scenes[page]
		if (prepare == nil) != (len(commands) == 0) {
			t.Errorf("%s has %d commands that run in this test: %v. Add a scene or exceptions for them, or remove the scene", page, len(commands), commands)
			continue
		}
		if prepare == nil {
			continue
		}
		t.Run(strings.NewReplacer("docs/", "", ".md", "").Replace(page), func(t *testing.T) {
			t.Parallel()
			prepare(t).perform(t, commands)
		})
	}
}

// TestExceptionsOfPages checks that each exception is a command of a page. If the command
// does not run in TestPages, the test checks the targets and tests that the command names.
func TestExceptionsOfPages(t *testing.T) {
	t.Parallel()
	unused := maps.Clone(exceptions)
	for _, page := range pages(t) {
		for _, c := range commandsOfPage(t, page) {
			delete(unused, c.key())
			if exceptionOf(c).elsewhere != "" {
				checkMake(t, c.key())
				checkGoTest(t, c.key())
			}
		}
	}
	for command := range unused {
		t.Errorf("no page has the command of this exception: %s", command)
	}
}

// pages returns the paths of the pages, relative to the root of the repository.
func pages(t *testing.T) []string {
	t.Helper()
	docs, err := filepath.Glob(checkout + "/docs/*.md")
	if err != nil || len(docs) < 12 {
		t.Fatalf("%d pages, %v", len(docs), err)
	}
	all := []string{"README.md", "clients/ci/README.md"}
	for _, path := range docs {
		all = append(all, "docs/"+filepath.Base(path))
	}
	return all
}

var (
	fence    = regexp.MustCompile("^ *(```|~~~)(.*)$")
	noFence  = regexp.MustCompile(`^    +(\$ )?(make|go|k8s-cli|kubectl|helm|nats|curl) `)
	noShell  = []string{"", "yaml", "json", "mermaid", "python", "go", "js", "ts"} // languages of blocks without commands; TestPythonExamples, TestGoPrograms and TestTypeScriptPage run programs
	comments = regexp.MustCompile(`(^|\s+)# .*$`)
)

// commandsOfPage returns the commands of a page, and checks that no other block has commands.
func commandsOfPage(t *testing.T, page string) []shown {
	t.Helper()
	path := filepath.Join(checkout, page)
	text := must.Read(t, path)
	inside, console := false, false
	for line := range strings.Lines(string(text)) {
		m := fence.FindStringSubmatch(strings.TrimSpace(line))
		switch {
		case m != nil:
			inside = !inside
			if console = console || m[2] == "console"; inside && m[2] != "console" && !slices.Contains(noShell, m[2]) {
				t.Errorf("%s: begin the block %q with ```console, and each command with $", page, m[0])
			}
		case !inside && noFence.MatchString(line):
			t.Errorf("%s: the command is in no block ```console: %s", page, line)
		}
	}
	if !console {
		return nil
	}
	return slices.DeleteFunc(commandsOf(t, path), func(c shown) bool { return c.key() == "" })
}

// key returns the command without its comment.
func (c shown) key() string { return comments.ReplaceAllString(c.command, "") }

func exceptionOf(c shown) exception { return exceptions[c.key()] }

// A scene is what the commands of a page need: a server, tasks and files.
type scene struct {
	user    *user    // of the CLI. The user's home is the working directory
	env     []string // NAME=VALUE
	replace []string // names in the page, and what the names are in this run
	before  map[string]func(t *testing.T)
	after   func(t *testing.T)
}

// perform runs the commands of a page.
func (s scene) perform(t *testing.T, commands []shown) {
	t.Helper()
	names := strings.NewReplacer(s.replace...)
	var others []string // ids on the page match any id; an id of this run without a digit would look like a word
	for pair := range slices.Chunk(s.replace, 2) {
		if idShown.FindString(pair[0]) != pair[0] {
			others = append(others, pair...)
		}
	}
	printed := strings.NewReplacer(others...)
	var next []shown
	for _, c := range commands {
		if act := s.before[c.key()]; act != nil {
			s.user.session(t, next, s.env...)
			act(t)
			next = nil
		}
		e := exceptionOf(c)
		c := shown{command: names.Replace(c.command), prints: slices.Clone(c.prints), code: e.code, alike: alike(e.absent)}
		for i, line := range c.prints {
			c.prints[i] = printed.Replace(line)
		}
		if e.until != "" {
			c.command = "until_shown " + quoted(e.until) + " " + quoted(comments.ReplaceAllString(c.command, ""))
		}
		next = append(next, c)
	}
	s.user.session(t, next, s.env...)
	if s.after != nil {
		s.after(t)
	}
}

func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// untilShown defines functions of the shell. until_shown interrupts a command as soon as the
// command has printed a text.
const untilShown = `curl() { command curl -sS "$@"; } # without a progress meter
trap 'kill -- -$! 2>/dev/null; exit 1' TERM
until_shown() {
  set -m # a process group of its own, which does not ignore SIGINT
  eval "$2" >"$HOME/.shown" 2>&1 &
  set +m
  until grep -qF -- "$1" "$HOME/.shown" || ! kill -0 $! 2>/dev/null; do sleep 0.1; done
  kill -INT -- -$! 2>/dev/null
  wait $! 2>/dev/null
  cat "$HOME/.shown"
  grep -qF -- "$1" "$HOME/.shown"
}
`

var inJSON = regexp.MustCompile(`^((?:data: )?)(\{.*\})$`)

// masks are the parts of a line that may differ between the page and the output. Private-use
// characters replace these parts while the rest of the line is quoted.
var masks = []struct {
	part          *regexp.Regexp
	mark, matches string
}{
	{regexp.MustCompile(`\bA[A-Za-z0-9]{9}\b`), "\uE004", `[A-Za-z0-9_-]+`}, // a cursor
	{regexp.MustCompile(`\.\.\.`), "\uE000", `.*`},
	{regexp.MustCompile(`\b([0-9]+[smhd])+\b`), "\uE001", `\S+`},
	{regexp.MustCompile(`\b[0-9]+\b`), "\uE002", `[0-9]+`},
	{regexp.MustCompile(`\s+`), "\uE003", `\s+`},
}

// createdColumn matches the column of a table that a terminal of 80 columns has no room for.
var createdColumn = regexp.MustCompile(`Created +|20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9:]{8} +`)

// alike returns a function that compares a line of a page with a printed line. Ids, numbers,
// durations and the widths of columns may differ. In JSON, the values may differ, and the keys
// in absent may be missing.
func alike(absent []string) func(line, printed string) bool {
	return func(line, printed string) bool {
		printed = strings.TrimSuffix(printed, "\r")
		want, got := inJSON.FindStringSubmatch(line), inJSON.FindStringSubmatch(printed)
		if want != nil {
			return got != nil && want[1] == got[1] && sameKeys(want[2], got[2], absent)
		}
		for _, m := range masks {
			line = m.part.ReplaceAllString(line, m.mark)
		}
		pattern := patternOf(line).String()
		for _, m := range masks {
			pattern = strings.ReplaceAll(pattern, m.mark, m.matches)
		}
		narrow := createdColumn.ReplaceAllString(printed, "")
		return regexp.MustCompile(pattern).MatchString(printed) || regexp.MustCompile(pattern).MatchString(narrow)
	}
}

// sameKeys reports whether two documents have the same keys and kinds of values.
func sameKeys(want, got string, absent []string) bool {
	var a, b any
	want = strings.ReplaceAll(want, ",...]", "]")
	return json.Unmarshal([]byte(want), &a) == nil && json.Unmarshal([]byte(got), &b) == nil && sameKind(a, b, absent)
}

func sameKind(want, got any, absent []string) bool {
	switch want := want.(type) {
	case map[string]any:
		got, ok := got.(map[string]any)
		for key, value := range want {
			other, has := got[key]
			ok = ok && (has && sameKind(value, other, absent) || !has && slices.Contains(absent, key))
		}
		return ok
	case []any:
		got, ok := got.([]any)
		return ok && len(got) > 0 && sameKind(want[0], got[0], absent)
	case string:
		_, ok := got.(string)
		return ok
	case float64:
		_, ok := got.(float64)
		return ok
	}
	return false
}

var makeCommand = regexp.MustCompile(`(?:^|\s)make((?: [a-z-]+)+)((?: [A-Z_]+=\S+)*)$`)

// checkMake checks that the Makefile has the targets and variables of a command.
func checkMake(t *testing.T, command string) {
	t.Helper()
	m := makeCommand.FindStringSubmatch(command)
	if m == nil {
		return
	}
	recipes, err := exec.CommandContext(t.Context(), "make", append([]string{"-C", checkout, "-pn"}, strings.Fields(m[1])...)...).CombinedOutput()
	if err != nil {
		t.Errorf("%s: %v\n%s", command, err, recipes)
	}
	scripts, err := filepath.Glob(checkout + "/deploy/*.sh")
	for _, path := range append(scripts, checkout+"/Makefile") {
		text, failed := os.ReadFile(path)
		if failed != nil {
			err = failed
		}
		recipes = append(recipes, text...)
	}
	for _, variable := range regexp.MustCompile(`[A-Z_]+=`).FindAllString(m[2], -1) {
		name := strings.TrimSuffix(variable, "=")
		if !regexp.MustCompile(`\$[({]`+name+`\b|origin `+name+`\b`).Match(recipes) || err != nil {
			t.Errorf("%s: no recipe or script reads the variable %s (%v)", command, name, err)
		}
	}
}

var (
	goTest   = regexp.MustCompile(`^go test .*?\./(\S+)`)
	goRun    = regexp.MustCompile(`^go run \./(\S+)`)
	selected = regexp.MustCompile(`-(?:run|bench|fuzz) '?([A-Z]\w+)`)
)

// checkGoTest checks that the package of a command has the tests that the command selects.
func checkGoTest(t *testing.T, command string) {
	t.Helper()
	if m := goRun.FindStringSubmatch(command); m != nil {
		if _, err := os.Stat(filepath.Join(checkout, m[1])); err != nil {
			t.Errorf("%s: %v", command, err)
		}
	}
	m := goTest.FindStringSubmatch(command)
	if m == nil {
		return
	}
	files, err := filepath.Glob(filepath.Join(checkout, m[1], "*_test.go"))
	var text []byte
	for _, path := range files {
		one, failed := os.ReadFile(path)
		if failed != nil {
			err = failed
		}
		text = append(text, one...)
	}
	for _, name := range selected.FindAllStringSubmatch(command, -1) {
		if !regexp.MustCompile(`(?m)^func (Test|Benchmark|Fuzz)?\w*`+name[1]).Match(text) || err != nil {
			t.Errorf("%s: package %s has no test %s (%v)", command, m[1], name[1], err)
		}
	}
}
