package check

import (
	"cmp"
	"slices"
	"time"

	"k8s-cli/test/faults/history"
)

const (
	// grace is how long after a 503, or after a request without an answer, the command may
	// still be stored. grace is also how long after the stop of its task a Job may still be
	// created.
	grace = 10 * time.Second

	// slack bounds the difference between the clocks of NATS and of the API server and the
	// clock of the history.
	slack = time.Second
)

// A request is an operation that may have put one command into the log.
type request struct {
	*history.Op
	until time.Duration // the latest time at which the command may be stored
	taken bool          // a command of the log is attributed to it
}

// late compares the commands of the log with the operations that requested them. A command
// is stored before its operation is answered with success. After a 503 with an unknown
// result, or without an answer, the command is stored within grace, unless no other command
// was stored in between. After an answer that says that nothing was stored, the command is
// never stored.
func late(x *index) {
	requests, denied := x.requests()
	numbers := map[string]uint64{} // the number of the last entry, by writer
	var others recent
	for _, e := range x.Entries {
		if e.Writer != "" && e.Number <= numbers[e.Writer] {
			continue // a repeated entry, which has no effect
		}
		numbers[e.Writer] = e.Number
		for _, c := range e.Commands {
			key := keyOf(c.Kind, c.ID, c.Name, c.User)
			x.attribute(e, c, requests[key], denied[key], others.than(key))
			others.add(key, e.At)
		}
	}
}

// keyOf returns the key that a command and the operation that requested it have in common.
func keyOf(kind history.Kind, id, name, user string) string {
	switch kind {
	case history.Submit, history.Create:
		return string(kind) + " " + name
	case history.StopAll:
		return string(kind) + " " + user
	}
	return string(kind) + " " + id
}

// requests returns, by key, the operations that may have stored a command, sorted by the
// latest time at which they may have, and the operations whose answer says that they stored
// nothing.
func (x *index) requests() (requests map[string][]*request, denied map[string][]*history.Op) {
	requests, denied = map[string][]*request{}, map[string][]*history.Op{}
	for i := range x.Ops {
		o := &x.Ops[i]
		switch o.Kind {
		case history.Submit, history.Create, history.Stop, history.StopAll, history.Delete:
		default:
			continue
		}
		key := keyOf(o.Kind, o.ID, o.Name, o.User)
		r := &request{Op: o, until: o.End}
		switch {
		case o.Nothing():
			denied[key] = append(denied[key], o)
			continue
		case o.Doubtful():
			r.until += grace
		}
		requests[key] = append(requests[key], r)
	}
	for _, all := range requests {
		slices.SortStableFunc(all, func(a, b *request) int { return cmp.Compare(a.until, b.until) })
	}
	return requests, denied
}

// attribute finds the operation of a stored command. other is the time when the last command
// with another key was stored.
func (x *index) attribute(e history.Entry, c history.Command, requests []*request, denied []*history.Op, other time.Duration) {
	begun := func(o *history.Op) bool { return o.Begin <= e.At+slack }
	var overdue *request
	for _, r := range requests {
		if r.taken || !begun(r.Op) {
			continue
		}
		if e.At <= r.until+slack {
			r.taken = true
			return
		}
		if overdue == nil || r.Doubtful() || !overdue.Doubtful() { // a successful operation may have needed no command
			overdue = r
		}
	}
	subject := cmp.Or(c.ID, c.Name, c.User)
	switch i := slices.IndexFunc(denied, begun); {
	case overdue != nil && overdue.Doubtful() && other <= overdue.End:
		overdue.taken = true // no other command came between, so the delay is allowed
	case overdue != nil:
		overdue.taken = true
		x.report(Late, subject, "%s %s of %q on %s was answered %d %q at %s, and stored at %s as of entry %d, behind others",
			c.Kind, c.Name, c.User, overdue.Pod, overdue.Code, overdue.Err, at(overdue.End), at(e.At), e.Seq)
	case i >= 0:
		o := denied[i]
		x.report(Denied, subject, "%s %s of %q on %s was answered %d %q at %s, and is stored in entry %d at %s",
			c.Kind, c.Name, c.User, o.Pod, o.Code, o.Err, at(o.End), e.Seq, at(e.At))
	default:
		x.report(Phantom, subject, "%s %s of %q is in entry %d at %s, and no operation asked for it, or not so often", c.Kind, c.Name, c.User, e.Seq, at(e.At))
	}
}

// recent holds the times at which the last two commands with different keys were stored.
type recent struct {
	key          string
	last, before time.Duration
}

func (r *recent) add(key string, at time.Duration) {
	if r.key != key {
		r.before = r.last
	}
	r.key, r.last = key, at
}

// than returns the time at which the last command with another key was stored, or 0.
func (r *recent) than(key string) time.Duration {
	if r.key == key {
		return r.before
	}
	return r.last
}
