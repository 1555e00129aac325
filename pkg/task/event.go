package task

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// An Event is one change of a task or volume. Events that follow from the log have an id
// and are the same on every pod. Changes that only the cluster shows become progress events
// without an id, which only present listeners receive.
type Event struct {
	ID       EventID     `json:"id,omitzero"` // position in the order of all events; none if the event does not follow from the log
	Time     time.Time   `json:"time"`        // log time, or the time of the pod that observed the change
	Type     EventType   `json:"type"`
	Kind     Kind        `json:"kind"`
	TaskID   string      `json:"task_id,omitempty"`
	VolumeID string      `json:"volume_id,omitempty"`
	Name     string      `json:"name"`              // name as shown
	User     string      `json:"user"`              // exact user name
	Group    string      `json:"group,omitempty"`   // of the task
	Status   string      `json:"status"`            // phase since this event
	Reason   string      `json:"reason,omitempty"`  // why, in one word
	Message  string      `json:"message,omitempty"` // why, in a sentence
	Attempt  *Attempt    `json:"attempt,omitempty"` // of EventRestart: the attempt that ended
	Nodes    []EventNode `json:"nodes,omitempty"`   // nodes of a task that is over, by rank; at most 1000

	Annotations map[string]string `json:"annotations,omitempty"` // of the task

	// Only the first event of a task has these fields.
	NumNodes  int        `json:"num_nodes,omitempty"`
	Resources *Requested `json:"resources,omitempty"`
	After     []string   `json:"after,omitempty"` // ids of the tasks that the task comes after
}

// Requested describes what each node of a task requests, of several alternatives what the
// server chose.
type Requested struct {
	CPUs   string `json:"cpus,omitempty"`
	Memory string `json:"memory,omitempty"`
	GPUs   string `json:"gpus,omitempty"` // COUNT, or MODEL:COUNT
}

// An EventType distinguishes changes of the phase from other changes.
type EventType string

// The types of events.
const (
	EventPhase    EventType = "phase"    // the phase changed
	EventProgress EventType = "progress" // the reason changed and the phase did not
	EventRestart  EventType = "restart"  // a node ended and starts again
)

// An EventNode describes how one node of a task ended.
type EventNode struct {
	Rank     int    `json:"rank"`
	Phase    Phase  `json:"status"`
	ExitCode *int   `json:"exit_code,omitempty"`
	Reason   string `json:"reason,omitempty"`
}

// VolumeDeleted is the status of the last event of a volume. The server no longer shows the
// volume by then.
const VolumeDeleted = "Deleted"

// ReasonApplied is the reason of a task or volume all of whose objects exist, and which
// waits only for the cluster.
const ReasonApplied = "Applied"

// Limits of the texts in an event, so that the event fits into a NATS message.
const (
	maxEventReason  = 128     // bytes
	maxEventMessage = 4 << 10 // bytes
	maxEventName    = 1 << 10 // bytes
	maxEventNodes   = 1000
)

// Key returns the key of the object of e.
func (e Event) Key() Key { return Key{e.Kind, cmp.Or(e.TaskID, e.VolumeID)} }

// Over reports whether e is the last change of the phase of its object.
func (e Event) Over() bool {
	if e.Kind == KindVolume {
		return e.Status == VolumeDeleted
	}
	return Phase(e.Status).Over()
}

// EventOfTask returns an event with the present phase of a task.
func EventOfTask(r *Record, t EventType) Event {
	e := Event{
		Time:    r.UpdatedAt,
		Type:    t,
		Kind:    KindTask,
		TaskID:  r.Submit.ID,
		Name:    clip(r.Name(), maxEventName),
		User:    r.Submit.User,
		Group:   r.Submit.Group,
		Status:  string(r.Phase),
		Reason:  clip(r.Reason, maxEventReason),
		Message: clip(r.Message, maxEventMessage),

		Annotations: r.Submit.Task.Annotations,
	}
	if !r.Phase.Over() {
		return e
	}
	for _, n := range r.Nodes[:min(len(r.Nodes), maxEventNodes)] {
		n = n.cut(r.Phase)
		e.Nodes = append(e.Nodes, EventNode{n.Rank, n.Phase, n.ExitCode, clip(n.Reason, maxEventReason)})
	}
	return e
}

// EventOfVolume returns an event with the present phase of a volume.
func EventOfVolume(v *VolumeRecord, at time.Time, t EventType) Event {
	return Event{
		Time:     at,
		Type:     t,
		Kind:     KindVolume,
		VolumeID: v.Create.ID,
		Name:     clip(v.Create.Volume.Name, maxEventName),
		User:     v.Create.User,
		Status:   v.CurrentPhase(),
		Reason:   clip(v.Reason, maxEventReason),
		Message:  clip(v.Message, maxEventMessage),
	}
}

// clip shortens text to at most limit bytes without splitting a rune.
func clip(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	const more = "..."
	cut := limit - len(more)
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + more
}

// An EventID is the position of an event among all events, ordered by entry and then by
// number. The zero EventID is before the first event.
type EventID struct {
	Seq uint64 // position of the entry
	N   int    // number of the event within the entry, from 1; 0 is before the first
}

// String returns "<entry>.<number>".
func (e EventID) String() string {
	return strconv.FormatUint(e.Seq, 10) + "." + strconv.Itoa(e.N)
}

// Compare returns -1, 0 or 1 if p is before, equal to or after q.
func (e EventID) Compare(q EventID) int {
	return cmp.Or(cmp.Compare(e.Seq, q.Seq), cmp.Compare(e.N, q.N))
}

// MarshalText returns the form of String.
func (e EventID) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// UnmarshalText parses the form of String.
func (e *EventID) UnmarshalText(text []byte) error {
	seq, number, _ := strings.Cut(string(text), ".")
	s, err := strconv.ParseUint(seq, 10, 64)
	n, wrong := strconv.ParseUint(number, 10, 31)
	if err != nil || wrong != nil {
		return fmt.Errorf("%s is not an event id, for example 12.1", Quote(string(text)))
	}
	*e = EventID{s, int(n)} //nolint:gosec // 31 bits
	return nil
}

// ParseEventID parses the form of String. An empty text is the zero EventID.
func ParseEventID(text string) (p EventID, err error) {
	if text != "" {
		err = p.UnmarshalText([]byte(text))
	}
	return p, err
}

// An EventQuery selects events.
type EventQuery struct {
	User     string
	AllUsers bool
	Key      Key     // one object of the user; the zero Key means all objects
	Group    string  // only tasks in this group; empty means all objects. Wants ignores Group
	After    EventID // only events after this event; the zero EventID means from the beginning
	Now      bool    // only future events; After is ignored
}

// Wants reports whether q selects e.
func (q EventQuery) Wants(e Event) bool {
	return (q.AllUsers && q.Key == (Key{}) || e.User == q.User) && (q.Key == (Key{}) || e.Key() == q.Key)
}

// StoredEvents is a part of the stored events that a query selects.
type StoredEvents struct {
	Events   []Event
	More     bool    // more events are stored than were requested
	Complete bool    // no event is missing between the requested position and the first of Events
	End      EventID // id of the last stored event of any user; may be zero
}

// A Subscription delivers events in order, without end.
type Subscription interface {
	// Next waits for the next events. The error is of kind problem.Gone if the listener was too
	// slow, and of kind problem.Unavailable if the stored events cannot be read at present. A
	// new subscription from At misses no event.
	Next(ctx context.Context) ([]Event, error)

	// At returns the position up to which all selected events were delivered.
	At() EventID
}

// EventList is the body of GET /events, oldest first.
type EventList struct {
	Events []Event `json:"events"`
}

// maxToken is the longest token of a subject, in bytes. Valid user names are far shorter.
const maxToken = 1 << 10

// Token returns name as one token of a NATS subject: ASCII letters, digits, - and _ stay,
// and every other byte becomes = and two hexadecimal digits. Different names have different
// tokens.
func Token(name string) string {
	if name == "" {
		return "="
	}
	var b strings.Builder
	for _, c := range []byte(name) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_':
			b.WriteByte(c)
		default:
			b.WriteString("=" + strings.ToUpper(hex.EncodeToString([]byte{c})))
		}
	}
	if b.Len() > maxToken {
		return "==" + Owner(name)
	}
	return b.String()
}
