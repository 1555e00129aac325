package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
)

// An event is one line of the output of `go test -json`; see `go doc test2json`.
type event struct {
	Action  string
	Package string
	Test    string
	Output  string
	Elapsed float64 // seconds
}

// A summary counts the results of tests, prints failures as they happen, and lists at the end what
// ran, what was slow, and which tests were skipped and why.
type summary struct {
	out     io.Writer
	steps   []*step
	passed  int
	failed  []failure
	slow    []duration
	skipped map[string][]string // names of tests by reason
	output  map[string][]string // of tests and packages that are still running
	parents map[string]bool     // tests with subtests, which do not count
}

// A step is a part of a run.
type step struct {
	name            string
	wall, processor time.Duration // processor time includes child processes, and no cluster
	tests           int
	before          bool // the suite passed before, and did not run
}

// A failure is a test, package or step that failed, and the lines of its output that say why. The
// summary repeats these lines at the end, since a CI log may be truncated.
type failure struct {
	name string
	why  []string
}

// A duration is the time that a test or a package took, in seconds.
type duration struct {
	name    string
	seconds float64
	test    bool
}

func newSummary(out io.Writer) *summary {
	return &summary{out: out, skipped: map[string][]string{}, output: map[string][]string{}, parents: map[string]bool{}}
}

// begin begins a step.
func (s *summary) begin(name string) {
	s.steps = append(s.steps, &step{name: name})
	fmt.Fprintf(s.out, "\n== %s\n", name)
}

// end ends the step that began last.
func (s *summary) end(wall, processor time.Duration) {
	now := s.steps[len(s.steps)-1]
	now.wall, now.processor = wall, processor
}

// before notes a suite that passed before on the same files.
func (s *summary) before(name string) {
	s.steps = append(s.steps, &step{name: name, before: true})
}

// fails notes that a step failed.
func (s *summary) fails(name, why string) {
	fmt.Fprintf(s.out, "--- FAIL %s: %s\n", name, why)
	s.failed = append(s.failed, failure{name, []string{"    " + why + "\n"}})
}

// readAll reads the output of a step.
func (s *summary) readAll(r io.Reader) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		s.read(lines.Bytes())
	}
	if err := lines.Err(); err != nil {
		s.fails("reading the results", err.Error())
		_, _ = io.Copy(io.Discard, r) // so that the step does not block
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
	if e.Elapsed > 0 && !strings.Contains(e.Test, "/") {
		s.slow = append(s.slow, duration{strings.TrimSpace(name), e.Elapsed, e.Test != ""})
	}
	delete(s.output, name)
}

func (s *summary) fail(e event, name string) {
	why := reasons(s.output[name])
	fmt.Fprintf(s.out, "--- FAIL %s (%.1fs)\n%s", name, e.Elapsed, strings.Join(why, ""))
	if e.Test != "" {
		fmt.Fprintf(s.out, "    Run the test again: %s\n", s.again(e))
	}
	if rest := s.output[name]; len(rest) > len(why) {
		fmt.Fprintf(s.out, "    All output:\n%s", strings.Join(rest, ""))
	}
	s.failed = append(s.failed, failure{strings.TrimSpace(name), why})
}

// again returns the command that runs the test of an event again.
func (s *summary) again(e event) string {
	pattern := "'^" + strings.ReplaceAll(regexp.QuoteMeta(e.Test), "/", "$/^") + "$'"
	if len(s.steps) > 0 {
		suite := strings.TrimPrefix(s.steps[len(s.steps)-1].name, "gate-")
		if suite != "unit" && slices.Contains(suiteNames(), suite) {
			return "make test-" + suite + " RUN=" + strings.ReplaceAll(pattern, "$", "$$")
		}
	}
	return "go test -race -run " + pattern + " ." + strings.TrimPrefix(e.Package, "k8s-cli")
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
		if len(s.steps) > 0 {
			s.steps[len(s.steps)-1].tests++
		}
	}
}

var skipReason = regexp.MustCompile(`^\s+\S+\.go:\d+: (.*)\n$`)

func (s *summary) skip(e event, name string) {
	if e.Test == "" { // the result of a package
		return
	}
	reason := "no reason given"
	for _, line := range s.output[name] { // testscript writes further lines after the reason
		if m := skipReason.FindStringSubmatch(line); m != nil {
			reason = m[1]
			break
		}
	}
	s.skipped[reason] = append(s.skipped[reason], e.Test)
}

// slowest is how many tests, and how many packages, the summary lists.
const slowest = 20

// close prints the slowest tests and packages, the times of the steps, the failures again and the
// last lines. close reports whether no test failed, and at least one test or suite passed.
func (s *summary) close() bool {
	s.printSlowest("tests", true)
	s.printSlowest("packages", false)
	s.printSteps()
	for _, f := range s.failed {
		fmt.Fprintf(s.out, "failed: %s\n%s", f.name, strings.Join(f.why, ""))
	}
	var skips []string
	number := 0
	for _, reason := range slices.Sorted(maps.Keys(s.skipped)) {
		names := s.skipped[reason]
		number += len(names)
		skips = append(skips, fmt.Sprintf("%s (%s)", strings.Join(names, ", "), reason))
	}
	var ran, before []string
	for _, step := range s.steps {
		switch {
		case step.before:
			before = append(before, step.name)
		case step.tests > 0:
			ran = append(ran, fmt.Sprintf("%s %d tests", step.name, step.tests))
		default:
			ran = append(ran, step.name)
		}
	}
	if len(before) > 0 {
		fmt.Fprintf(s.out, "passed before on the same files (FORCE=1 runs them again): %s\n", strings.Join(before, ", "))
	}
	fmt.Fprintf(s.out, "ran: %s; skipped: %s\n", cmp.Or(strings.Join(ran, ", "), "nothing"), cmp.Or(strings.Join(skips, "; "), "nothing"))
	fmt.Fprintf(s.out, "%d passed, %d failed, %d skipped\n", s.passed, len(s.failed), number)
	return len(s.failed) == 0 && (s.passed > 0 || len(before) > 0)
}

func (s *summary) printSlowest(what string, tests bool) {
	chosen := slices.DeleteFunc(slices.Clone(s.slow), func(d duration) bool { return d.test != tests })
	slices.SortStableFunc(chosen, func(a, b duration) int { return cmp.Compare(b.seconds, a.seconds) })
	if chosen = chosen[:min(slowest, len(chosen))]; len(chosen) == 0 {
		return
	}
	fmt.Fprintf(s.out, "\nslowest %s, in seconds\n", what)
	for _, d := range chosen {
		fmt.Fprintf(s.out, "%8.1f  %s\n", d.seconds, strings.TrimPrefix(d.name, "k8s-cli/"))
	}
}

func (s *summary) printSteps() {
	var wall, processor time.Duration
	fmt.Fprintf(s.out, "\n%-16s %8s %10s %6s\n", "step", "time", "processor", "tests")
	row := func(name string, wall, processor time.Duration, tests int) {
		fmt.Fprintf(s.out, "%-16s %8s %10s %6d\n", name, minutes(wall), minutes(processor), tests)
	}
	for _, step := range s.steps {
		if !step.before {
			row(step.name, step.wall, step.processor, step.tests)
			wall, processor = wall+step.wall, processor+step.processor
		}
	}
	row("all", wall, processor, s.passed)
	fmt.Fprintln(s.out)
}

// minutes formats a duration as minutes and seconds, for example 3:07.
func minutes(d time.Duration) string {
	seconds := int(d.Round(time.Second).Seconds())
	return fmt.Sprintf("%d:%02d", seconds/60, seconds%60)
}
