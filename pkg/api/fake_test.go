package api

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"k8s-cli/pkg/cache"
	"k8s-cli/pkg/seal"
	"k8s-cli/pkg/status"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/logpos"
)

// The dependencies of a server, implemented by one fake.
type (
	fakeLog    struct{ *fake }
	fakeEvents struct{ *fake }
	fakeTailer struct{ *fake }
	fakeHealth struct{ *fake }
)

// newServer returns a server whose dependencies are the fake, and a viewer of the store of the fake.
func (f *fake) newServer(c Config) *Server {
	return New(fakeLog{f}, f.readers(fakeLog{f}), fakeHealth{f}, c)
}

func (f *fake) readers(log status.Log) Readers {
	if f.store == nil {
		f.fold(nil, submitted("ann", "a"), submitted("ann", "anns"), submitted("ann", "y"), submitted("bob", "x"), created("ann", "a"), created("ann", "anns"))
	}
	return Readers{Viewer: status.NewViewer(log, f.store, "default"), Events: fakeEvents{f}, Logs: fakeTailer{f}}
}

func submitted(user, id string) task.Command {
	return task.Command{Submit: &task.Submit{ID: id, User: user, Task: task.Spec{Name: id, Run: "true"}}}
}

func created(user, id string) task.Command {
	return task.Command{Create: &task.Create{ID: id, User: user, Volume: task.Volume{Name: id, Size: "1Gi"}}}
}

// fold folds commands into the store, an entry for each.
func (f *fake) fold(t *testing.T, commands ...task.Command) {
	if f.store == nil {
		f.store = cache.New()
		f.foldEntry(t)
	}
	for _, c := range commands {
		raw, err := c.Encode()
		if err != nil {
			t.Fatal(err) // t is nil for the objects that each server has
		}
		f.foldEntry(t, raw)
	}
}

func (f *fake) foldEntry(t *testing.T, commands ...json.RawMessage) {
	e := task.Entry{Version: task.EntryVersion, Log: "log", Seq: f.entries + 1, Time: time.Now(), Commands: commands}
	if f.entries > 0 {
		e.Writer, e.Number = "writer", f.entries
	}
	f.entries++
	results, err := f.store.Fold(e)
	for _, r := range results {
		err = errors.Join(err, errorOfResult(r))
	}
	if err != nil {
		t.Fatalf("fold %s: %v", commands, err)
	}
}

// WaitReadIndex counts the read barriers of the server.
func (f fakeLog) WaitReadIndex(context.Context) (time.Duration, bool) {
	f.reads.Add(1)
	return f.lostFor, f.lostFor == 0
}

func (f fakeLog) Submission(context.Context, uint64, string) (task.Spec, error) {
	return task.Spec{Run: "true"}, nil
}

func (f fakeLog) AppendBatch(ctx context.Context, commands []task.Command) (results []task.Result, errs []error) {
	for _, c := range commands {
		v, err := f.Append(ctx, c)
		results, errs = append(results, v), append(errs, err)
	}
	return results, errs
}

func (f fakeLog) AppendTogether(ctx context.Context, commands []task.Command) ([]task.Result, error) {
	results, errs := f.AppendBatch(ctx, commands)
	return results, errors.Join(errs...)
}

func (f fakeLog) Append(_ context.Context, c task.Command) (task.Result, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.commands = append(f.commands, c)
	if f.verdict != nil {
		return f.verdict(c)
	}
	switch {
	case c.Submit != nil:
		return task.Result{ID: c.Submit.ID}, nil
	case c.Create != nil:
		return task.Result{ID: c.Create.ID}, nil
	}
	return task.Result{}, nil
}

func (f fakeLog) CheckCapacity() error { return f.capacityErr }

func (f fakeEvents) List(_ context.Context, _ status.Read, q task.EventQuery, limit int) (task.Answer, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.wanted, f.limit = q, limit
	return f.eventList, nil
}

func (f fakeEvents) Subscribe(_ status.Read, q task.EventQuery) (task.Subscription, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.wanted = q
	return f.listen(q)
}

func (f fakeEvents) Last(context.Context, status.Read, task.EventQuery) (task.Event, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.events) == 0 {
		return task.Event{}, nil
	}
	return f.events[len(f.events)-1], nil
}

func (f fakeTailer) Check(string, task.LogOptions) error { return f.check }

func (f fakeTailer) Tail(ctx context.Context, _ string, o task.LogOptions, w *bufio.Writer) error {
	f.mu.Lock()
	f.options = o
	f.mu.Unlock()
	if f.tail == nil {
		return nil
	}
	return f.tail(ctx, o, w)
}

func (f fakeTailer) Lines(_ context.Context, _ string, o task.LogOptions, lines logpos.Range) (logpos.Part, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.options, f.lines = o, lines
	return logpos.Part{First: 7, Last: 8, Total: logpos.Unknown, Text: []byte("seven\neight\n")}, f.linesErr
}

func (f fakeHealth) Ready() bool { return f.health.Ready }

func (f fakeHealth) Health() Health { return f.health }

// A nodesFunc implements submission.Machines.
type nodesFunc func(task.Resources) (can, known bool)

func (f nodesFunc) CanHold(r task.Resources) (can, known bool) { return f(r) }

// HasSpot asks for a task with nothing but use_spot.
func (f nodesFunc) HasSpot() (has, known bool) { return f(task.Resources{UseSpot: true}) }

// sealer is the sealer of all servers with a key.
var sealer = func() *seal.Sealer {
	s, err := seal.New([]byte(strings.Repeat("k", seal.MinKeyBytes)))
	if err != nil {
		panic(err)
	}
	return s
}()

// noObjects is a preview without objects.
func noObjects(task.Submit) ([]json.RawMessage, []string, error) { return nil, nil, nil }
