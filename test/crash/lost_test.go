package crash

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"k8s-cli/pkg/crash"
	"k8s-cli/pkg/task"
	"k8s-cli/test/testkit"
)

// The log of a running server is lost or replaced: the server adopts the objects that it had
// created with the former log, and changes none of these objects.
func TestLogReplacedUnderItsServers(t *testing.T) {
	t.Parallel()
	long(t)
	need(t)
	s := newStory(t, join(t), crash.Lead)
	s.place()
	url := s.runNATS()
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

	if err := testkit.JetStream(t, url).DeleteStream(t.Context(), "LOG"); err != nil {
		t.Fatalf("delete the log: %v", err)
	}
	second := s.awaitReady(launch(t, "", flags...)) // creates a new log
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
