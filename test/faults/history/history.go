// Package history is the record of a run of the fault harness: every operation of a client
// with its beginning and end, every event of a watch of the cluster's objects, the API
// server's audit log, the state at the end, and the log itself if it could be read. The
// checker reads nothing else.
package history

import (
	"strings"
	"time"

	"k8s-cli/pkg/task"
)

// A Kind is the kind of an operation.
type Kind string

// The kinds of operation.
const (
	Submit  Kind = "submit"  // submit a task; Name is unique to this submission, however often it is sent
	Status  Kind = "status"  // get one task
	List    Kind = "list"    // list tasks, filtered by Name if Name is set
	Stop    Kind = "stop"    // stop one task
	StopAll Kind = "stopall" // stop all tasks of the user
	Create  Kind = "create"  // create a volume; Name is unique to this creation
	Volume  Kind = "volume"  // get one volume
	Volumes Kind = "volumes" // list volumes
	Delete  Kind = "delete"  // delete a volume
)

// An Op is one request and its answer. Begin and End are times of the history's clock.
type Op struct {
	Client int           `json:"client"`
	User   string        `json:"user"`
	Pod    string        `json:"pod"`
	Kind   Kind          `json:"kind"`
	Name   string        `json:"name,omitempty"`
	Key    string        `json:"key,omitempty"`   // Idempotency-Key
	After  []string      `json:"after,omitempty"` // of a Submit: names of the tasks that must complete first
	ID     string        `json:"id,omitempty"`    // the requested id
	Begin  time.Duration `json:"begin"`
	End    time.Duration `json:"end"`

	Code  int    `json:"code"`            // HTTP status; 0 without an answer
	Err   string `json:"err,omitempty"`   // why there was no answer, or the detail of an error
	Retry bool   `json:"retry,omitempty"` // the answer has Retry-After
	Stale string `json:"stale,omitempty"` // X-Stale
	Got   string `json:"got,omitempty"`   // the id in the answer
	Count int    `json:"count,omitempty"` // the count in the answer to a StopAll
	Seen  []Seen `json:"seen,omitempty"`  // the tasks or volumes in the answer
	Whole bool   `json:"whole,omitempty"` // the list was neither filtered nor truncated
	Wide  bool   `json:"wide,omitempty"`  // the list was of all users
	Last  bool   `json:"last,omitempty"`  // sent when the system was at rest

	// Start is set on the first list of a server that has just become ready. Start is the
	// time when the server was started.
	Start time.Duration `json:"start,omitempty"`
}

// OK reports whether the operation certainly had its effect.
func (o *Op) OK() bool { return o.Code >= 200 && o.Code <= 299 }

// Doubtful reports whether the operation may have had its effect without a confirmation.
func (o *Op) Doubtful() bool { return o.Code == 0 || o.Code == 503 }

// Nothing reports whether the answer says that the command was not stored.
func (o *Op) Nothing() bool { return !o.OK() && strings.Contains(o.Err, "nothing was stored") }

// Current reports whether the answer claims to be current with respect to the log.
func (o *Op) Current() bool { return o.OK() && (len(o.Stale) < 3 || o.Stale[:3] != "log") }

// Seen is the state of one task or volume in an answer.
type Seen struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	User    string `json:"user"`
	Phase   string `json:"phase"`
	Created string `json:"created"`
	Reason  string `json:"reason,omitempty"`
}

// An Object is an event of the watch. The watch begins before the first operation and misses
// nothing.
type Object struct {
	At      time.Duration `json:"at"`   // when the event was received, which is later than the change
	Type    string        `json:"type"` // ADDED, DELETED, or ENDED at a Job's first terminal condition
	Kind    string        `json:"kind"` // Job or Claim
	Name    string        `json:"name"`
	UID     string        `json:"uid"`
	Version uint64        `json:"version"` // the resourceVersion, which orders the events of all kinds
	ID      string        `json:"id,omitempty"`
	Rank    string        `json:"rank,omitempty"`
	User    string        `json:"user,omitempty"`
	Ours    bool          `json:"ours,omitempty"`   // created by a server, according to its annotations
	Phase   string        `json:"phase,omitempty"`  // of an ENDED event: Complete or Failed
	Mounts  []string      `json:"mounts,omitempty"` // names of the claims that a Job mounts
}

// An Audit is a successful request in the audit log that created or deleted a Job or a
// claim.
type Audit struct {
	Verb     string        `json:"verb"`
	Resource string        `json:"resource"`
	Name     string        `json:"name"`
	UID      string        `json:"uid,omitempty"` // of the deleted object
	Agent    string        `json:"agent"`
	At       time.Duration `json:"at"` // the time by the history's clock
}

// A Left is an object that existed in the cluster when the system was at rest.
type Left struct {
	Kind  string `json:"kind"` // Job, Claim or Pod
	Name  string `json:"name"`
	UID   string `json:"uid"`
	ID    string `json:"id,omitempty"`
	Rank  string `json:"rank,omitempty"`
	Owner string `json:"owner,omitempty"` // UID of the Job that owns a pod
	Ended bool   `json:"ended,omitempty"`
	Going bool   `json:"going,omitempty"` // terminating
}

// An Entry is an entry of the log. Cut means that entries before this one were removed
// before the harness had read them.
type Entry struct {
	Seq      uint64        `json:"seq"`
	At       time.Duration `json:"at"` // when NATS stored the entry
	Log      string        `json:"log"`
	Writer   string        `json:"writer"`
	Number   uint64        `json:"number"`
	Begin    bool          `json:"begin,omitempty"` // the entry sets the id of the log, or is a barrier entry
	Commands []Command     `json:"commands,omitempty"`
	Cut      bool          `json:"cut,omitempty"`
}

// A Command is a user's command in the log: a Submit, Stop, StopAll, Create or Delete.
type Command struct {
	Kind Kind   `json:"kind"`
	ID   string `json:"id,omitempty"`
	Name string `json:"name,omitempty"`
	User string `json:"user,omitempty"`
}

// Snapshots are the snapshots at one time: the first and last entry of the log, and the
// entry at which each stored snapshot ends. The harness reads the snapshots after the log.
type Snapshots struct {
	At    time.Duration `json:"at"`
	First uint64        `json:"first"`
	Last  uint64        `json:"last"`
	Seqs  []uint64      `json:"seqs,omitempty"`
}

// An Event is an event that a listener received. The events of a listener are in the order
// of their receipt.
type Event struct {
	Ear   string `json:"ear"` // the listener: LiveEar, StoredEar, LogEar, or the server that listed the event at rest
	Seq   uint64 `json:"seq"` // the event id: the entry and the number within the entry
	N     int    `json:"n"`
	Type  string `json:"type"`
	Kind  string `json:"kind"`
	ID    string `json:"id"` // id of the task or volume
	User  string `json:"user"`
	Phase string `json:"phase"`
}

// EventOf returns the record of an event that a listener received.
func EventOf(ear string, e task.Event) Event {
	k := e.Key()
	return Event{Ear: ear, Seq: e.ID.Seq, N: e.ID.N, Type: string(e.Type), Kind: string(k.Kind), ID: k.ID, User: e.User, Phase: e.Status}
}

// The listeners that receive all events.
const (
	LiveEar   = "live"   // a stream of server-sent events that moves from server to server and continues after its last event
	StoredEar = "stored" // the stream EVENTS of NATS at the end
	LogEar    = "log"    // a fold of the log at the end, if the log was still complete
)

// A History is the whole record.
type History struct {
	Ops     []Op
	Objects []Object
	Audits  []Audit
	Left    []Left
	Entries []Entry
	Events  []Event

	Snapshots []Snapshots
}
