package taskfile

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
)

// fill returns as many copies of s as fit into a task file.
func fill(s string) string { return strings.Repeat(s, (MaxSize-64)/len(s)) }

// dense returns as many copies of s as the limits of size and marks allow.
func dense(s string) string {
	return strings.Repeat(s, min(MaxSize-64, (maxMarks-64)/max(1, marks([]byte(s)))*len(s))/len(s))
}

func stairs() string {
	var b strings.Builder
	for i := 0; b.Len()+i+3 < MaxSize; i++ {
		b.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	return b.String()
}

func keys(format string) string {
	var b strings.Builder
	for i := 0; b.Len() < MaxSize-64; i++ {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// numbered repeats a format n times, each with its number.
func numbered(format string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

func inSpec(text string) string { return string(inPod(text)) }

func laughs() string {
	text := "a0: &a0 [x,x,x,x,x,x,x,x,x]\n"
	for i := 1; i < 20; i++ {
		text += fmt.Sprintf("a%d: &a%d [%s]\n", i, i, strings.Repeat(fmt.Sprintf("*a%d,", i-1), 9))
	}
	return text
}

var hostileYAML = map[string]string{
	"too large":                    strings.Repeat("#", MaxSize+1),
	"aliases of aliases":           laughs(),
	"an alias inside its anchor":   "envs: &a {b: *a}",
	"a merge inside its anchor":    "envs: &a\n  <<: *a\n",
	"many aliases of one":          "x: &a [1, 2, 3]\ny: [" + strings.Repeat("*a,", 400) + "]",
	"one alias after another":      "a: &a x\nb: [" + fill("*a,") + "]",
	"aliases of a long text":       "run: &a " + strings.Repeat("x", MaxSize/2) + "\nenvs: {" + "A: *a, B: *a, C: *a" + "}",
	"aliases of a long key":        "x: &a " + strings.Repeat("x", MaxSize/2) + "\ny: [" + strings.Repeat("{*a : b}, ", 4) + "]",
	"flow lists inside each other": fill("["),
	"flow maps inside each other":  fill("{a: "),
	"lists inside each other":      fill("- "),
	"keys inside each other":       fill("? "),
	"maps inside each other":       stairs(),
	"33 lists":                     "envs: " + strings.Repeat("[", 33) + strings.Repeat("]", 33),
	"a long list":                  "[" + fill("a,") + "]",
	"a long set":                   "{" + fill("a,") + "}",
	"a long list of pairs":         "[" + fill("a:,") + "]",
	"a list of lists":              "[" + fill("[],") + "]",
	"nothing but comments":         fill("#\n"),
	"a comment for every key":      fill("#x\na: b #c\n"),
	"a comment for every item":     fill("- a #b\n"),
	"a comment in a flow":          "[" + fill("a #b\n,") + "]",
	"one key again and again":      fill("a:\n"),
	"as many keys as fit":          keys("k%d: \n"),
	"as many variables as fit":     "envs:\n" + keys("  K%d: \n"),
	"anchors":                      keys("- &a%d x\n"),
	"empty documents":              fill("---\n"),
	"a shorter list":               "[" + dense("a,") + "]",
	"a shorter set":                "{" + dense("a,") + "}",
	"a shorter list of pairs":      "[" + dense("a:,") + "]",
	"a shorter list of aliases":    "a: &a x\nb: [" + dense("*a,") + "]",
	"fewer comments":               dense("#\n"),
	"fewer comments for keys":      dense("#x\na: b #c\n"),
	"fewer comments for items":     dense("- a #b\n"),
	"fewer comments in a flow":     "[" + dense("a #b\n,") + "]",
	"fewer keys":                   dense("a:\n"),
	"fewer anchors":                dense("- &a x\n"),
	"fewer documents":              dense("---\n"),
	"tabs":                         dense("\t"),
	"tag handles":                  keys("%%TAG !%x! x\n") + "---\nrun: x",
	"a quote without an end":       "run: \"" + fill("a"),
	"a long unknown key":           fill("k") + ": x",
	"a long name":                  "name: " + fill("n") + "!\nrun: x",
	"a long number":                "num_nodes: " + fill("9") + "\nrun: x",
	"a long hexadecimal number":    "num_nodes: 0x" + fill("f") + "\nrun: x",
	"a long number in base 60":     "num_nodes: 1" + dense(":59") + "\nrun: x",
	"an exponent":                  "num_nodes: 1e999999999\nrun: x",
	"a long anchor":                "run: *" + fill("a"),
	"a long tag":                   "run: !" + fill("a") + " x",
	"a long quantity":              "run: x\nresources: {cpus: " + fill("1") + "}",
	"a long size":                  "run: x\nresources: {disk_size: " + fill("1") + "}",
	"many alternatives":            "run: x\nresources: {cpus: 1, any_of: [" + strings.Repeat("{cpus: 1},", 3000) + "]}",
	"more alternatives than are":   "run: x\nresources: {any_of: [" + strings.Repeat("{cpus: 1},", 100) + "]}",
	"alternatives to much":         "run: x\nresources: {labels: {" + numbered("k%d: v, ", 3000) + "}, any_of: [{cpus: 1}, {cpus: 2}, {cpus: 3}]}",
	"alternatives of alternatives": "run: x\nresources: {any_of: [" + strings.Repeat("{any_of: [", 13) + strings.Repeat("]}", 13) + "]}",
	"many accelerators":            "run: x\nresources: {accelerators: {" + numbered("a%d, ", 4000) + "}}",
	"many labels":                  "run: x\nresources: {labels: {" + numbered("k%d: v, ", 4000) + "}}",
	"many mounts":                  "run: x\nvolumes: {" + numbered("/m%d: v, ", 4000) + "}",
	"a variable again and again":   "envs: {A: " + strings.Repeat("x", 1000) + "}\nrun: x\nworkdir: " + strings.Repeat("$A", 50_000),
	"variables in many paths":      "envs: {A: " + strings.Repeat("x", 1000) + "}\nrun: x\nfile_mounts: {" + numbered("/m%d: $A$A, ", 4000) + "}",
	"many tolerations":             inSpec("tolerations: [" + strings.Repeat("{a: b},", 4000) + "]"),
	"a deep affinity":              inSpec("affinity: " + strings.Repeat("{nodeAffinity: ", 27) + strings.Repeat("}", 27)),
	"many of an unknown part":      inSpec(numbered("k%d: v, ", 4000)),
	"two large scripts by alias":   "setup: &a " + strings.Repeat("x", MaxSize-1000) + "\nrun: *a",
	"long ports":                   "run: x\nresources: {ports: \"" + fill("1,") + "\"}",
}

var hostileJSON = map[string]string{
	"too large":               strings.Repeat(" ", MaxSize+1),
	"lists inside each other": fill("["),
	"maps inside each other":  fill(`{"a":`),
	"a long list":             "[" + fill("1,") + "1]",
	"as many keys as fit":     "{" + keys(`"k%d":1,`) + `"z":1}`,
	"a long number":           `{"num_nodes":` + fill("9") + `}`,
	"an exponent":             `{"run":"x","num_nodes":1e99999}`,
	"a long text":             `{"name":"` + fill("-") + `"}`,
	"a long unknown key":      `{"` + fill("k") + `":1}`,
}

// maxMallocs limits allocations instead of time, because time depends on the load of the
// machine. The worst of these texts make 140,000 allocations, which take 10 ms on an idle
// machine.
const maxMallocs = 200_000

// TestHostileInputs checks that no input costs more than a few megabytes and milliseconds,
// and that errors are short.
func TestHostileInputs(t *testing.T) {
	for _, parser := range []struct {
		name   string
		parse  func([]byte) (task.Spec, []string, error)
		inputs map[string]string
	}{
		{"yaml", Parse, hostileYAML},
		{"json", ParseJSON, hostileJSON},
	} {
		for name, text := range parser.inputs {
			t.Run(parser.name+"/"+name, func(t *testing.T) {
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				start := time.Now()
				_, _, err := parser.parse([]byte(text))
				took := time.Since(start)
				runtime.ReadMemStats(&after)

				if err == nil {
					t.Fatal("it was accepted")
				}
				checkKind(t, err)
				if len(err.Error()) > 600 {
					t.Errorf("the error has %d bytes: %.100s", len(err.Error()), err)
				}
				if spent := after.TotalAlloc - before.TotalAlloc; spent > 12<<20 {
					t.Errorf("%d KB were allocated", spent>>10)
				}
				if n := after.Mallocs - before.Mallocs; n > maxMallocs {
					t.Errorf("it took %d allocations", n)
				}
				findings := Check([]byte(text), Overrides{})
				if n := len(findings); n > 2*maxNodes {
					t.Errorf("%d findings", n)
				}
				t.Logf("%s, %d allocations, %d KB: %v", took, after.Mallocs-before.Mallocs, (after.TotalAlloc-before.TotalAlloc)>>10, err)
			})
		}
	}
}

// TestTextsThatResembleScriptsAreBounded checks texts that only look like scripts. Such a text may
// cost more memory, but only one is parsed at a time.
func TestTextsThatResembleScriptsAreBounded(t *testing.T) {
	for name, text := range map[string]string{
		"a list":     "{x: \"\na: |\n \", y: [" + fill("a,") + "]}",
		"lists":      "{x: \"\na: |\n \", y: [" + fill("[],") + "]}",
		"a map":      "{x: \"\na: |\n \", y: {" + strings.ReplaceAll(keys("k%d: ,"), "\n", "") + "}}",
		"comments":   "{x: \"\na: |\n \", y: [" + fill("a, #b\n ") + "]}",
		"more texts": "{x: \"\na: |\n \", y: [" + fill("'a',\n ") + "]}",
	} {
		t.Run(name, func(t *testing.T) {
			if n := marksOutside([]byte(text)); n > 100 {
				t.Fatalf("%d marks outside of what looks like a script", n)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, _, err := Parse([]byte(text))
			runtime.ReadMemStats(&after)
			if err == nil {
				t.Fatal("it was accepted")
			}
			checkKind(t, err)
			if spent := after.TotalAlloc - before.TotalAlloc; spent > 64<<20 {
				t.Errorf("%d KB were allocated", spent>>10)
			}
			if n := after.Mallocs - before.Mallocs; n > 4*maxMallocs {
				t.Errorf("it took %d allocations", n)
			}
		})
	}
}

func TestLargeFilesAreRead(t *testing.T) {
	script := strings.Repeat("  echo one line of a long script, with {braces} # and more\n", MaxSize/60)
	table := strings.Repeat("  1,2,3,4,5,6,7,8,9,10: [a, b]\n", MaxSize/35)
	for _, text := range []string{
		"run: |\n" + script, "name: x\nsetup: echo\nrun: |-  # data\n" + table + "\n" + table[:9000], "secrets: {}\nrun: >2\n" + table,
	} {
		if _, _, err := Parse([]byte(text)); err != nil {
			t.Errorf("a script of %d bytes: %v", len(text), err)
		}
	}
	if _, _, err := Parse([]byte("run: x\nenvs:\n  A: |\n   text\n  B: [" + fill("a,") + "]\n")); !errors.Is(err, problem.TooLarge) {
		t.Errorf("marks behind a script: %v", err)
	}
	var envs strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&envs, "  NAME_%d: a value of this variable\n", i)
	}
	got, _, err := Parse([]byte("run: env\nenvs:\n" + envs.String()))
	if err != nil || len(got.Envs) != 1000 {
		t.Errorf("1000 variables: got %d, %v", len(got.Envs), err)
	}
}

func checkKind(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, problem.Invalid) && !errors.Is(err, problem.Malformed) && !errors.Is(err, problem.TooLarge) {
		t.Errorf("the error is of no kind that a text can have: %v", err)
	}
}

func BenchmarkParse(b *testing.B) {
	text := []byte("name: train\nnum_nodes: 2\nresources: {cpus: 4, memory: 16+}\nenvs: {A: 1, B: two}\nrun: |\n  python train.py\n")
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := Parse(text); err != nil {
			b.Fatal(err)
		}
	}
}
