package durability

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"k8s-cli/test/testkit/must"
)

const (
	diskSize = 128 * mib
	enough   = 500 // accepted submissions before the test cuts the power
)

// The power is cut in the middle of a load, on a log that is seconds old. With
// --durability=always every accepted submission exists afterwards. With --durability=os the
// last submissions may be lost, but no earlier ones, and never the whole log.
func TestPowerCut(t *testing.T) {
	t.Parallel()
	for _, durability := range []string{"always", "os"} {
		t.Run(durability, func(t *testing.T) {
			t.Parallel()
			d := newDisk(t, diskSize)
			s := start(t, d.dir, "--durability", durability)
			made := created(t, d.dir)
			l := s.load(t, "before")
			l.await(t, enough)
			d.cut(t)
			at := time.Now()
			s.Kill()
			sent := l.stop()
			d.restore(t)

			s = start(t, d.dir, "--durability", durability)
			if again := created(t, d.dir); !again.Equal(made) {
				t.Errorf("the log was made at %s, and once more at %s", made, again)
			}
			lost := compare(t, sent, s.tasks(t))
			report(t, sent, lost, at)
			if durability == "always" && len(lost) > 0 {
				t.Errorf("%d accepted submissions are lost", len(lost))
			}
			wantsSuffix(t, sent, lost)
			s.accepts(t, "after")
		})
	}
}

// A new log is on disk before the first answer.
func TestPowerCutOnANewLog(t *testing.T) {
	t.Parallel()
	d := newDisk(t, diskSize)
	s := start(t, d.dir, "--durability", "os")
	made := created(t, d.dir)
	d.cut(t)
	s.Kill()
	d.restore(t)
	s = start(t, d.dir, "--durability", "os")
	if again := created(t, d.dir); !again.Equal(made) {
		t.Errorf("the log was made at %s, and once more at %s", made, again)
	}
	s.accepts(t, "after")
}

// created returns when the log's stream was created, according to the store.
func created(t *testing.T, dir string) time.Time {
	t.Helper()
	raw := must.Read(t, filepath.Join(dir, "jetstream", "$G", "streams", "LOG", "meta.inf"))
	var meta struct {
		Created time.Time `json:"created"`
	}
	if err := json.Unmarshal(raw, &meta); err != nil || meta.Created.IsZero() {
		t.Fatalf("when the log was made: %v in %s", err, raw)
	}
	return meta.Created
}

// report logs how many of the submissions that were accepted before the cut are lost.
// Between the cut and its end, the process may accept more in memory.
func report(t *testing.T, sent, lost []submission, cut time.Time) {
	t.Helper()
	early := func(all []submission) []submission {
		return slices.DeleteFunc(slices.Clone(all), func(one submission) bool { return one.id == "" || one.answered.After(cut) })
	}
	window := time.Duration(0)
	for _, one := range early(lost) {
		window = max(window, cut.Sub(one.answered))
	}
	t.Logf("%d of %d accepted submissions are lost; lost is what was accepted in the last %d ms before the cut", len(early(lost)), len(early(sent)), window.Milliseconds())
}

// wantsSuffix checks that no submission survived that was sent after the answer to a lost
// submission.
func wantsSuffix(t *testing.T, sent, lost []submission) {
	t.Helper()
	gone := map[string]bool{}
	var first time.Time
	for _, one := range lost {
		gone[one.name] = true
		if first.IsZero() || one.answered.Before(first) {
			first = one.answered
		}
	}
	for _, one := range sent {
		if !first.IsZero() && one.id != "" && !gone[one.name] && one.sent.After(first) {
			t.Errorf("task %s is there, though it was sent after one that is lost was accepted", one.name)
		}
	}
}
