package crash

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"k8s-cli/pkg/crash"
	"k8s-cli/pkg/task"
)

// The log of a server that runs is lost, or somebody puts another one in its
// place: what it had done is adopted by the new one, and nothing is touched.
func TestALogThatIsReplacedUnderItsServers(t *testing.T) {
	t.Parallel()
	need(t)
	s := newStory(t, join(t), crash.Lead)
	s.place()
	url := runNATS(t, false)
	flags := s.flags("--nats-url", url)
	first := s.awaitReady(launch(t, "", flags...))
	s.now = first
	s.runs("adopted")
	s.create("data")
	s.awaitClaim("data")
	s.submit("one", 1, map[string]string{"/data": "data"})
	s.submit("three", 3, nil)
	s.runs("one")
	s.runs("three")
	before := s.there()

	dropLog(t, url)
	second := s.awaitReady(launch(t, "", flags...)) // makes another one
	for _, one := range []*server{first, second} {
		s.now = one
		s.eventually("all tasks are adopted", func() (string, bool) {
			seen := s.listing()
			return fmt.Sprint(seen), maps.Equal(seen, map[string]task.Phase{"adopted": task.Pending, "one": task.Pending, "three": task.Pending})
		})
	}
	if after := s.there(); !slices.Equal(after, before) {
		t.Errorf("there were %v, and now there are %v", before, after)
	}
	s.submit("afterwards", 1, nil)
	s.runs("afterwards")
	if wrong := s.wrong(); len(wrong) > 0 {
		t.Errorf("%s", strings.Join(wrong, "\n"))
	}
}

func dropLog(t *testing.T, url string) {
	t.Helper()
	conn, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	if err := js.DeleteStream(t.Context(), "LOG"); err != nil {
		t.Fatalf("delete the log: %v", err)
	}
}
