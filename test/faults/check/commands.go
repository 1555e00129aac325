package check

import (
	"cmp"
	"slices"
	"time"

	"k8s-cli/test/faults/history"
)

const (
	// grace is how long after its answer a command may be stored that was answered
	// 503, or not at all; and how long after the stop of its task a Job may be created.
	grace = 10 * time.Second

	// slack is by how much the clocks of NATS and the API server may differ from that
	// of the history.
	slack = time.Second
)

// A request is an operation that may have put one command into the log.
type request struct {
	*history.Op
	until time.Duration // by when it has, if at all
	taken bool          // a command of the log is attributed to it
}

// late compares the commands of the log with the operations that asked for them. A
// command is stored before its operation is answered; after a 503 that leaves it
// open, or no answer, soon, unless no other command came between; after an answer
// that nothing was stored, never.
func late(x *index) {
	if x.LostLog {
		return // what was accepted before may be lost, and asked for again
	}
	requests, denied := x.requests()
	numbers := map[string]uint64{} // of the last entry, by writer
	var others recent
	for _, e := range x.Entries {
		if e.Writer != "" && e.Number <= numbers[e.Writer] {
			continue // a repeated entry, which is folded once
		}
		numbers[e.Writer] = e.Number
		for _, c := range e.Commands {
			key := keyOf(c.Kind, c.ID, c.Name, c.User)
			x.attribute(e, c, requests[key], denied[key], others.than(key))
			others.add(key, e.At)
		}
	}
}

// keyOf returns what a command and the operation that asked for it have in common.
func keyOf(kind history.Kind, id, name, user string) string {
	switch kind {
	case history.Submit, history.Create:
		return string(kind) + " " + name
	case history.StopAll:
		return string(kind) + " " + user
	}
	return string(kind) + " " + id
}

// requests returns the operations that may have stored a command, those that have
// to have stored it first, and those that said that they stored nothing.
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

// attribute finds the operation that a stored command is of. The last command of
// others was stored before it at other.
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
		if overdue == nil || r.Doubtful() || !overdue.Doubtful() { // an answer may have needed no command
			overdue = r
		}
	}
	subject := cmp.Or(c.ID, c.Name, c.User)
	switch i := slices.IndexFunc(denied, begun); {
	case overdue != nil && overdue.Doubtful() && other <= overdue.End:
		overdue.taken = true // as if it had been stored at once
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

// recent knows when the last two commands with different keys were stored.
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

// than returns when the last command with another key was stored, 0 if none was.
func (r *recent) than(key string) time.Duration {
	if r.key == key {
		return r.before
	}
	return r.last
}
