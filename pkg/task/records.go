package task

import (
	"cmp"
	"time"

	"k8s-cli/pkg/task/outputs"
)

// A Record is the state of a task according to the log. Records are immutable: a change
// creates a new Record. Snapshots contain Records as JSON.
type Record struct {
	// Most of Submit.Task is dropped after Applied, and its Uploads when the task is over.
	Submit    Submit    `json:"submit"`
	Hash      string    `json:"hash"`              // hash of the submission
	Seq       uint64    `json:"seq"`               // position of the submission in the log
	Order     uint64    `json:"order"`             // number of the submission among all submissions, from 1
	CreatedAt time.Time `json:"created_at"`        // when the submission was stored
	UpdatedAt time.Time `json:"updated_at"`        // when the last command or fact about the task was stored; never decreases
	EndSeq    uint64    `json:"end_seq,omitempty"` // position in the log at which the task was over; 0 before

	Claims    map[string]string `json:"claims"`           // nil until Resolved
	UIDs      []string          `json:"uids"`             // of the Jobs by rank; nil until Applied
	Phase     Phase             `json:"phase"`            // latest phase in the log
	Nodes     []Node            `json:"nodes,omitempty"`  // as of Started or Ended
	Reason    string            `json:"reason,omitempty"` // of a failure, or of a delay while Pending
	Message   string            `json:"message,omitempty"`
	Outputs   []outputs.Record  `json:"outputs,omitempty"`    // by rank
	Attempts  []Attempt         `json:"attempts,omitempty"`   // by rank and number, without Output; see package attempt for the limit
	CleanedUp bool              `json:"cleaned_up,omitempty"` // the task is over, and the cluster has no object of it left

	Admitted bool `json:"admitted,omitempty"` // the task may have Jobs
	Adopted  bool `json:"adopted,omitempty"`  // the record was made from the Jobs of the task, because the log was lost

	// when the start of the first container was stored; only for a task with a max_duration
	StartedAt time.Time `json:"started_at,omitzero"`

	StopAt   time.Time     `json:"stop_at,omitzero"`    // when an auxiliary task of a job group ends, because the primary tasks have completed
	Held     bool          `json:"held,omitempty"`      // the task waits because its group has reached Submit.MaxParallel
	WaitsFor []Predecessor `json:"waits_for,omitempty"` // tasks that must end before this task may be admitted
}

// A Predecessor is a task that is not over, and for which another task waits.
type Predecessor struct {
	ID  string `json:"id"`
	Any bool   `json:"any,omitempty"` // the predecessor may end in any phase, and must complete otherwise
}

// Deadline returns the time at which the task has run for its max_duration; ok is false
// without a max_duration, and before the task starts.
func (r *Record) Deadline() (at time.Time, ok bool) {
	limit, err := r.Submit.Task.TimeLimit()
	if limit == 0 || err != nil || r.StartedAt.IsZero() {
		return time.Time{}, false
	}
	return r.StartedAt.Add(limit), true
}

// TraceID returns the id of the trace of the submission, 32 hexadecimal digits. TraceID
// returns "" if there is no trace, and after the task has been applied.
func (r *Record) TraceID() string {
	const begin, end = len("00-"), len("00-") + 32 // of a traceparent
	if len(r.Submit.Trace) < end {
		return ""
	}
	return r.Submit.Trace[begin:end]
}

// NumNodes returns the number of nodes of the task.
func (r *Record) NumNodes() int { return r.Submit.Task.Nodes() }

// Gang reports whether the Jobs of the task start together with other Jobs: the task has several
// nodes, or belongs to a job group. The Jobs of a gang are created suspended, and their pods reach
// each other.
func (r *Record) Gang() bool { return r.NumNodes() > 1 || r.Submit.JobGroup != nil }

// JobsToAdmit returns the number of Jobs that the admission of the task admits: those of its job
// group if the task is the first, and its own otherwise.
func (r *Record) JobsToAdmit() int {
	if r.Submit.JobGroup.Leads() {
		return r.Submit.JobGroup.Jobs
	}
	return r.NumNodes()
}

// Name returns the name of the task as shown.
func (r *Record) Name() string { return DisplayName(r.Submit.Task.Name, r.Submit.ID) }

// JobNames returns the names of the task's Jobs, by rank.
func (r *Record) JobNames() []string {
	return JobNames(r.Submit.Task.Name, r.Submit.ID, r.NumNodes())
}

// A VolumeRecord is the state of a volume according to the log. VolumeRecords are
// immutable.
type VolumeRecord struct {
	Create    Create    `json:"create"`
	Hash      string    `json:"hash"`
	Seq       uint64    `json:"seq"`
	Order     uint64    `json:"order"`
	CreatedAt time.Time `json:"created_at"`

	UID       string    `json:"uid,omitempty"`        // of the claim; empty until Applied
	Deleted   bool      `json:"deleted,omitempty"`    // the owner deleted the volume; only the controller still reads the record
	DeletedAt time.Time `json:"deleted_at,omitzero"`  // when the deletion was stored
	EndSeq    uint64    `json:"end_seq,omitempty"`    // position of the deletion in the log
	CleanedUp bool      `json:"cleaned_up,omitempty"` // the volume is deleted, and the cluster has no object of it left
	Rejected  bool      `json:"rejected,omitempty"`
	Phase     string    `json:"phase,omitempty"`  // of the claim, as of Claimed; empty before
	Reason    string    `json:"reason,omitempty"` // of a rejection, or of a delay before Applied
	Message   string    `json:"message,omitempty"`
}

// CurrentPhase returns the phase of the volume according to the log.
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
