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

// An Event says that a task or volume changed. Those that follow from the log
// have a place, and are the same on every pod; what only the cluster shows is
// told as progress without one, to who listens at that moment.
type Event struct {
	ID       EventID     `json:"id,omitzero"` // in the order of all events; none for what the log does not tell
	Time     time.Time   `json:"time"`        // of the log, else of the pod that saw it
	Type     EventType   `json:"type"`        //
	Kind     Kind        `json:"kind"`        //
	TaskID   string      `json:"task_id,omitempty"`
	VolumeID string      `json:"volume_id,omitempty"`
	Name     string      `json:"name"`              // as shown
	User     string      `json:"user"`              // as given
	Status   string      `json:"status"`            // the phase it is in since
	Reason   string      `json:"reason,omitempty"`  // one word: why
	Message  string      `json:"message,omitempty"` // the same as a sentence
	Nodes    []EventNode `json:"nodes,omitempty"`   // of a task that is over, by rank; at most 1000
}

// An EventType tells a change of phase from what happens in between.
type EventType string

// The types of event.
const (
	EventPhase    EventType = "phase"    // the status is another one than before
	EventProgress EventType = "progress" // the status is the same, the reason another
)

// An EventNode says how one node of a task ended.
type EventNode struct {
	Rank     int    `json:"rank"`
	Phase    Phase  `json:"status"`
	ExitCode *int   `json:"exit_code,omitempty"`
	Reason   string `json:"reason,omitempty"`
}

// VolumeDeleted is the status that the last event of a volume tells. The volume
// itself is not shown any more by then.
const VolumeDeleted = "Deleted"

// ReasonApplied is the reason of a task or volume that waits for the cluster
// alone, since all its objects exist.
const ReasonApplied = "Applied"

// What of foreign words an event carries: it has to fit into a message of NATS.
const (
	maxEventReason  = 128     // bytes
	maxEventMessage = 4 << 10 // bytes
	maxEventName    = 1 << 10 // bytes
	maxEventNodes   = 1000
)

// Key returns the object that e is about.
func (e Event) Key() Key { return Key{e.Kind, cmp.Or(e.TaskID, e.VolumeID)} }

// Over reports whether no event of another phase follows e.
func (e Event) Over() bool {
	if e.Kind == KindVolume {
		return e.Status == VolumeDeleted
	}
	return Phase(e.Status).Over()
}

// EventOfTask returns the event of a task in its present phase.
func EventOfTask(r *Record, t EventType) Event {
	e := Event{
		Time:    r.UpdatedAt,
		Type:    t,
		Kind:    KindTask,
		TaskID:  r.Submit.ID,
		Name:    clip(r.Name(), maxEventName),
		User:    r.Submit.User,
		Status:  string(r.Phase),
		Reason:  clip(r.Reason, maxEventReason),
		Message: clip(r.Message, maxEventMessage),
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

// EventOfVolume returns the event of a volume in its present phase.
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

// clip returns text in at most limit bytes, whole runes only.
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

// An EventID is where an event stands among all events: behind those of earlier
// entries of the log, and of the same entry's behind those of a smaller number.
// The zero EventID is before the first event.
type EventID struct {
	Seq uint64 // of the entry
	N   int    // of the event among those of the entry, from 1; 0 is before all of them
}

// String returns "<entry>.<number>".
func (p EventID) String() string {
	return strconv.FormatUint(p.Seq, 10) + "." + strconv.Itoa(p.N)
}

// Compare returns whether p is before q, at q or behind it: -1, 0 or 1.
func (p EventID) Compare(q EventID) int {
	return cmp.Or(cmp.Compare(p.Seq, q.Seq), cmp.Compare(p.N, q.N))
}

// MarshalText returns p as String does.
func (p EventID) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText reads what String returns.
func (p *EventID) UnmarshalText(text []byte) error {
	seq, number, _ := strings.Cut(string(text), ".")
	s, err := strconv.ParseUint(seq, 10, 64)
	n, wrong := strconv.ParseUint(number, 10, 31)
	if err != nil || wrong != nil {
		return fmt.Errorf("%s is not an event id, for example 12.1", Quote(string(text)))
	}
	*p = EventID{s, int(n)} //nolint:gosec // 31 bits
	return nil
}

// ParseEventID reads what String returns; the empty text is the zero EventID.
func ParseEventID(text string) (p EventID, err error) {
	if text != "" {
		err = p.UnmarshalText([]byte(text))
	}
	return p, err
}

// An EventQuery says whose events, or those of which object.
type EventQuery struct {
	User     string
	AllUsers bool
	Key      Key     // of one object of the user; the zero Key means all
	After    EventID // only what is after this event; the zero EventID means from the beginning
	Now      bool    // only what happens from now on; After does not count then
}

// Wants reports whether e is one of the events that q asks for.
func (q EventQuery) Wants(e Event) bool {
	return (q.AllUsers && q.Key == (Key{}) || e.User == q.User) && (q.Key == (Key{}) || e.Key() == q.Key)
}

// StoredEvents are the events of a query as far as they are stored.
type StoredEvents struct {
	Events   []Event
	More     bool    // there are more than were asked for
	Complete bool    // nothing is missing between the place asked for and the first of them
	End      EventID // of the last event that is stored, whosever it is; zero if none is
}

// A Subscription hears events, one after the other and without end.
type Subscription interface {
	// Next waits until there is something to tell. The error is of kind ErrGone
	// if the listener was too slow, and ErrUnavailable if what is stored cannot be
	// read at present; a new listening that goes on from At misses nothing.
	Next(ctx context.Context) ([]Event, error)

	// At returns the place up to which all was told, or not asked for.
	At() EventID
}

// EventList answers GET /events, oldest first.
type EventList struct {
	Events []Event `json:"events"`
}

// maxToken is the longest token of a subject, in bytes. No name that a server
// takes comes near it.
const maxToken = 1 << 10

// Token returns name as one token of a NATS subject: letters, digits, - and _ of
// ASCII stay, every other byte becomes = and two hexadecimal digits. Two names
// never have the same token.
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
