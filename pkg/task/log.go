package task

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"time"
)

// A Command or fact is one line of the log. Exactly one field is set. Commands
// say what a user wants; facts say what the controller saw or did, and only
// the leader appends them. A release writes only what the previous one reads.
type Command struct {
	Submit  *Submit  `json:"submit,omitempty"`
	Stop    *Stop    `json:"stop,omitempty"`
	StopAll *StopAll `json:"stop_all,omitempty"`
	Create  *Create  `json:"create,omitempty"`
	Delete  *Delete  `json:"delete,omitempty"`
	Upload  *Upload  `json:"upload,omitempty"`

	Admitted  *Admitted  `json:"admitted,omitempty"`
	Resolved  *Resolved  `json:"resolved,omitempty"`
	Blocked   *Blocked   `json:"delayed,omitempty"`
	Applied   *Applied   `json:"applied,omitempty"`
	Started   *Started   `json:"started,omitempty"`
	Ended     *Ended     `json:"ended,omitempty"`
	Rejected  *Rejected  `json:"refused,omitempty"`
	CleanedUp *CleanedUp `json:"gone,omitempty"`
	Adopted   *Adopted   `json:"adopted,omitempty"`
	Claimed   *Claimed   `json:"claimed,omitempty"`

	ExpireHistory *ExpireHistory `json:"forget,omitempty"`
	DeleteUploads *DeleteUploads `json:"discard,omitempty"`

	SnapshotMarker *SnapshotMarker `json:"mark,omitempty"`
	SnapshotStored *SnapshotStored `json:"kept,omitempty"`
}

// Submit asks for a task. What the server chose for the user is part of it, so
// that every pod builds the same Jobs: the id, the image, where uploads are had and,
// of alternative resources, which.
type Submit struct {
	ID     string `json:"id"`
	User   string `json:"user"`
	Task   Spec   `json:"task"`
	Image  string `json:"image"`
	Choice int    `json:"choice,omitempty"` // among Task.Resources.Alternatives
	Key    string `json:"key,omitempty"`    // the caller's Idempotency-Key

	// Of a task with secrets the log has the values sealed only; Task.Secrets
	// has Redacted in place of each. Package seal makes and reads both.
	Sealed     []byte `json:"sealed,omitempty"`
	SecretsMAC string `json:"mark,omitempty"` // equal for equal values under the same Key, and of no other use

	Files string `json:"files,omitempty"` // of a task with uploads: the URL of the server, by which its pods get them

	// Trace is the span that asked, as a W3C traceparent, if it is traced. It stands
	// in the entry beside the commands, and is no part of what is asked for.
	Trace string `json:"-"`
}

// Resources returns what every node of the task gets: of alternatives the one
// that was chosen.
func (s Submit) Resources() Resources {
	all := s.Task.Resources.Alternatives()
	return all[min(s.Choice, len(all)-1)]
}

// Redacted stands where a secret was.
const Redacted = "<redacted>"

// Stop asks that a task of User has no Job any more.
type Stop struct {
	User string `json:"user"`
	ID   string `json:"id"`
}

// StopAll stops all tasks of User, or of everyone, that stand before it in the
// log and are not over.
type StopAll struct {
	User     string `json:"user"`
	AllUsers bool   `json:"all_users,omitempty"`
}

// Create asks for a volume.
type Create struct {
	ID     string `json:"id"`
	User   string `json:"user"`
	Volume Volume `json:"volume"`
	Key    string `json:"key,omitempty"` // the caller's Idempotency-Key
}

// Delete asks that a volume of User has no claim any more.
type Delete struct {
	User  string `json:"user"`
	ID    string `json:"id"`
	Force bool   `json:"force,omitempty"` // also if tasks use it
}

// Admitted lets tasks have their Jobs: none is created before. The fold admits the
// tasks in this order, and only while the Jobs of all admitted tasks of which
// something may be left in the cluster stay within the limits. So two leaders
// that overlap exceed no limit together.
type Admitted struct {
	IDs    []string  `json:"ids"`
	Limits JobLimits `json:"limits"` // of the leader that decided
}

// Resolved fixes which claims a task mounts, before its first Job is created.
type Resolved struct {
	ID     string            `json:"id"`
	Claims map[string]string `json:"claims"` // by the name the task gave
}

// Blocked says why a task or volume cannot be applied at present.
type Blocked struct {
	Key     Key    `json:"key"`
	Reason  string `json:"reason"`
	Message string `json:"message"` // in the words of the API server
}

// Applied says that all objects of a task or volume exist. Jobs of several
// nodes are still suspended: they may run once this is folded.
type Applied struct {
	Key  Key      `json:"key"`
	UIDs []string `json:"uids"` // of the Jobs by rank, or of the claim
}

// Started says that a container of a task has started.
type Started struct {
	ID    string `json:"id"`
	Nodes []Node `json:"nodes"`
}

// Ended says how a task ended.
type Ended struct {
	ID      string `json:"id"`
	Phase   Phase  `json:"phase"` // Completed or Failed
	Nodes   []Node `json:"nodes"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
}

// Rejected says that Kubernetes will never take a task or volume.
type Rejected struct {
	Key     Key    `json:"key"`
	Reason  string `json:"reason"`
	Message string `json:"message"` // in the words of the API server
}

// CleanedUp says that nothing is left in the cluster of an object that was stopped,
// deleted, refused, or over for longer than Jobs are kept.
type CleanedUp struct {
	Key Key `json:"key"`
}

// Claimed says what became of a volume's claim.
type Claimed struct {
	ID    string `json:"id"`
	Phase string `json:"phase"` // VolumeBound or VolumeLost
}

// An Entry is what the log stores at once: the commands of requests that came
// together, in order.
type Entry struct {
	Version   int               `json:"v"`                // EntryVersion
	Log       string            `json:"log"`              // the random id of the log it was written for
	Writer    string            `json:"writer"`           // the random id of the process that wrote it; empty in the entry that names the log
	Number    uint64            `json:"n"`                // of this entry among the writer's, from 1: a repeated entry has the same one
	StartsLog bool              `json:"begin,omitempty"`  // the entry names the log: nothing of the log is missing before it
	Until     int64             `json:"until,omitempty"`  // Unix time in milliseconds, by the clock of NATS, up to which NATS may store the entry with effect; 0 means no limit
	Written   time.Time         `json:"at,omitzero"`      // when, by its writer's clock
	Traces    []Trace           `json:"traces,omitempty"` // of commands that are traced; releases that do not know them pass them over
	Commands  []json.RawMessage `json:"commands,omitempty"`

	Seq  uint64    `json:"-"` // its place in the log, from 1
	Time time.Time `json:"-"` // when it was stored
}

// IsExpired reports whether NATS stored e later than its writer allowed. The
// callers have been told then that their commands may not have been stored: an
// expired entry has no effect on any pod.
func (e Entry) IsExpired() bool { return e.Until != 0 && e.Time.UnixMilli() > e.Until }

// A Trace says what asked for some commands of an entry that follow each other.
type Trace struct {
	First  int    `json:"first"` // of the commands, from 0
	Count  int    `json:"count"`
	Parent string `json:"parent"` // a W3C traceparent
}

// EntryVersion is the version of entries that this release writes and reads.
const EntryVersion = 1

// Adopted says that the cluster has Jobs or a claim of the launcher's that this
// log knows nothing of, since the log was lost or another one is used: what
// their annotations say of the command that asked for them. Exactly one of
// Submit and Create is set; the scripts of the task are not known.
type Adopted struct {
	Submit    *Submit   `json:"submit,omitempty"`
	Create    *Create   `json:"create,omitempty"`
	Hash      string    `json:"hash"`       // of the command
	CreatedAt time.Time `json:"created_at"` // when it was stored in its log
	UIDs      []string  `json:"uids"`       // of the Jobs by rank, empty where there is none; or of the claim
}

// ExpireHistory ends the history of tasks that are over, and of volumes that are
// deleted, of which nothing is left in the cluster. It is the leader's, and in
// the log, so that all pods forget the same at the same place whatever their
// settings are. The fold forgets an object only if it is too old by the leader's
// clock and by log time, or if the history holds more than Tasks. One wrong clock
// expires nothing. A time that lies ahead of both clocks becomes the present.
type ExpireHistory struct {
	IDs     []string  `json:"ids,omitempty"`     // of tasks
	Volumes []string  `json:"volumes,omitempty"` // ids too
	Now     time.Time `json:"now,omitzero"`      // by the leader's clock
	Then    time.Time `json:"then,omitzero"`     // by the same clock: what was over before is too old
	Tasks   int       `json:"tasks,omitempty"`   // that stay, unless they are too old, and as many volumes

	Keys     int       `json:"keys,omitempty"`     // idempotency keys to forget, the first ones of objects that are forgotten
	KeysThen time.Time `json:"keys_then,omitzero"` // keys that were used later stay
}

// KeyLife is how long an idempotency key is known at least after its command,
// even if the history has no more room for what that made.
const KeyLife = 24 * time.Hour

// SnapshotMarker is the place of the log at which every pod takes a snapshot of its state.
// The leader stores its own.
type SnapshotMarker struct{}

// SnapshotStored says that the snapshot taken at the entry Seq is stored. A pod whose own
// one has another hash has gone astray.
type SnapshotStored struct {
	Seq  uint64 `json:"seq"`
	Hash string `json:"hash"` // of the snapshot's bytes: SHA-256, hexadecimal
}

// A Snapshot is what a pod made of the log up to one entry. Equal states have
// equal bytes.
type Snapshot interface {
	Log() string  // id of the log
	Seq() uint64  // sequence of the last entry in it
	Hash() string // SHA-256 of its bytes, hexadecimal
	Encode(w io.Writer) error
}

// Submissions returns which of the entries from first to last are those in which
// tasks were submitted that are still answered for.
type Submissions func(first, last uint64) map[uint64]bool

// ErrDiverged is returned for an entry that shows that this pod's state is not
// the one that the others have.
var ErrDiverged = errors.New("the state of this pod diverged from the state of the other pods")

// ErrUnknownCommand is returned for a command of a newer version.
var ErrUnknownCommand = errors.New("unknown command")

// A Record is a task as the log tells it. Records are immutable: a change
// makes a new one. Snapshots hold them as JSON.
type Record struct {
	Submit    Submit    `json:"submit"`            // most of the Task is dropped once it is Applied, its Uploads when it is over
	Hash      string    `json:"hash"`              // of the submission
	Seq       uint64    `json:"seq"`               // place of the submission in the log
	Order     uint64    `json:"order"`             // place among all submissions, 1 for the first: newest first means largest first
	CreatedAt time.Time `json:"created_at"`        // when the submission was stored
	UpdatedAt time.Time `json:"updated_at"`        // when the last command or fact about it was stored; never goes back
	EndSeq    uint64    `json:"end_seq,omitempty"` // place in the log at which it was over, 0 before

	Claims    map[string]string `json:"claims"`           // nil until Resolved
	UIDs      []string          `json:"uids"`             // of the Jobs by rank; nil until Applied
	Phase     Phase             `json:"phase"`            // furthest that the log knows
	Nodes     []Node            `json:"nodes,omitempty"`  // as of Started or Ended
	Reason    string            `json:"reason,omitempty"` // of a failure, or of a delay while Pending
	Message   string            `json:"message,omitempty"`
	CleanedUp bool              `json:"gone,omitempty"` // over, and nothing is left in the cluster

	Admitted bool `json:"admitted,omitempty"` // it may have Jobs
}

// TraceID returns the id of the trace that the task was asked for in, 32
// hexadecimal digits; empty if there is none, or once that has been applied.
func (r *Record) TraceID() string {
	const begin, end = len("00-"), len("00-") + 32 // of a traceparent
	if len(r.Submit.Trace) < end {
		return ""
	}
	return r.Submit.Trace[begin:end]
}

// NumNodes returns the number of nodes of the task.
func (r *Record) NumNodes() int { return r.Submit.Task.Nodes() }

// Name returns the name of the task as shown.
func (r *Record) Name() string { return DisplayName(r.Submit.Task.Name, r.Submit.ID) }

// JobNames returns the names of the task's Jobs by rank.
func (r *Record) JobNames() []string {
	return JobNames(r.Submit.Task.Name, r.Submit.ID, r.NumNodes())
}

// A VolumeRecord is a volume as the log tells it, immutable as a Record is.
type VolumeRecord struct {
	Create    Create    `json:"create"`
	Hash      string    `json:"hash"`
	Seq       uint64    `json:"seq"`
	Order     uint64    `json:"order"`
	CreatedAt time.Time `json:"created_at"`

	UID       string    `json:"uid,omitempty"`       // of the claim; empty until Applied
	Deleted   bool      `json:"deleted,omitempty"`   // its owner deleted it: only the controller still sees it
	DeletedAt time.Time `json:"deleted_at,omitzero"` // when that was stored
	EndSeq    uint64    `json:"end_seq,omitempty"`   // its place in the log
	CleanedUp bool      `json:"gone,omitempty"`      // deleted, and nothing is left in the cluster
	Rejected  bool      `json:"refused,omitempty"`
	Phase     string    `json:"phase,omitempty"`  // of the claim, as of Claimed; empty before
	Reason    string    `json:"reason,omitempty"` // of the refusal, or of a delay before Applied
	Message   string    `json:"message,omitempty"`
}

// CurrentPhase returns the phase of the volume, as far as the log knows.
func (r *VolumeRecord) CurrentPhase() string {
	switch {
	case r.Deleted:
		return VolumeDeleted
	case r.Rejected:
		return VolumeFailed
	}
	return cmp.Or(r.Phase, VolumePending)
}

// ClaimName returns the name of the volume's claim.
func (r *VolumeRecord) ClaimName() string {
	return ClaimName(r.Create.Volume.Name, r.Create.ID)
}
