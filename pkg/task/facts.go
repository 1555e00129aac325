package task

import "time"

// Admitted allows tasks to have Jobs; no Job is created before. The fold admits the tasks
// in this order, and only while the Jobs of all admitted tasks stay within the limits. A
// task counts until the cluster has no object of it left. Therefore even two overlapping
// leaders do not exceed the limits.
type Admitted struct {
	IDs    []string  `json:"ids"`
	Limits JobLimits `json:"limits"` // limits of the leader that decided
}

// Resolved fixes the claims that a task mounts, before the first Job is created.
type Resolved struct {
	ID     string            `json:"id"`
	Claims map[string]string `json:"claims"` // claim names by the names in the task
}

// Blocked records why the objects of a task or volume cannot be created at present.
type Blocked struct {
	Key     Key    `json:"key"`
	Reason  string `json:"reason"`
	Message string `json:"message"` // as the API server reports it
}

// Applied records that all objects of a task or volume exist. The Jobs of a task of several
// nodes are still suspended; the controller resumes them after the fold of this fact.
type Applied struct {
	Key  Key      `json:"key"`
	UIDs []string `json:"uids"` // of the Jobs by rank, or of the claim
}

// Started records that a container of a task has started.
type Started struct {
	ID    string `json:"id"`
	Nodes []Node `json:"nodes"`
}

// Restarted records attempts that ended and after which their nodes start again. The fold
// accepts the attempts of each node in order of their numbers.
type Restarted struct {
	ID       string    `json:"id"`
	Attempts []Attempt `json:"attempts"`
}

// Ended records how a task ended.
type Ended struct {
	ID      string `json:"id"`
	Phase   Phase  `json:"phase"` // Completed or Failed
	Nodes   []Node `json:"nodes"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`

	// log time before which the fact has no effect: the deadline of a task that ended because
	// of its max_duration. A wrong clock of the leader therefore does not end the task early.
	NotBefore time.Time `json:"not_before,omitzero"`
}

// Rejected records that Kubernetes will never accept a task or volume.
type Rejected struct {
	Key     Key    `json:"key"`
	Reason  string `json:"reason"`
	Message string `json:"message"` // as the API server reports it
}

// CleanedUp records that the cluster has no object left of a task or volume that was
// stopped, deleted or rejected, or that has been over for longer than Jobs are retained.
type CleanedUp struct {
	Key Key `json:"key"`
}

// Claimed records that the claim of a volume was bound or lost.
type Claimed struct {
	ID    string `json:"id"`
	Phase string `json:"phase"` // VolumeBound or VolumeLost
}

// Adopted records that the cluster has Jobs or a claim of k8s-cli without a record in this
// log, because the log was lost or replaced. Exactly one of Submit and Create is set. The
// command is read from the annotations of the objects, which do not contain the scripts of
// the task.
type Adopted struct {
	Submit    *Submit   `json:"submit,omitempty"`
	Create    *Create   `json:"create,omitempty"`
	Hash      string    `json:"hash"`       // hash of the command
	CreatedAt time.Time `json:"created_at"` // time at which the command was stored in its log
	UIDs      []string  `json:"uids"`       // of the Jobs by rank, empty where no Job exists; or of the claim
}

// ExpireHistory removes tasks that are over, and deleted volumes, from the history. The
// cluster has no object of these tasks and volumes left. The leader decides, and the fact
// is in the log, so that all pods remove the same objects at the same position whatever
// their settings are. The fold removes an object only if the object is too old both by the
// leader's clock and by log time, or if the history holds more than Tasks objects. A single
// wrong clock therefore expires nothing. A time that is ahead of both clocks becomes the
// present.
type ExpireHistory struct {
	IDs     []string  `json:"ids,omitempty"`     // of tasks
	Volumes []string  `json:"volumes,omitempty"` // ids of volumes
	Now     time.Time `json:"now,omitzero"`      // time by the leader's clock
	// expiry threshold by the leader's clock: objects that were over before are too old
	Then  time.Time `json:"then,omitzero"`
	Tasks int       `json:"tasks,omitempty"` // number of tasks, and of volumes, that stay unless they are too old

	Keys     int       `json:"keys,omitempty"`     // number of idempotency keys to remove: the oldest keys of removed objects
	KeysThen time.Time `json:"keys_then,omitzero"` // expiry threshold of keys: keys that were used later stay
}

// SnapshotMarker marks the position at which every pod takes a snapshot of its state. The
// leader stores its snapshot.
type SnapshotMarker struct{}

// SnapshotStored records that the snapshot at the entry Seq is stored. If the snapshot of
// another pod has a different hash, the state of that pod has diverged.
type SnapshotStored struct {
	Seq  uint64 `json:"seq"`
	Hash string `json:"hash"` // SHA-256 of the snapshot, hexadecimal
}
