package features

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s-cli/pkg/client"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/group"
	"k8s-cli/test/testkit/must"
)

// A hook receives notifications.
type hook struct {
	*httptest.Server

	secret string
	away   atomic.Bool

	mu     sync.Mutex
	events []task.Event
	wrong  []string
}

func newHook(t *testing.T) *hook {
	t.Helper()
	h := &hook{}
	h.Server = httptest.NewServer(h)
	t.Cleanup(h.Close)
	return h
}

func (h *hook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if h.away.Load() {
		if c, _, err := http.NewResponseController(w).Hijack(); err == nil {
			_ = c.Close()
		}
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil { // the server died
		return
	}
	var e struct {
		SpecVersion, ID, Type, Subject string
		Data                           task.Event
	}
	err = json.Unmarshal(body, &e)
	key, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(h.secret, "whsec_"))
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%s.%s", r.Header.Get("Webhook-Id"), r.Header.Get("Webhook-Timestamp"), body)
	h.mu.Lock()
	defer h.mu.Unlock()
	if err != nil || r.Header.Get("Webhook-Signature") != "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)) || len(key) != 32 ||
		e.ID != r.Header.Get("Webhook-Id") || e.SpecVersion != "1.0" || e.Type != "k8s-cli.task."+e.Data.Status || e.Subject != "tasks/"+e.Data.TaskID {
		h.wrong = append(h.wrong, string(body))
	}
	h.events = append(h.events, e.Data)
}

// got returns the first notification of each event, in the order of arrival, and the number of
// all notifications.
func (h *hook) got() (first []task.Event, all int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	seen := map[task.EventID]bool{}
	for _, e := range h.events {
		if !seen[e.ID] {
			seen[e.ID], first = true, append(first, e)
		}
	}
	return first, len(h.events)
}

// awaitEnds waits for the last notifications of this many tasks.
func (h *hook) awaitEnds(t *testing.T, tasks int) {
	t.Helper()
	eventually(t, fmt.Sprintf("notifications of the ends of %d tasks", tasks), func() (string, bool) {
		ends := 0
		first, all := h.got()
		for _, e := range first {
			if e.Over() {
				ends++
			}
		}
		return fmt.Sprintf("%d of %d notifications", ends, all), ends >= tasks
	})
}

// check compares the notifications with the phase changes of a group of tasks.
func (h *hook) check(t *testing.T, u *user, name string) {
	t.Helper()
	events, err := u.Events(t.Context(), client.EventSource{Group: name})
	must.Succeed(t, err)
	var want, got []task.EventID
	for _, e := range events {
		if e.Type == task.EventPhase {
			want = append(want, e.ID)
		}
	}
	first, all := h.got()
	for _, e := range first {
		got = append(got, e.ID)
	}
	if !slices.Equal(got, want) {
		t.Errorf("the receiver of %s got %d events, which are not the %d phase changes in their order", name, len(got), len(want))
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.wrong) > 0 {
		t.Errorf("%d wrong notifications, the first is %s", len(h.wrong), h.wrong[0])
	}
	t.Logf("the receiver of %s got %d notifications of %d events", name, all, len(want))
}

// A receiver that is away gets each phase change at least once, in order and signed, although the
// leader dies meanwhile. Another receiver hears everything at once. The pods are fake.
func TestNotificationsOfFakePods(t *testing.T) {
	c := join(t)
	c.needFakes(t)
	const tasks = 200
	up, down := newHook(t), newHook(t)
	down.away.Store(true)
	hosts := strings.TrimPrefix(up.URL, "http://") + "," + strings.TrimPrefix(down.URL, "http://")
	a := c.serve(t, "--nats-url", external(t), "--notify-hosts", hosts, "--allowed-annotations", "pod-end.k8s-cli.local/")
	leader, others := leads(t, a, a.again(t))
	ann := others[0].as(t, "ann")
	secret, err := ann.NotifySecret(t.Context())
	must.Succeed(t, err)
	up.secret, down.secret = secret, secret
	spec := parse(t, endsAfter("200ms"))
	items := make([]client.Item, tasks)
	for i := range items {
		items[i] = client.Item{Spec: spec, Membership: group.Membership{Group: "up"}}
		items[i].Spec.EventCallback = up.URL + "/hook"
		if i%2 == 1 {
			items[i].Spec.EventCallback, items[i].Group = down.URL, "down"
		}
	}
	results, err := ann.SubmitItems(t.Context(), items)
	if err != nil || len(results) != tasks || results[0].ID == "" {
		t.Fatalf("%d results, %+v, %v", len(results), results, err)
	}
	up.awaitEnds(t, tasks/10)
	leader.process.Kill()
	up.awaitEnds(t, tasks/2)
	ann.awaitGroup(t, "down", "is over", func(g group.Group) bool { return g.Over() == tasks/2 })
	late := ann.submit(t, "event_callback: "+up.URL+"\nvolumes: {/data: nowhere}\nrun: 'true'")
	eventually(t, "the notification of one more task", func() (string, bool) {
		first, _ := up.got()
		last := first[len(first)-1]
		return last.TaskID, last.TaskID == late && time.Since(last.Time) < time.Minute
	})
	if _, all := down.got(); all > 0 {
		t.Errorf("the receiver that was away got %d notifications", all)
	}
	if text := string(others[0].get(t, "", "/metrics").body); !strings.Contains(text, `k8s_cli_notification_receivers{state="failing"} 1`) {
		t.Error("the metrics do not show the receiver that is away")
	}
	down.away.Store(false)
	down.awaitEnds(t, tasks/2)
	down.check(t, ann, "down")
	up.mu.Lock()
	up.events = slices.DeleteFunc(up.events, func(e task.Event) bool { return e.TaskID == late })
	up.mu.Unlock()
	up.check(t, ann, "up")
	ann.stop(t, late)
}
