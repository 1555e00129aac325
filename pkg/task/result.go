package task

// A Result is what the order of the log made of one command. Every pod comes
// to the same one.
type Result struct {
	ID        string    `json:"id,omitempty"`       // of the task or volume that the command is about
	Count     int       `json:"count,omitempty"`    // how many tasks a StopAll stopped
	Warnings  []string  `json:"warnings,omitempty"` // sentences for the user
	Rejection Rejection `json:"refusal,omitempty"`  // empty if the command had its effect
	Tasks     []string  `json:"tasks,omitempty"`    // ids of those that use the volume, if that is RejectedInUse
	Sums      []string  `json:"sums,omitempty"`     // of the uploads that are not there, if that is RejectedMissingUploads
}

// A Rejection says why a command had no effect.
type Rejection string

// The refusals.
const (
	RejectedNotFound       Rejection = "unknown" // the user has no such task or volume
	RejectedIDExists       Rejection = "taken"   // the id is in use: draw another
	RejectedKeyReuse       Rejection = "reused"  // the idempotency key was used for something else
	RejectedInUse          Rejection = "in use"  // tasks that are not over mount the volume
	RejectedStale          Rejection = "late"    // a fact about something already decided
	RejectedMissingUploads Rejection = "missing" // the task names uploads that the user has not, or not any more
	RejectedUnknownWriter  Rejection = "stray"   // the entry was written for another log, or its writer is forgotten
	RejectedExpired        Rejection = "expired" // the entry was stored after Entry.Until: its callers had an answer before
)
