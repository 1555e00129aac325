package notify

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"sync"
	"time"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
)

// Bounds of the receivers that have undelivered notifications. At the bound, the events of the
// user wait in the stream.
const (
	maxReceiversOfUser = 32
	maxReceivers       = 2048 // a checkpoint of 1 MB has place for these, also with the longest names of users
)

// A run sends the notifications of one term of a leader. It stores positions and no events: a
// receiver that is behind reads its events from the stream.
type run struct {
	*Notifier

	ctx     context.Context //nolint:containedctx // as long as the run
	stream  string
	workers sync.WaitGroup

	mu        sync.Mutex
	position  uint64           // of the last event that pass has seen
	users     map[string]*user // users with undelivered notifications
	receivers int              // of all users
	freed     chan struct{}    // closed when a receiver has no more undelivered notifications
	changed   bool             // since the last checkpoint
}

// A user has receivers, by receiverKey. If the user has too many, stalled is the span of events
// that no receiver knows of yet.
type user struct {
	receivers map[string]*receiver
	stalled   *span
}

// A receiver is one URL of one user that has undelivered notifications.
type receiver struct {
	span

	key     string
	waiting time.Time // of the event that the receiver failed to accept; may be zero
}

// receiverKey identifies a URL of a user without containing it: URLs may contain secrets.
func receiverKey(user, url string) string {
	sum := sha256.Sum256([]byte(user + "\x00" + url))
	return hex.EncodeToString(sum[:16])
}

func newRun(ctx context.Context, n *Notifier, stream string, p position) *run {
	return &run{Notifier: n, ctx: ctx, stream: stream, position: p.Events, users: map[string]*user{}, freed: make(chan struct{})}
}

// resume continues the receivers of a checkpoint.
func (r *run) resume(p position) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, to := range p.Receivers {
		r.addReceiver(r.user(to.User), &receiver{span: to.span, key: to.Receiver})
	}
	for _, s := range p.Stalled {
		r.stall(r.user(s.User), s)
	}
}

// callbackOf returns the user and the URL of a task; the URL is empty if the task has none, or
// if the server may no longer use it.
func (r *run) callbackOf(id string) (user, url string) {
	record := r.recordOf(id)
	if record == nil || record.Submit.Task.EventCallback == "" || r.config.Hosts.Check(record.Submit.Task.EventCallback) != nil {
		return "", ""
	}
	return record.Submit.User, record.Submit.Task.EventCallback
}

// recordOf returns the record of a task that has an event. The result is nil if the task has left
// the history, or if the run has ended. The previous leader may have published an event of a task
// that this pod does not know yet.
func (r *run) recordOf(id string) *task.Record {
	if v := r.taskView(id); v.Record != nil {
		return v.Record
	}
	for !r.config.CaughtUp(r.ctx) {
		if !pause(r.ctx, retryPause) {
			return nil
		}
	}
	return r.taskView(id).Record
}

// pass passes the event at a position to its receiver. The events come in order.
func (r *run) pass(position uint64, id string) {
	name, url := r.callbackOf(id)
	if r.ctx.Err() != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.position, r.changed = position, true
	if url == "" {
		return
	}
	u := r.user(name)
	switch {
	case u.stalled != nil:
		u.stalled.Through = position
	case !r.assign(u, name, url, position):
		r.stall(u, span{name, position - 1, position})
	}
}

// user returns the user of a name. The caller holds the lock.
func (r *run) user(name string) *user {
	u := r.users[name]
	if u == nil {
		u = &user{receivers: map[string]*receiver{}}
		r.users[name] = u
	}
	return u
}

// assign extends the span of a receiver to the event at a position, and starts the receiver if
// it has no other undelivered event. ok is false if there are too many receivers. The caller
// holds the lock.
func (r *run) assign(u *user, name, url string, position uint64) (ok bool) {
	key := receiverKey(name, url)
	if to := u.receivers[key]; to != nil {
		to.Through = position
		return true
	}
	if len(u.receivers) >= r.receiversOfUser() {
		return false
	}
	r.addReceiver(u, &receiver{span: span{name, position - 1, position}, key: key})
	return true
}

// receiversOfUser returns how many receivers with undelivered notifications a user may have now. The
// fewer are left, the fewer one user may have, so that a few users with URLs that never answer leave
// receivers for all others. The caller holds the lock.
func (r *run) receiversOfUser() int {
	switch {
	case r.receivers < maxReceivers/2:
		return maxReceiversOfUser
	case r.receivers < maxReceivers*3/4:
		return maxReceiversOfUser / 8
	case r.receivers < maxReceivers:
		return 1
	}
	return 0
}

// addReceiver starts a receiver. The caller holds the lock.
func (r *run) addReceiver(u *user, to *receiver) {
	u.receivers[to.key] = to
	r.receivers++
	r.workers.Go(func() { r.serve(to) })
}

// serve delivers the events of a receiver until none is left.
func (r *run) serve(to *receiver) {
	for late := false; ; {
		s, more := r.remaining(to)
		if !more {
			return
		}
		stored, ok := r.next(s, late)
		switch {
		case r.ctx.Err() != nil:
			return
		case !ok:
			r.advance(to, s.Through)
			continue
		}
		if name, url := r.callbackOf(stored.Event.TaskID); url != "" && receiverKey(name, url) == to.key && isSent(stored.Event) {
			attempts, done := r.deliver(to, url, stored)
			if !done {
				return
			}
			late = attempts > 1
		} else if r.ctx.Err() != nil {
			return
		}
		r.advance(to, stored.Position)
	}
}

// isSent reports whether receivers get an event.
func isSent(e task.Event) bool { return e.Type == task.EventPhase || e.Type == task.EventRestart }

// next returns the first event of a span. ok is false if the span has none, because its events
// have expired, or if ctx has ended. late says that events of the span may have expired.
func (r *run) next(s span, late bool) (stored task.StoredEvent, ok bool) {
	for first := true; first || pause(r.ctx, retryPause); first = false {
		stored, err := r.events.NextOfTasks(r.ctx, s.User, s.After+1)
		found := err == nil && stored.Position <= s.Through
		if found && !late {
			return stored, true
		}
		if err != nil && !errors.Is(err, problem.NotFound) {
			continue
		}
		bounds, err := r.events.Bounds(r.ctx)
		if err != nil {
			continue
		}
		if bounds.First > s.After+1 && (found || bounds.First > s.Through) {
			r.config.Logger.Warn("events expired before their notifications were sent", "user", s.User, "after", s.After, "oldest", bounds.First)
			r.counters.expired.Add(1)
			return stored, found
		}
		if found {
			return stored, true
		}
		// A deposed leader of the stream may lack events that are stored.
	}
	return stored, false
}

// remaining returns the span of a receiver. If the span is empty, the receiver ends.
func (r *run) remaining(to *receiver) (s span, more bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if to.After < to.Through {
		return to.span, true
	}
	u := r.users[to.User]
	delete(u.receivers, to.key)
	r.receivers--
	r.removeIdle(to.User, u)
	close(r.freed)
	r.freed = make(chan struct{})
	return to.span, false
}

// removeIdle removes a user without undelivered notifications. The caller holds the lock.
func (r *run) removeIdle(name string, u *user) {
	if len(u.receivers) == 0 && u.stalled == nil {
		delete(r.users, name)
	}
}

// advance records that all events of a receiver up to a position are delivered or expired.
func (r *run) advance(to *receiver, position uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	to.After, to.waiting, r.changed = position, time.Time{}, true
}

// setWaiting records the event that a receiver failed to accept.
func (r *run) setWaiting(to *receiver, since time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	to.waiting = since
}

// stall begins to read the events of a user from the stream, because the user has too many
// receivers. The caller holds the lock.
func (r *run) stall(u *user, s span) {
	u.stalled = &s
	r.workers.Go(func() { r.catchUp(s.User, u) })
}

// catchUp passes the events of a stalled user to their receivers as other receivers end.
func (r *run) catchUp(name string, u *user) {
	for {
		r.mu.Lock()
		s := *u.stalled
		if s.After >= s.Through {
			u.stalled = nil
			r.removeIdle(name, u)
			r.mu.Unlock()
			return
		}
		r.mu.Unlock()
		stored, ok := r.next(s, true)
		position := s.Through
		if ok {
			position = stored.Position
		}
		if r.ctx.Err() != nil || ok && !r.awaitAssigned(u, stored) {
			return
		}
		r.mu.Lock()
		u.stalled.After, r.changed = position, true
		r.mu.Unlock()
	}
}

// awaitAssigned waits until the event has a receiver. It returns false if the run ends.
func (r *run) awaitAssigned(u *user, stored task.StoredEvent) bool {
	name, url := r.callbackOf(stored.Event.TaskID)
	for url != "" {
		r.mu.Lock()
		ok, freed := r.assign(u, name, url, stored.Position), r.freed
		r.mu.Unlock()
		if ok {
			break
		}
		select {
		case <-freed:
		case <-r.ctx.Done():
			return false
		}
	}
	return url != "" || r.ctx.Err() == nil
}

// count returns the number of receivers, and how many of them failed to accept an event.
func (r *run) count() (receivers, failing int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, u := range r.users {
		for _, to := range u.receivers {
			if !to.waiting.IsZero() {
				failing++
			}
		}
	}
	return r.receivers, failing
}
