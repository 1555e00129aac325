package main

import (
	"os"
	"regexp"
	"testing"

	"k8s-cli/test/testkit"
)

// No attack gets through.
func TestAttacks(t *testing.T) {
	testkit.Need(t, testkit.EnvKubeconfig, testkit.EnvPrograms)
	o := options{kubeconfig: os.Getenv(testkit.EnvKubeconfig), programs: os.Getenv(testkit.EnvPrograms)}
	w, err := newEnvironment(o, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.close(); err != nil {
			t.Error(err)
		}
	})
	done, err := perform(t.Context(), w, "", func(outcome) {})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range done {
		t.Run(o.group+"/"+o.attack.name, func(t *testing.T) {
			if !o.held {
				t.Errorf("sent %s\nwant %s\ngot  %s", brief(o.sent), o.attack.want, brief(o.got))
			}
		})
	}
}

// Every attack has a unique name, which -only and reports use.
func TestNamesOfAttacksAreUnique(t *testing.T) {
	seen, attacks := map[string]bool{}, 0
	for _, g := range groups() {
		for _, a := range g.attacks() {
			name := g.name + "/" + a.name
			if seen[name] {
				t.Errorf("two attacks are called %s", name)
			}
			if seen[name] = true; !a.control {
				attacks++
			}
			if a.want == "" || a.try == nil {
				t.Errorf("%s says no right answer, or does nothing", name)
			}
		}
	}
	if attacks < 300 {
		t.Errorf("%d attacks, want at least 300", attacks)
	}
}

// The attacks would detect a server that accepts everything: for no attack is a plain
// success the right answer.
func TestWantsDistinguishAnswers(t *testing.T) {
	fine := answer{code: 200, answers: 1, body: []byte(mark), raw: []byte(mark)}
	for _, right := range []want{unauthorized, forbidden, invalid, closed(400), without(works, mark), showing(works, "none of it")} {
		if right.holds(fine) {
			t.Errorf("%q holds for %s", right.text, fine)
		}
	}
	bad := answer{code: 400, answers: 1, closed: true}
	for _, right := range []want{invalid, closed(400), without(invalid, mark)} {
		if !right.holds(bad) {
			t.Errorf("%q does not hold for %s", right.text, bad)
		}
	}
	if again := (answer{code: 400, answers: 2, closed: true}); closed(400).holds(again) {
		t.Errorf("%q holds for %s", closed(400).text, again)
	}
}

var oneLine = regexp.MustCompile(`^[^\n]*$`)

// brief returns one line for every text.
func TestBriefIsOneLine(t *testing.T) {
	for _, text := range []string{"a\r\nb", "\x1b[2J", string(make([]byte, 1000))} {
		if got := brief(text); !oneLine.MatchString(got) || len(got) > 2000 {
			t.Errorf("brief(%q) = %q", text, got)
		}
	}
}
