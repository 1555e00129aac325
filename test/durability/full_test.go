package durability

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"k8s-cli/pkg/task"
	"k8s-cli/test/testkit"
	"k8s-cli/test/testkit/must"
)

// Other programs fill the disk below the limit of the log, repeatedly, in the middle of a
// load. The server accepts nothing that is not stored. A refusal says why, and when to try
// again. Reads continue. When the disk has space again, the server recovers without help.
func TestDiskFilledByOthers(t *testing.T) {
	t.Parallel()
	d := newDisk(t, 64*mib)
	s := start(t, d.dir)
	var sent []submission
	for round := range 2 {
		l := s.load(t, fmt.Sprintf("round%d", round))
		l.await(t, 100)
		free := must.Fill(t, d.dir)
		eventually(t, "submissions are refused", func() (string, bool) {
			accepted, refused := l.count()
			return fmt.Sprintf("%d accepted, %d refused", accepted, refused), refused > submitters
		})
		known := l.stop()
		sent = append(sent, known...)
		wantsWords(t, known)
		s.breakBy(t, firstAccepted(t, known))
		if got := len(s.tasks(t)); got < 100*(round+1) {
			t.Errorf("on a full disk %d tasks are shown", got)
		}

		free()
		eventually(t, "the store takes commands again", func() (string, bool) {
			got := s.readyz(t)
			return got, !strings.Contains(got, "broken") && !strings.Contains(got, "nearly full")
		})
		s.repeat(t, known)
	}
	if lost := compare(t, sent, s.tasks(t)); len(lost) > 0 {
		t.Errorf("%d accepted submissions are not shown", len(lost))
	}
	eventually(t, "the log says once that the store is broken, and once that it works again", func() (string, bool) { // several times, if a few writes succeed in between
		said := s.Said()
		broken, works := strings.Count(said, `msg="the store of the command log is broken`), strings.Count(said, `msg="the store of the command log accepts commands again`)
		return fmt.Sprintf("%d and %d times", broken, works), broken == works && broken > 0
	})
	s.Kill()
	s = start(t, d.dir)
	if lost := compare(t, sent, s.tasks(t)); len(lost) > 0 {
		t.Errorf("after a restart %d accepted submissions are lost", len(lost))
	}
}

// breakBy sends stops, which the server accepts as long as possible, until the server finds
// its store broken.
func (s *server) breakBy(t *testing.T, id string) {
	t.Helper()
	eventually(t, "a stop is refused because the store is broken", func() (string, bool) {
		got, err := s.ask(http.MethodPost, "/tasks/"+id+"/stop", "", "")
		must.Succeed(t, err)
		return got.String(), got.Code == http.StatusServiceUnavailable && got.Header.Get("Retry-After") != "" &&
			strings.Contains(detail(t, got), "the store of the command log is broken (no space left on device)")
	})
	if got := s.readyz(t); !strings.HasPrefix(got, "200") || !strings.Contains(got, "the store of the command log is broken (no space left on device)") {
		t.Errorf("/readyz says %s", got)
	}
}

// repeat sends the submissions again that were not accepted, with the same keys: the server
// may have stored them nevertheless.
func (s *server) repeat(t *testing.T, sent []submission) {
	t.Helper()
	for i, one := range sent {
		if one.id != "" {
			continue
		}
		sent[i] = s.accepts(t, one.name)
	}
}

func firstAccepted(t *testing.T, sent []submission) string {
	t.Helper()
	for _, one := range sent {
		if one.id != "" {
			return one.id
		}
	}
	t.Fatal("nothing was accepted")
	return ""
}

// wantsWords checks the error messages of the refused submissions.
func wantsWords(t *testing.T, sent []submission) {
	t.Helper()
	said := map[string]int{}
	for _, one := range sent {
		if one.id != "" {
			continue
		}
		said[one.refusal]++
		if !strings.HasPrefix(one.refusal, "503 ") || !strings.HasSuffix(one.refusal, "Retry-After: 1") {
			t.Errorf("a submission was refused by %s", one.refusal)
		}
	}
	t.Logf("refusals: %v", said)
}

func detail(t *testing.T, a testkit.Answer) string {
	t.Helper()
	var d task.Detail
	if err := json.Unmarshal(a.Body, &d); err != nil {
		t.Fatalf("%s: %v", a, err)
	}
	return d.Detail
}
