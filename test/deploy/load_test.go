package deploy

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s-cli/test/faults/check"
	"k8s-cli/test/faults/history"
	"k8s-cli/test/faults/load"
	"k8s-cli/test/faults/rig"
	"k8s-cli/test/testkit"
	"k8s-cli/test/testkit/must"
)

const (
	rate    = 100 // submissions per second
	clients = 48
	lasting = 20              // one of so many submissions gets a Job, because the machine is small
	calm    = 8 * time.Second // between two steps
)

// A siege is a steady load on the Service. A siege records all requests and answers.
type siege struct {
	*cluster
	*load.Load
	watch  *rig.Cluster
	before map[string]bool // ids of tasks that the siege did not submit
	cancel context.CancelFunc
	ended  sync.WaitGroup
	turns  atomic.Int64
}

// besiege starts to submit tasks through the Service.
func (c *cluster) besiege(t *testing.T) *siege {
	t.Helper()
	recorder := history.NewRecorder(t.TempDir())
	watch, err := rig.Observe(t.Context(), os.Getenv(envKubeconfig), tasksNamespace(), recorder)
	must.Succeed(t, err)
	t.Cleanup(watch.Close)
	target := load.Target{Name: "service", URL: c.url(t, release)}
	s := &siege{cluster: c, watch: watch, before: map[string]bool{}, Load: load.New(recorder, uint64(time.Now().UnixNano()), clients, []load.Target{target})}
	t.Cleanup(s.Close)
	s.Tag = strconv.FormatInt(time.Now().Unix(), 36) + "-"
	for id := range s.all(t) {
		s.before[id] = true
	}
	ctx, cancel := context.WithCancel(t.Context())
	s.cancel = cancel
	turns := make(chan struct{}, rate) // buffered, so that a short delay is caught up
	s.ended.Go(func() { releaseTurns(ctx, turns) })
	s.ended.Go(func() {
		s.Run(ctx, math.MaxInt32, func(ctx context.Context, a *load.Actor) {
			select {
			case <-turns:
			case <-ctx.Done():
				return
			}
			if s.turns.Add(1)%lasting == 0 {
				load.Lasting(ctx, a)
			} else {
				load.WriteRead(ctx, a)
			}
		})
	})
	return s
}

// releaseTurns releases rate turns per second on average, even if this goroutine runs late.
func releaseTurns(ctx context.Context, turns chan<- struct{}) {
	tick := time.NewTicker(time.Second / rate)
	defer tick.Stop()
	begin := time.Now()
	for given := 0; ; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		for due := int(time.Since(begin).Seconds() * rate); given < due; given++ {
			select {
			case turns <- struct{}{}:
			default:
			}
		}
	}
}

// While pods of the API and of NATS are replaced, deleted and drained under load, no
// accepted task is lost or doubled, and clients get no error except 503 with Retry-After.
func TestNothingIsLostUnderLoad(t *testing.T) {
	c := join(t)
	s := c.besiege(t)
	type step struct {
		name string
		do   func(*testing.T)
	}
	steps := []step{
		{"rolling update of the API", func(t *testing.T) { c.restart(t, api) }},
		{"deletion of the leader", func(t *testing.T) { c.delete(t, api, c.leader(t)) }},
	}
	for i := range 3 {
		steps = append(steps, step{fmt.Sprintf("deletion of API pod %d", i), func(t *testing.T) { c.delete(t, api, c.pods(t, api)[i].Name) }})
	}
	for i := range 3 {
		steps = append(steps, step{fmt.Sprintf("deletion of NATS pod %d", i), func(t *testing.T) { c.delete(t, nats, c.pods(t, nats)[i].Name) }})
	}
	steps = append(steps,
		step{"rolling update of NATS", func(t *testing.T) { c.restart(t, nats) }},
		step{"drain", c.drain},
	)
	from := s.Recorder.Now()
	var spans []check.Span
	pause(t) // so that the load has begun before the first step
	for _, step := range steps {
		begin := s.Recorder.Now()
		step.do(t)
		pause(t)
		spans = append(spans, check.Span{From: begin, To: s.Recorder.Now()})
	}
	until := s.Recorder.Now()
	s.cancel()
	s.ended.Wait()
	accepted := s.Accepted()
	if reached := float64(accepted) / (until - from).Seconds(); reached < rate/2 {
		t.Errorf("%.0f submissions a second were accepted, %d were meant", reached, rate)
	}
	s.rest(t)
	h := s.history(t)
	for i, v := range check.Check(h, check.Config{Steady: true}) {
		if i < 20 {
			t.Errorf("violation: %s", v)
		}
	}
	t.Logf("%d tasks accepted in %.0f s", accepted, (until - from).Seconds())
	t.Logf("%-26s %s", "before", figures(h, check.Span{From: from, To: spans[0].From}))
	for i, step := range steps {
		t.Logf("%-26s %s", step.name, figures(h, spans[i]))
	}
	for _, o := range h.Ops {
		if o.Code == 503 && o.Begin < until {
			t.Logf("503 at %s to %s: %s", o.Begin.Round(time.Millisecond), o.Kind, o.Err)
		}
	}
}

// all returns the tasks of all users.
func (s *siege) all(t *testing.T) map[string]history.Seen {
	t.Helper()
	tasks := map[string]history.Seen{}
	for _, phase := range []string{"pending", "running", "completed", "failed", "stopped"} {
		op := s.As("nobody").Open(t.Context(), s.Targets[0], phase)
		if !op.OK() {
			t.Fatalf("list what is %s: %d %s", phase, op.Code, op.Err)
		}
		for _, seen := range op.Seen {
			tasks[seen.ID] = seen
		}
	}
	return tasks
}

// history returns the recorded history, without the tasks that existed before.
func (s *siege) history(t *testing.T) *history.History {
	t.Helper()
	h, err := s.Recorder.Close()
	must.Succeed(t, err)
	h.Objects = slices.DeleteFunc(h.Objects, func(o history.Object) bool { return s.before[o.ID] })
	h.Left = slices.DeleteFunc(h.Left, func(l history.Left) bool { return s.before[l.ID] })
	for i := range h.Ops {
		h.Ops[i].Seen = slices.DeleteFunc(h.Ops[i].Seen, func(seen history.Seen) bool { return s.before[seen.ID] })
	}
	return h
}

// pause lets the load continue. Only the passing of time matters here.
func pause(t *testing.T) {
	t.Helper()
	must.Succeed(t, testkit.Pause(t.Context(), calm))
}

// figures describes the latencies and results of the requests that began within a span.
func figures(h *history.History, span check.Span) string {
	var took []time.Duration
	refused, submits := 0, 0
	for _, o := range h.Ops {
		if o.Begin < span.From || o.Begin >= span.To {
			continue
		}
		switch {
		case o.Code == 503:
			refused++
		case o.Kind == history.Submit && o.OK():
			submits++
			took = append(took, o.End-o.Begin)
		}
	}
	slices.Sort(took)
	at := func(share int) time.Duration {
		if len(took) == 0 {
			return 0
		}
		return took[min(len(took)*share/1000, len(took)-1)].Round(100 * time.Microsecond)
	}
	seconds := (span.To - span.From).Seconds()
	return fmt.Sprintf("%5.1f s, %3.0f accepted/s, %3d times 503, submit p50 %s p99 %s longest %s", seconds, float64(submits)/seconds, refused, at(500), at(990), at(1000))
}

// leader returns the name of the pod whose controller runs.
func (c *cluster) leader(t *testing.T) (name string) {
	t.Helper()
	eventually(t, "a leader", func() (string, bool) {
		lease, err := c.CoordinationV1().Leases(tasksNamespace()).Get(t.Context(), "k8s-cli-server", metav1.GetOptions{})
		if err != nil || lease.Spec.HolderIdentity == nil {
			return fmt.Sprint(err), false
		}
		name, _, _ = strings.Cut(*lease.Spec.HolderIdentity, "_")
		return name, slices.ContainsFunc(names(c, t), func(n string) bool { return n == name })
	})
	return name
}

func names(c *cluster, t *testing.T) (all []string) {
	for _, pod := range c.pods(t, api) {
		all = append(all, pod.Name)
	}
	return all
}

// delete deletes a pod and waits until another pod has replaced it.
func (c *cluster) delete(t *testing.T, kind, name string) {
	t.Helper()
	pod, err := c.CoreV1().Pods(namespace()).Get(t.Context(), name, metav1.GetOptions{})
	must.Succeed(t, err)
	must.Succeed(t, c.CoreV1().Pods(namespace()).Delete(t.Context(), name, metav1.DeleteOptions{}))
	c.awaitThree(t, kind, pod.UID)
}

// drain evicts every pod, as the drain of all machines in turn does. The disruption budgets
// allow one eviction of each kind at a time.
func (c *cluster) drain(t *testing.T) {
	for _, kind := range []string{api, nats} {
		pods := c.pods(t, kind)
		if err := c.evict(t.Context(), pods[0].Name); err != nil {
			t.Fatalf("evict %s: %v", pods[0].Name, err)
		}
		if err := c.evict(t.Context(), pods[1].Name); !apierrors.IsTooManyRequests(err) {
			t.Errorf("the second of %s was let go beside the first: %v", kind, err)
		}
		c.awaitThree(t, kind, pods[0].UID)
		for _, pod := range pods[1:] {
			eventually(t, pod.Name+" to be evicted", func() (string, bool) {
				err := c.evict(t.Context(), pod.Name)
				return fmt.Sprint(err), err == nil
			})
			c.awaitThree(t, kind, pod.UID)
		}
	}
}

// rest stops all submitted tasks. rest records the lists of every pod at rest and the
// content of the log.
func (s *siege) rest(t *testing.T) {
	t.Helper()
	target := s.Targets[0]
	users := map[string]bool{}
	for _, task := range s.Tasks() {
		users[task.User] = true
	}
	for user := range users {
		eventually(t, "all tasks of a user to be stopped", func() (string, bool) {
			op := s.As(user).StopAll(t.Context(), target)
			return cmp.Or(op.Err, fmt.Sprint(op.Code)), op.OK()
		})
	}
	eventually(t, "all tasks to be over", func() (string, bool) {
		pending, running := s.As("nobody").Open(t.Context(), target, "pending"), s.As("nobody").Open(t.Context(), target, "running")
		return fmt.Sprintf("%d pending, %d running", len(pending.Seen), len(running.Seen)), pending.OK() && running.OK() && len(pending.Seen)+len(running.Seen) == 0
	})
	eventually(t, "the cluster to be clean", func() (string, bool) {
		left, err := s.watch.Left(t.Context())
		jobs := 0
		for _, l := range left {
			if l.Kind == "Job" && !l.Ended {
				jobs++
			}
		}
		return fmt.Sprintf("%d Jobs, %v", jobs, err), err == nil && jobs == 0
	})
	left, err := s.watch.Left(t.Context())
	must.Succeed(t, err)
	for _, l := range left {
		s.Recorder.Left(l)
	}
	for _, pod := range s.pods(t, api) {
		at := load.Target{Name: pod.Name, URL: "http://" + net.JoinHostPort(pod.Status.PodIP, "8000")}
		eventually(t, "the last list of "+pod.Name, func() (string, bool) {
			tasks := s.As("nobody").List(t.Context(), at, load.Narrow{AllUsers: true, Last: true})
			return tasks.Err, tasks.OK() && tasks.Stale == ""
		})
	}
	s.readLog(t)
}

// readLog records the log from NATS.
func (s *siege) readLog(t *testing.T) {
	t.Helper()
	nc := s.connect(t, natsgo.UserInfo("server", s.password(t)))
	js, err := jetstream.New(nc)
	must.Succeed(t, err)
	must.Succeed(t, rig.RecordLog(t.Context(), js, s.Recorder))
}

// password returns the password of the API at NATS.
func (c *cluster) password(t *testing.T) string {
	t.Helper()
	secret, err := c.CoreV1().Secrets(namespace()).Get(t.Context(), nats, metav1.GetOptions{})
	must.Succeed(t, err)
	return string(secret.Data["password"])
}

// connect connects to a NATS server.
func (c *cluster) connect(t *testing.T, options ...natsgo.Option) *natsgo.Conn {
	t.Helper()
	address := net.JoinHostPort(c.pods(t, nats)[0].Status.PodIP, "4222")
	nc, err := natsgo.Connect("nats://"+address, options...)
	if err != nil {
		t.Fatalf("connect to NATS: %v", err)
	}
	t.Cleanup(nc.Close)
	return nc
}
