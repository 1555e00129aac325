package build

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestProgressCountsPackagesOnce(t *testing.T) {
	p := newProgress(2)
	p.expect(map[string]int64{"fmt": 10, "net": 20})
	p.expect(map[string]int64{"net": 20, "os": 30}) // of the next program
	p.begin("bread")
	fmt.Fprint(p, "fmt\nne")
	fmt.Fprint(p, "t\nnet\nsomething else\n")
	if got := p.status(); got != "building bread: 2 of 3 packages, less than a minute left" {
		t.Errorf("status = %q", got)
	}
	fmt.Fprintln(p, "os")
	if got := p.status(); got != "building bread: linking" {
		t.Errorf("at the end, status = %q", got)
	}
}

func TestTheEstimateFollowsTheMeasuredPace(t *testing.T) {
	now := time.Now()
	p := newProgress(1)
	p.now = func() time.Time { return now }
	sizes := map[string]int64{}
	for i := range 1000 {
		sizes[fmt.Sprint("p", i)] = assumedPace
	}
	p.expect(sizes)
	p.begin("bread")
	if got := p.left(); got != 1000*time.Second {
		t.Errorf("before anything was measured, left = %v, want what is assumed", got)
	}
	for i := range 100 { // at a fourth of the pace
		now = now.Add(4 * time.Second)
		fmt.Fprintln(p, fmt.Sprint("p", i))
	}
	if got := p.left(); got < 3000*time.Second || got > 3600*time.Second {
		t.Errorf("left = %v, want nearly 900 packages at 4 seconds each", got)
	}
}

func TestALogHasALineNowAndThen(t *testing.T) {
	var out bytes.Buffer
	tell := Teller{out: &out, mu: new(sync.Mutex)}
	tell.draw("1 of 2")
	tell.Say("found")
	tell.draw("")
	if got := out.String(); got != "1 of 2\nfound\n" {
		t.Errorf("a log has %q", got)
	}
	out.Reset()
	tell.terminal = true
	tell.draw("1 of 2")
	tell.Say("found")
	if got := out.String(); strings.Count(got, "\n") != 1 || !strings.HasSuffix(got, "\r\033[Kfound\n") {
		t.Errorf("a terminal gets %q", got)
	}
}
