// Package check decides from a history alone whether the promises were kept. It
// is pure: the same history gives the same violations.
package check

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"k8s-cli/test/faults/history"
)

// A Rule names what was broken.
type Rule string

// The rules.
const (
	Lost       Rule = "lost"       // an accepted task or volume does not exist
	Doubled    Rule = "doubled"    // one submission gave several tasks
	Phantom    Rule = "phantom"    // a task that nobody asked for
	Key        Rule = "key"        // one Idempotency-Key gave several ids
	Invisible  Rule = "invisible"  // a read that began after a 2xx did not see its effect
	Backward   Rule = "backward"   // a phase went back, or a task ended twice
	Premature  Rule = "premature"  // a task was stopped before anybody asked for it
	Crossed    Rule = "crossed"    // a user saw or changed what is another's
	Changed    Rule = "changed"    // what never changes did: when a task was created
	Answer     Rule = "answer"     // an answer that is not documented
	Twice      Rule = "twice"      // a node of a task had two Jobs
	Remains    Rule = "remains"    // a task that is over has a Job that is not
	Orphan     Rule = "orphan"     // an object without a record, or a pod without a Job
	Deleted    Rule = "deleted"    // an object was deleted that nobody asked to delete
	Foreign    Rule = "foreign"    // an object of somebody else's was deleted
	Unfinished Rule = "unfinished" // a task or volume that had not come to rest at the end
	Outcome    Rule = "outcome"    // a task failed that had no reason to
	Early      Rule = "early"      // a Job was created before the claim that it mounts
	Diverged   Rule = "diverged"   // two servers at rest say different things
	Log        Rule = "log"        // the log itself is not as it should be
	Unserved   Rule = "unserved"   // a read was not answered, or not marked as old, while the API server was away
	Late       Rule = "late"       // a command came true long after it was answered that it may, behind others
	Denied     Rule = "denied"     // a command was stored of which the answer said that nothing was
	Posthumous Rule = "posthumous" // a Job was created long after the stop of its task was acknowledged
	Crowded    Rule = "crowded"    // more Jobs were active than --max-active-jobs allows
	Incomplete Rule = "incomplete" // a server was ready without all that was accepted before it was started
	Uncovered  Rule = "uncovered"  // the log was cut, and no snapshot reaches to what is left of it
	Replicas   Rule = "replicas"   // a stream has another number of copies than it was made with
	Cutoff     Rule = "cutoff"     // the majority side of a partition did not go on in time
	Event      Rule = "event"      // an event is missing, told twice, out of order or wrong
	Crash      Rule = "crash"      // a server had a panic, a data race or a fault of its own
	History    Rule = "history"    // the history itself is not complete, so that nothing is proven
)

// A Violation is one broken promise.
type Violation struct {
	Rule    Rule
	Subject string // id of the task or volume, if there is one
	Text    string
}

func (v Violation) String() string {
	const enough = 400 // of a text that may quote long names
	return fmt.Sprintf("%s %s: %.*s", v.Rule, v.Subject, enough, v.Text)
}

// A Config says what a scenario did itself.
type Config struct {
	LostLog bool            // it took the log away: only what the cluster has is known afterwards
	Meddled map[string]bool // ids of tasks whose Jobs it deleted
	Foreign map[string]bool // UIDs of objects that it made in nobody's name
	Steady  bool            // no server was ever away, so none may fail to answer
	Away    []Span          // when the API server was away and all servers knew it

	MaxJobs    int         // --max-active-jobs; 0 means that it is not checked
	Replicas   int         // of every stream; 0 means that it is not checked
	Held       bool        // it held creations back for long, on their way to the API server
	Partitions []Partition // of the network
}

// A Partition is a time in which some nodes of NATS and some servers could not
// talk to the others as usual.
type Partition struct {
	Span
	Mode     string
	Minority []string // servers that were divided off
	Majority []string // the others, which reached a quorum of NATS
	Apart    bool     // nothing passed between the two
	Shaken   bool     // something was killed meanwhile, so that there may have been no majority
}

// A Span is a time of the history.
type Span struct{ From, To time.Duration }

// Check returns all violations, the same ones in the same order for the same
// history.
func Check(h *history.History, c Config) []Violation {
	x := newIndex(h, c)
	for _, rule := range []func(*index){
		complete, existence, keys, visibility, order, stops, isolation, answers, service, jobs, deletions, leftovers, mounts, agreement, entries, events,
		late, posthumous, crowded, started, covered, replicas, cutoffs,
	} {
		rule(x)
	}
	slices.SortStableFunc(x.found, func(a, b Violation) int {
		return cmp.Or(cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Subject, b.Subject))
	})
	return x.found
}

// An index is a history, sorted for the rules.
type index struct {
	*history.History
	Config
	found []Violation

	owners   map[string]string                  // of tasks and volumes that were accepted, by id
	accepted map[string]*history.Op             // the first 2xx of each submission, by id
	volumes  map[string]*history.Op             // the same for creations
	asked    map[string]*history.Op             // the first request that may have been stored, by name of task or volume
	stopping map[string][]*history.Op           // requests that may have stopped it, by id of a task
	sweeping map[string][]*history.Op           // the same for StopAll, by user
	deleting map[string][]*history.Op           // requests that may have deleted it, by id of a volume
	last     map[string]map[string]history.Seen // tasks as each pod listed them at the end
	lastVols map[string]map[string]history.Seen
	final    map[string]history.Seen // tasks as any pod listed them at the end
}

func newIndex(h *history.History, c Config) *index {
	x := &index{
		History: h, Config: c,
		owners: map[string]string{}, accepted: map[string]*history.Op{}, volumes: map[string]*history.Op{}, asked: map[string]*history.Op{},
		stopping: map[string][]*history.Op{}, sweeping: map[string][]*history.Op{}, deleting: map[string][]*history.Op{},
		last: map[string]map[string]history.Seen{}, lastVols: map[string]map[string]history.Seen{}, final: map[string]history.Seen{},
	}
	for i := range h.Ops {
		x.add(&h.Ops[i])
	}
	return x
}

func (x *index) add(o *history.Op) {
	mayHold := o.OK() || o.Doubtful()
	switch o.Kind {
	case history.Submit, history.Create:
		x.addFirst(o, mayHold)
	case history.Stop:
		if mayHold {
			x.stopping[o.ID] = append(x.stopping[o.ID], o)
		}
	case history.StopAll:
		if mayHold {
			x.sweeping[o.User] = append(x.sweeping[o.User], o)
		}
	case history.Delete:
		if mayHold {
			x.deleting[o.ID] = append(x.deleting[o.ID], o)
		}
	case history.List:
		if o.Last && o.OK() {
			x.last[o.Pod] = byID(o.Seen)
			for _, s := range o.Seen {
				x.final[s.ID] = s
			}
		}
	case history.Volumes:
		if o.Last && o.OK() {
			x.lastVols[o.Pod] = byID(o.Seen)
		}
	}
}

func (x *index) addFirst(o *history.Op, mayHold bool) {
	name := string(o.Kind) + " " + o.Name
	if mayHold && (x.asked[name] == nil || o.Begin < x.asked[name].Begin) {
		x.asked[name] = o
	}
	if !o.OK() {
		return
	}
	of := x.accepted
	if o.Kind == history.Create {
		of = x.volumes
	}
	x.owners[o.Got] = o.User
	if of[o.Got] == nil || o.End < of[o.Got].End {
		of[o.Got] = o
	}
}

func byID(all []history.Seen) map[string]history.Seen {
	m := make(map[string]history.Seen, len(all))
	for _, s := range all {
		m[s.ID] = s
	}
	return m
}

func (x *index) report(rule Rule, subject, format string, args ...any) {
	x.found = append(x.found, Violation{rule, subject, fmt.Sprintf(format, args...)})
}

func over(phase string) bool { return phase == "completed" || phase == "failed" || phase == "stopped" }

// mayBeStopped reports whether somebody may have asked to stop a task of a user
// before a moment.
func (x *index) mayBeStopped(id, user string, before func(*history.Op) bool) bool {
	owned := func(o *history.Op) bool { return o.User == user && before(o) }
	return slices.ContainsFunc(x.stopping[id], owned) || slices.ContainsFunc(x.sweeping[user], owned)
}

// sorted returns the keys of a map in order, so that the same history gives the
// same text.
func sorted[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
