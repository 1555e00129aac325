package crash

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
	// A server that has no time to run for some seconds does not create the Service of an adopted task, and
	// the next adoption creates the Service.
	service := func(object string) bool { return object == "service adopted-adopted0" }
	if before, after := slices.DeleteFunc(before, service), slices.DeleteFunc(s.there(), service); !slices.Equal(after, before) {
		t.Errorf("there were %v, and now there are %v", before, after)
	}
	s.submit("afterwards", 1, nil)
	s.runs("afterwards")
	if wrong := s.wrong(); len(wrong) > 0 {
		t.Errorf("%s", strings.Join(wrong, "\n"))
	}
}

// A lateBody is the body of a request that its process sends after a pause.
type lateBody struct {
	io.Reader
	pause time.Duration
}

func (b lateBody) Read(p []byte) (int, error) {
	time.Sleep(b.pause)
	return b.Reader.Read(p)
}

// The API server creates nothing when the body of a request arrives after the timeout of the request,
// counted from its header. submit.StalenessGuard relies on it.
func TestLateBodyCreatesNothing(t *testing.T) {
	t.Parallel()
	long(t)
	need(t)
	c := join(t)
	create := func(name string, pause time.Duration) error {
		object := fmt.Sprintf(`{"apiVersion":"v1","kind":"Service","metadata":{"name":%q},"spec":{"clusterIP":"None"}}`, name)
		return c.CoreV1().RESTClient().Post().Namespace(c.namespace).Resource("services").Timeout(2*time.Second).
			SetHeader("Content-Type", "application/json").Body(lateBody{strings.NewReader(object), pause}).Do(t.Context()).Error()
	}
	if err := create("in-time", 0); err != nil {
		t.Fatal(err)
	}
	if err := create("late", 3*time.Second); err == nil {
		t.Error("the API server accepts the late body")
	}
	_, err := c.CoreV1().Services(c.namespace).Get(t.Context(), "late", metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("the late Service: error %v", err)
	}
}
