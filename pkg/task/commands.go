package task

import (
	"time"

	"k8s-cli/pkg/task/bucket"
	"k8s-cli/pkg/task/outputs"
)

// A Command is one command or fact in the log. Exactly one field is set. A command is the
// request of a user. A fact is what the controller observed or did; only the leader appends
// facts. A release writes only fields that the previous release can read.
type Command struct {
	Submit  *Submit  `json:"submit,omitempty"`
	Stop    *Stop    `json:"stop,omitempty"`
	StopAll *StopAll `json:"stop_all,omitempty"`

	Create *Create `json:"create,omitempty"`
	Delete *Delete `json:"delete,omitempty"`
	Upload *Upload `json:"upload,omitempty"`

	EndSessions *EndSessions `json:"end_sessions,omitempty"`

	Admitted  *Admitted  `json:"admitted,omitempty"`
	Resolved  *Resolved  `json:"resolved,omitempty"`
	Blocked   *Blocked   `json:"blocked,omitempty"`
	Applied   *Applied   `json:"applied,omitempty"`
	Started   *Started   `json:"started,omitempty"`
	Restarted *Restarted `json:"restarted,omitempty"`
	Ended     *Ended     `json:"ended,omitempty"`
	Rejected  *Rejected  `json:"rejected,omitempty"`
	CleanedUp *CleanedUp `json:"cleaned_up,omitempty"`
	Adopted   *Adopted   `json:"adopted,omitempty"`
	Claimed   *Claimed   `json:"claimed,omitempty"`

	OutputsStored *outputs.Stored `json:"outputs_stored,omitempty"`

	ExpireHistory *ExpireHistory `json:"expire_history,omitempty"`
	DeleteUploads *DeleteUploads `json:"delete_uploads,omitempty"`

	SnapshotMarker *SnapshotMarker `json:"snapshot_marker,omitempty"`
	SnapshotStored *SnapshotStored `json:"snapshot_stored,omitempty"`
}

// Submit submits a task. Submit contains the choices of the server, so that every pod
// builds the same Jobs: the id, the image, the URL for uploads, and the alternative of the
// resources.
type Submit struct {
	ID     string `json:"id"`
	User   string `json:"user"`
	Task   Spec   `json:"task"`
	Image  string `json:"image"`
	Choice int    `json:"choice,omitempty"` // index in Task.Resources.Alternatives
	Spot   bool   `json:"spot,omitempty"`   // the pods require spot machines: use_spot, and the cluster has such machines
	Key    string `json:"key,omitempty"`    // Idempotency-Key of the request
	Group  string `json:"group,omitempty"`  // group of the tasks of User to which the task belongs; see package group

	// The task gets Jobs only while fewer than MaxParallel tasks of Group are active; 0 means no
	// limit. If the task fails and FailFast is set, the other tasks of Group are stopped.
	MaxParallel int  `json:"max_parallel,omitempty"`
	FailFast    bool `json:"fail_fast,omitempty"`

	// If a task has secrets, Sealed contains the encrypted values, and Task.Secrets has
	// Redacted in place of each value. Package seal encrypts and decrypts.
	Sealed     []byte `json:"sealed,omitempty"`
	SecretsMAC string `json:"secrets_mac,omitempty"` // equal for equal values under the same Key; has no other use

	// After and AfterAny name tasks of User that are earlier in the log, by id or idempotency
	// key. The task gets Jobs only when the tasks in After have completed and the tasks in
	// AfterAny have ended.
	After    []string `json:"after,omitempty"`
	AfterAny []string `json:"after_any,omitempty"`

	// Together is the number of submissions, from this one on, that follow each other in one entry,
	// and that the fold accepts together or not at all. 0 means that the fold decides about this
	// submission alone.
	Together int `json:"together,omitempty"`

	JobGroup *JobGroup `json:"job_group,omitempty"` // nil unless the task belongs to a job group

	Files       string `json:"files,omitempty"`        // URL of the server for the pods of the task: for its uploads and its outputs
	OutputLimit int64  `json:"output_limit,omitempty"` // largest archive of the outputs of one node, in bytes

	Transfer bucket.Transfer `json:"transfer,omitzero"` // for a task with buckets

	// Trace is the span of the request as a W3C traceparent, if it is traced. An entry
	// stores the trace beside the commands, because the trace is not part of the request.
	Trace string `json:"-"`
}

// Resources returns the resources of every node of the task: the chosen alternative, with
// UseSpot only if the pods require spot machines.
func (s Submit) Resources() Resources {
	all := s.Task.Resources.Alternatives()
	r := all[min(s.Choice, len(all)-1)]
	r.UseSpot = s.Spot
	return r
}

// Redacted replaces the value of a secret.
const Redacted = "<redacted>"

// Stop stops a task of User. The controller then deletes its Jobs.
type Stop struct {
	User string `json:"user"`
	ID   string `json:"id"`
	Key  string `json:"key,omitempty"` // Idempotency-Key of the request
}

// StopAll stops all tasks of User, or of all users, that are earlier in the log and not
// over. If Group is set, StopAll stops only the tasks of User in that group. If Filter is set, StopAll
// stops only the tasks that Filter selects, as they are in the log before the StopAll.
type StopAll struct {
	User     string  `json:"user"`
	AllUsers bool    `json:"all_users,omitempty"`
	Group    string  `json:"group,omitempty"`
	Filter   *Filter `json:"filter,omitempty"`
	Key      string  `json:"key,omitempty"` // Idempotency-Key of the request
}

// Create creates a volume.
type Create struct {
	ID     string `json:"id"`
	User   string `json:"user"`
	Volume Volume `json:"volume"`
	Key    string `json:"key,omitempty"` // Idempotency-Key of the request
}

// Delete deletes a volume of User. The controller then deletes its claim.
type Delete struct {
	User  string `json:"user"`
	ID    string `json:"id"`
	Force bool   `json:"force,omitempty"` // delete the volume even if tasks use it
	Key   string `json:"key,omitempty"`   // Idempotency-Key of the request
}

// EndSessions ends one session of User, or all sessions of User that began earlier in the log.
type EndSessions struct {
	User  string    `json:"user"`
	ID    string    `json:"id,omitempty"` // empty for all sessions
	Until time.Time `json:"until"`        // when the sessions expire, after which the command has no effect
}

// KeyLifetime is the shortest time for which the server remembers an idempotency key, even if
// the object of the key has left the history.
const KeyLifetime = 24 * time.Hour
