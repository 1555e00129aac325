package task

import "time"

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

// SnapshotMarker is the place of the log at which every pod takes a snapshot of its state.
// The leader stores its own.
type SnapshotMarker struct{}

// SnapshotStored says that the snapshot taken at the entry Seq is stored. A pod whose own
// one has another hash has gone astray.
type SnapshotStored struct {
	Seq  uint64 `json:"seq"`
	Hash string `json:"hash"` // of the snapshot's bytes: SHA-256, hexadecimal
}
