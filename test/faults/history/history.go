// Package history is what a run of the fault harness leaves behind: every
// operation of a client with its beginning and end, everything that was seen of
// the cluster's objects, the API server's audit log, how things stood at the
// end, and the log itself where it could be read. The checker reads nothing else.
package history

import (
	"strings"
	"time"

	"k8s-cli/pkg/task"
)

// A Kind says what an operation asked for.
type Kind string

// The kinds of operation.
const (
	Submit  Kind = "submit"  // a task; Name is unique to this submission, however often it is sent
	Status  Kind = "status"  // of one task
	List    Kind = "list"    // of tasks, narrowed to Name if that is set
	Stop    Kind = "stop"    // one task
	StopAll Kind = "stopall" // all tasks of the user
	Create  Kind = "create"  // a volume; Name is unique, as a task's is
	Volume  Kind = "volume"  // status of one volume
	Volumes Kind = "volumes" // list of volumes
	Delete  Kind = "delete"  // a volume
)

// An Op is one request and its answer. Begin and End are by one clock.
type Op struct {
	Client int           `json:"client"`
	User   string        `json:"user"`
	Pod    string        `json:"pod"`
	Kind   Kind          `json:"kind"`
	Name   string        `json:"name,omitempty"`
	Key    string        `json:"key,omitempty"` // Idempotency-Key
	ID     string        `json:"id,omitempty"`  // asked for
	Begin  time.Duration `json:"begin"`
	End    time.Duration `json:"end"`

	Code  int    `json:"code"`            // of HTTP; 0 if no answer came
	Err   string `json:"err,omitempty"`   // why none came, or the detail of a refusal
	Retry bool   `json:"retry,omitempty"` // Retry-After was there
	Stale string `json:"stale,omitempty"` // X-Stale
	Got   string `json:"got,omitempty"`   // id in the answer
	Count int    `json:"count,omitempty"` // of a StopAll
	Seen  []Seen `json:"seen,omitempty"`  // the tasks or volumes in the answer
	Whole bool   `json:"whole,omitempty"` // the list was neither narrowed nor cut
	Wide  bool   `json:"wide,omitempty"`  // the list was of all users
	Last  bool   `json:"last,omitempty"`  // asked after everything had come to rest
	Pair  bool   `json:"pair,omitempty"`  // a read of what this client has just written, elsewhere

	// Start is when the server was started that has just become ready, if this is
	// the first list that it is asked for.
	Start time.Duration `json:"start,omitempty"`
}

// OK reports whether the operation had its effect for certain.
func (o *Op) OK() bool { return o.Code >= 200 && o.Code <= 299 }

// Doubtful reports whether the operation may have had its effect though nobody
// said so.
func (o *Op) Doubtful() bool { return o.Code == 0 || o.Code == 503 }

// Nothing reports whether the answer says that the command was not stored.
func (o *Op) Nothing() bool { return !o.OK() && strings.Contains(o.Err, "nothing was stored") }

// Current reports whether the answer claims to be as new as the question, as far
// as the log is concerned.
func (o *Op) Current() bool { return o.OK() && (len(o.Stale) < 3 || o.Stale[:3] != "log") }

// Seen is what an answer says of one task or volume.
type Seen struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	User    string `json:"user"`
	Phase   string `json:"phase"`
	Created string `json:"created"`
	Reason  string `json:"reason,omitempty"`
}

// An Object is an event of the watch, which begins before the first operation
// and misses nothing.
type Object struct {
	At      time.Duration `json:"at"`   // when it was received: later than it happened
	Type    string        `json:"type"` // ADDED, DELETED, or ENDED at a Job's first terminal condition
	Kind    string        `json:"kind"` // Job or Claim
	Name    string        `json:"name"`
	UID     string        `json:"uid"`
	Version uint64        `json:"version"` // the cluster's revision: orders all kinds
	ID      string        `json:"id,omitempty"`
	Rank    string        `json:"rank,omitempty"`
	User    string        `json:"user,omitempty"`
	Ours    bool          `json:"ours,omitempty"`   // made by a server, by its annotations
	Phase   string        `json:"phase,omitempty"`  // Complete or Failed once ENDED
	Mounts  []string      `json:"mounts,omitempty"` // claims, of a Job
}

// An Audit is a successful request of the audit log that created or deleted a
// Job or a claim.
type Audit struct {
	Verb     string    `json:"verb"`
	Resource string    `json:"resource"`
	Name     string    `json:"name"`
	UID      string    `json:"uid,omitempty"` // of what was deleted
	Agent    string    `json:"agent"`
	Received time.Time `json:"received"`

	At time.Duration `json:"at"` // the same by the history's clock
}

// A Left is an object that the cluster had when everything had come to rest.
type Left struct {
	Kind  string `json:"kind"` // Job, Claim or Pod
	Name  string `json:"name"`
	UID   string `json:"uid"`
	ID    string `json:"id,omitempty"`
	Rank  string `json:"rank,omitempty"`
	Owner string `json:"owner,omitempty"` // UID of the Job of a pod
	Ended bool   `json:"ended,omitempty"`
	Going bool   `json:"going,omitempty"` // its deletion is under way
}

// An Entry is one of the log. Cut means that entries before it were removed
// before the harness had read them.
type Entry struct {
	Seq      uint64        `json:"seq"`
	At       time.Duration `json:"at"` // when NATS stored it
	Log      string        `json:"log"`
	Writer   string        `json:"writer"`
	Number   uint64        `json:"number"`
	Begin    bool          `json:"begin,omitempty"` // it names the log, or confirms the end of one that has a name
	Commands []Command     `json:"commands,omitempty"`
	Cut      bool          `json:"cut,omitempty"`
}

// A Command is a user's request in the log: a Submit, Stop, StopAll, Create or
// Delete.
type Command struct {
	Kind Kind   `json:"kind"`
	ID   string `json:"id,omitempty"`
	Name string `json:"name,omitempty"`
	User string `json:"user,omitempty"`
}

// A Stream is one of NATS at rest.
type Stream struct {
	Name     string `json:"name"`
	Replicas int    `json:"replicas"`
}

// Snapshots are what NATS held for the log at a time: its first and last entry,
// and the entry that each stored snapshot ends with. The snapshots were read after
// the log.
type Snapshots struct {
	At    time.Duration `json:"at"`
	First uint64        `json:"first"`
	Last  uint64        `json:"last"`
	Seqs  []uint64      `json:"seqs,omitempty"`
}

// An Event is one that somebody was told, in the order in which it was.
type Event struct {
	Ear   string `json:"ear"` // who: LiveEar, StoredEar, LogEar, or the server that listed it at rest
	Seq   uint64 `json:"seq"` // its place: the entry, and the number within
	N     int    `json:"n"`
	Type  string `json:"type"`
	Kind  string `json:"kind"`
	ID    string `json:"id"` // of the task or volume
	User  string `json:"user"`
	Phase string `json:"phase"`
}

// EventOf returns what an ear heard.
func EventOf(ear string, e task.Event) Event {
	k := e.Key()
	return Event{Ear: ear, Seq: e.ID.Seq, N: e.ID.N, Type: string(e.Type), Kind: string(k.Kind), ID: k.ID, User: e.User, Phase: e.Status}
}

// The ears that hear everything.
const (
	LiveEar   = "live"   // a stream that goes from server to server and on where it broke off
	StoredEar = "stored" // the stream of NATS, at the end
	LogEar    = "log"    // a fold of the log, at the end, if it was still there from its beginning
)

// A History is all of it.
type History struct {
	Ops     []Op
	Objects []Object
	Audits  []Audit
	Left    []Left
	Entries []Entry
	Events  []Event

	Streams   []Stream
	Snapshots []Snapshots
}
