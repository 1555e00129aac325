package task

import (
	"cmp"
	"time"
)

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
