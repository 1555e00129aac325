// Package check decides from a history alone whether all promises were kept. Package check
// is pure: the same history gives the same violations.
package check

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s-cli/test/faults/history"
)

// A Rule names a kind of violation.
type Rule string

// The rules.
const (
	Lost       Rule = "lost"       // an accepted task or volume does not exist
	Doubled    Rule = "doubled"    // one submission created several tasks
	Phantom    Rule = "phantom"    // a task that no client submitted
	Key        Rule = "key"        // one idempotency key gave several ids
	Invisible  Rule = "invisible"  // a read that began after a 2xx did not see its effect
	Backward   Rule = "backward"   // a phase went backward, or a task ended twice
	Premature  Rule = "premature"  // a task was stopped before a client requested the stop
	Crossed    Rule = "crossed"    // a user saw or changed objects of another user
	Changed    Rule = "changed"    // an immutable field changed: the creation time of a task
	Answer     Rule = "answer"     // an undocumented answer
	Twice      Rule = "twice"      // a node of a task had two Jobs
	Remains    Rule = "remains"    // a task that is over has a Job that is still running
	Orphan     Rule = "orphan"     // an object without a record, or a pod without a Job
	Deleted    Rule = "deleted"    // an object was deleted although no client requested the deletion
	Unfinished Rule = "unfinished" // a task or volume was not at rest at the end
	Outcome    Rule = "outcome"    // a task failed without a reason to fail
	Early      Rule = "early"      // a Job was created before a claim that it mounts
	Diverged   Rule = "diverged"   // two servers at rest disagree
	Log        Rule = "log"        // the log itself is invalid
	Unserved   Rule = "unserved"   // while the API server was away, a read was not answered or not marked as stale
	Late       Rule = "late"       // a command was stored long after its uncertain answer, behind other commands
	Denied     Rule = "denied"     // a command was stored although the answer said that nothing was stored
	Posthumous Rule = "posthumous" // a Job was created long after the stop of its task was acknowledged
	Crowded    Rule = "crowded"    // more Jobs existed than --max-active-jobs allows
	Incomplete Rule = "incomplete" // a server was ready without a task that was accepted before the server was started
	Uncovered  Rule = "uncovered"  // the log was compacted, but no snapshot covers the removed entries
	Cutoff     Rule = "cutoff"     // the majority side of a partition did not continue in time
	Event      Rule = "event"      // an event is missing, doubled, out of order or wrong
	Unordered  Rule = "unordered"  // a task got a Job before a task completed that it comes after, or did not end with that task
	Crash      Rule = "crash"      // a server had a panic, a data race or an internal error
	History    Rule = "history"    // the history itself is incomplete, so that nothing is proven
)

// A Violation is one broken promise.
type Violation struct {
	Rule    Rule
	Subject string // id of the task or volume, optional
	Text    string
}

func (v Violation) String() string {
	const enough = 400 // characters of a text that may quote long names
	return fmt.Sprintf("%s %s: %.*s", v.Rule, v.Subject, enough, v.Text)
}

// A Config says what a scenario itself did to the system.
type Config struct {
	Steady bool   // every server was always available, so every request needs an answer
	Away   []Span // when the API server was away and all servers had noticed

	MaxJobs    int         // --max-active-jobs; 0 disables the rule
	Held       bool        // the scenario delayed creations on their way to the API server for long
	Partitions []Partition // of the network
}

// A Partition is a span in which some NATS nodes and servers could not communicate with the
// others as usual.
type Partition struct {
	Span
	Mode     string
	Minority []string // servers that were separated
	Majority []string // the other servers, which reached a quorum of NATS
	Apart    bool     // no byte passed between the sides
	Shaken   bool     // a process was killed meanwhile, so that the majority may have been lost
}

// A Span is a span of time of the history.
type Span struct{ From, To time.Duration }

// Check returns all violations. The same history gives the same violations in the same
// order.
func Check(h *history.History, c Config) []Violation {
	x := newIndex(h, c)
	for _, rule := range []func(*index){
		complete, existence, keys, visibility, order, stops, isolation, answers, service, jobs, deletions, leftovers, mounts, agreement, entries, events,
		late, posthumous, crowded, started, covered, cutoffs, dependencies,
	} {
		rule(x)
	}
	slices.SortStableFunc(x.found, func(a, b Violation) int {
		return cmp.Or(cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Subject, b.Subject))
	})
	return x.found
}

// An index is a history with indexes for the rules.
type index struct {
	*history.History
	Config
	found []Violation

	owners   map[string]string                  // of accepted tasks and volumes, by id
	named    map[string]string                  // ids of accepted tasks, by user and name
	accepted map[string]*history.Op             // the first 2xx of each submission, by id
	volumes  map[string]*history.Op             // the first 2xx of each creation of a volume, by id
	asked    map[string]*history.Op             // the first request that may have been stored, by name of the task or volume
	stopping map[string][]*history.Op           // requests that may have stopped the task, by id
	sweeping map[string][]*history.Op           // StopAll requests that may have been stored, by user
	deleting map[string][]*history.Op           // requests that may have deleted the volume, by id
	last     map[string]map[string]history.Seen // tasks in the last list of each pod
	lastVols map[string]map[string]history.Seen
	final    map[string]history.Seen // tasks in the last list of any pod
}

func newIndex(h *history.History, c Config) *index {
	x := &index{
		History: h, Config: c,
		owners: map[string]string{}, named: map[string]string{}, accepted: map[string]*history.Op{}, volumes: map[string]*history.Op{}, asked: map[string]*history.Op{},
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
	if o.Kind == history.Submit {
		x.named[o.User+"\x00"+o.Name] = o.Got
	}
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

// mayBeStopped reports whether a request may have stopped a task of a user. Only requests
// that satisfy before count.
func (x *index) mayBeStopped(id, user string, before func(*history.Op) bool) bool {
	owned := func(o *history.Op) bool { return o.User == user && before(o) }
	return slices.ContainsFunc(x.stopping[id], owned) || slices.ContainsFunc(x.sweeping[user], owned)
}

// sorted returns the keys of a map in order, so that the same history gives the same report.
func sorted[V any](m map[string]V) []string {
	return slices.Sorted(maps.Keys(m))
}
