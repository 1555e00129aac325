package api

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/logpos"
	"k8s-cli/pkg/task/query"
	"k8s-cli/pkg/task/usage"
)

// The dependencies of a server, implemented by one fake.
type (
	fakeLog          struct{ *fake }
	fakeTasks        struct{ *fake }
	fakeVolumes      struct{ *fake }
	fakeGroups       struct{ *fake }
	fakeUploadReader struct{ *fake }
	fakeOwners       struct{ *fake }
	fakeEvents       struct{ *fake }
	fakeTailer       struct{ *fake }
	fakeHealth       struct{ *fake }
)

func (f *fake) readers() Readers {
	return Readers{
		Tasks: fakeTasks{f}, Counts: fakeTasks{f}, Volumes: fakeVolumes{f}, Groups: fakeGroups{f}, Usage: fakeGroups{f}, Uploads: fakeUploadReader{f}, Owners: fakeOwners{f},
		Events: fakeEvents{f}, Logs: fakeTailer{f},
	}
}

// newServer returns a server whose dependencies are the fake.
func (f *fake) newServer(c Config) *Server { return New(fakeLog{f}, f.readers(), fakeHealth{f}, c) }

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

func (f fakeTasks) Task(_ context.Context, user, id string) (task.Answer, error) {
	return f.ask("task " + user + " " + id)
}

func (f fakeTasks) Owns(_ context.Context, user, id string) (string, error) {
	a, err := f.ask("task " + user + " " + id)
	return a.Stale, err
}

func (f fakeTasks) Spec(_ context.Context, user, id string) (task.Answer, error) {
	return f.ask("spec " + user + " " + id)
}

func (f fakeTasks) Tasks(_ context.Context, l query.List, _ func(string) bool) query.Answer {
	a, _ := f.ask("tasks " + l.Caller)
	f.list = l
	return query.Answer{Answer: a, Total: f.total, NextPage: l.NextPage(a.Next)}
}

func (f fakeTasks) Summary(_ context.Context, user string, all bool, _ func(string) bool) task.Answer {
	a, _ := f.ask(fmt.Sprintf("summary %s %t", user, all))
	return a
}

func (f fakeTasks) Capacity(context.Context, func(string) bool) task.Answer {
	a, _ := f.ask("capacity")
	return a
}

func (f fakeVolumes) Volume(_ context.Context, user, id string) (task.Answer, error) {
	return f.ask("volume " + user + " " + id)
}

func (f fakeVolumes) Volumes(_ context.Context, q task.Query) task.Answer {
	user := q.User
	if q.AllUsers {
		user += " and all"
	}
	a, _ := f.ask("volumes " + user)
	f.query = q
	return a
}

func (f fakeVolumes) PendingMounts(_ context.Context, volume string) []string {
	return f.awaiting[volume]
}

func (f fakeGroups) Group(_ context.Context, user, name string) (task.Answer, error) {
	return f.ask("group " + user + " " + name)
}

func (f fakeGroups) Groups(_ context.Context, q task.Query) task.Answer {
	a, _ := f.ask(fmt.Sprintf("groups %s %t", q.User, q.AllUsers))
	f.query = q
	return a
}

func (f fakeGroups) Usage(_ context.Context, q usage.Query) task.Answer {
	a, _ := f.ask(fmt.Sprintf("usage %s %t %q %s %v", q.User, q.AllUsers, q.Group, q.Since, q.By))
	return a
}

func (f fakeOwners) Owner(_ context.Context, k task.Key) (string, bool) {
	return "ann", k.ID == "anns"
}

func (f fakeEvents) List(_ context.Context, q task.EventQuery, limit int) (task.Answer, error) {
	f.wanted, f.limit = q, limit
	return f.ask("events " + q.User)
}

func (f fakeEvents) Subscribe(_ context.Context, q task.EventQuery) (task.Subscription, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.wanted = q
	return f.listen(q)
}

func (f fakeEvents) Last(context.Context, task.EventQuery) (task.Event, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.events) == 0 {
		return task.Event{}, nil
	}
	return f.events[len(f.events)-1], nil
}

func (f fakeUploadReader) Upload(_ context.Context, user, sum string) (task.UploadRecord, error) {
	_, err := f.ask("upload " + user + " " + sum)
	return task.UploadRecord{}, err
}

func (f fakeUploadReader) TaskUpload(_ context.Context, id, sum string) (task.UploadRecord, error) {
	_, err := f.ask("file " + id + " " + sum)
	return task.UploadRecord{}, err
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

// Functions that implement interfaces of a Config.
type (
	nodesFunc   func(task.Resources) (can, known bool)
	sealFunc    func(task.Submit) (task.Submit, error)
	previewFunc func(task.Submit) ([]json.RawMessage, []string, error)
	tokenFunc   func(id, token string) bool
)

func (f nodesFunc) CanHold(r task.Resources) (can, known bool) { return f(r) }

// HasSpot asks for a task with nothing but use_spot.
func (f nodesFunc) HasSpot() (has, known bool) { return f(task.Resources{UseSpot: true}) }

func (f sealFunc) Seal(s task.Submit) (task.Submit, error) { return f(s) }

func (f previewFunc) Preview(s task.Submit) ([]json.RawMessage, []string, error) { return f(s) }

func (f tokenFunc) VerifyToken(id, token string) bool { return f(id, token) }
