// Command summary reads the output of one or more runs of `go test -json` on standard input.
// The command prints failures as they happen. The last line says which tests ran, which
// tests were skipped, and why. The arguments of the command name the checks that ran before.
// The command exits with 1 if a test failed or no test ran.
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
)

// An event is one line of the output of `go test -json`; see `go doc test2json`.
type event struct {
	Action  string
	Package string
	Test    string
	Output  string
	Elapsed float64 // seconds
}

// needsCluster matches the packages whose tests are not unit tests: these packages run real
// servers.
var needsCluster = regexp.MustCompile(`/test/(features|durability|crash|faults|chart|deploy|attack)`)

// A failure is a test or package that failed, and the lines of its output that say why. The
// summary repeats these lines at the end, since a CI log may be truncated.
type failure struct {
	name string
	why  []string
}

// A summary counts the results of tests.
type summary struct {
	out     io.Writer
	before  []string
	passed  int
	feature int // passed tests that need a cluster
	failed  []failure
	skipped map[string][]string // names of tests by reason
	output  map[string][]string // of tests and packages that are still running
	parents map[string]bool     // tests with subtests, which do not count
}

func main() {
	s := newSummary(os.Stdout, os.Args[1:])
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		s.read(lines.Bytes())
	}
	if err := lines.Err(); err != nil {
		s.failed = append(s.failed, failure{name: "reading the results: " + err.Error()})
	}
	if !s.close() {
		os.Exit(1)
	}
}

func newSummary(out io.Writer, before []string) *summary {
	return &summary{
		out:     out,
		before:  before,
		skipped: map[string][]string{},
		output:  map[string][]string{},
		parents: map[string]bool{},
	}
}

// read handles one line. A line that is not an event comes from another tool, and read
// prints it.
func (s *summary) read(line []byte) {
	var e event
	if err := json.Unmarshal(line, &e); err != nil || e.Action == "" {
		fmt.Fprintf(s.out, "%s\n", line)
		return
	}
	name := e.Package + " " + e.Test
	switch e.Action {
	case "output", "build-output":
		s.output[name] = append(s.output[name], e.Output)
		return
	case "run":
		if i := strings.LastIndexByte(e.Test, '/'); i > 0 {
			s.parents[e.Package+" "+e.Test[:i]] = true
		}
		return
	case "fail", "build-fail":
		s.fail(e, name)
	case "pass":
		s.pass(e, name)
	case "skip":
		s.skip(e, name)
	default:
		return
	}
	delete(s.output, name)
}

func (s *summary) fail(e event, name string) {
	fmt.Fprintf(s.out, "--- FAIL %s (%.1fs)\n%s", name, e.Elapsed, strings.Join(s.output[name], ""))
	s.failed = append(s.failed, failure{strings.TrimSpace(name), reasons(s.output[name])})
}

// maxReasons limits how many lines of a failure the summary repeats.
const maxReasons = 12

// telling matches lines that say why a test or a package failed: a message of a test, or the
// end of a process.
var telling = regexp.MustCompile(`^\s+\S+_test\.go:\d+: |^panic: |WARNING: DATA RACE|race detected|^fatal error: |exit status`)

// reasons returns the lines that match telling and, after a panic or a race, the lines that
// follow.
func reasons(output []string) (lines []string) {
	for i, line := range output {
		if !telling.MatchString(line) {
			continue
		}
		lines = append(lines, line)
		if !strings.Contains(line, "_test.go:") {
			lines = append(lines, output[i+1:min(i+maxReasons, len(output))]...)
		}
		if len(lines) >= maxReasons {
			return lines[:maxReasons]
		}
	}
	return lines
}

func (s *summary) pass(e event, name string) {
	switch {
	case e.Test == "":
		fmt.Fprintf(s.out, "ok   %s (%.1fs)\n", e.Package, e.Elapsed)
	case !s.parents[name]:
		s.passed++
		if needsCluster.MatchString(e.Package) {
			s.feature++
		}
	}
}

var skipReason = regexp.MustCompile(`^\s+\S+\.go:\d+: (.*)\n$`)

func (s *summary) skip(e event, name string) {
	if e.Test == "" { // the result of a package
		return
	}
	reason := "no reason given"
	for _, line := range s.output[name] {
		if m := skipReason.FindStringSubmatch(line); m != nil {
			reason = m[1]
		}
	}
	s.skipped[reason] = append(s.skipped[reason], e.Test)
}

// close prints the last lines and reports whether all tests passed.
func (s *summary) close() bool {
	skips, reasons := 0, []string{}
	for _, reason := range slices.Sorted(maps.Keys(s.skipped)) {
		names := s.skipped[reason]
		skips += len(names)
		reasons = append(reasons, fmt.Sprintf("%s (%s)", strings.Join(names, ", "), reason))
	}
	for _, f := range s.failed {
		fmt.Fprintf(s.out, "failed: %s\n%s", f.name, strings.Join(f.why, ""))
	}
	fmt.Fprintf(s.out, "%d passed, %d failed, %d skipped\n", s.passed, len(s.failed), skips)
	ran := append(s.before,
		fmt.Sprintf("%d unit tests", s.passed-s.feature), fmt.Sprintf("%d feature and end-to-end tests", s.feature))
	fmt.Fprintf(s.out, "passed: %s; failed: %d; skipped: %s\n", strings.Join(ran, ", "), len(s.failed),
		cmp.Or(strings.Join(reasons, "; "), "nothing"))
	return len(s.failed) == 0 && s.passed > 0
}
