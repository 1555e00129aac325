package task

// A Verdict is what the order of the log made of one command. Every pod comes
// to the same one.
type Verdict struct {
	ID       string   `json:"id,omitempty"`       // of the task or volume that the command is about
	Count    int      `json:"count,omitempty"`    // how many tasks a StopAll stopped
	Warnings []string `json:"warnings,omitempty"` // sentences for the user
	Refusal  Refusal  `json:"refusal,omitempty"`  // empty if the command had its effect
	Tasks    []string `json:"tasks,omitempty"`    // ids of those that use the volume, if that is RefusedInUse
	Sums     []string `json:"sums,omitempty"`     // of the uploads that are not there, if that is RefusedMissing
}

// A Refusal says why a command had no effect.
type Refusal string

// The refusals.
const (
	RefusedUnknown Refusal = "unknown" // the user has no such task or volume
	RefusedTaken   Refusal = "taken"   // the id is in use: draw another
	RefusedReused  Refusal = "reused"  // the idempotency key was used for something else
	RefusedInUse   Refusal = "in use"  // tasks that are not over mount the volume
	RefusedLate    Refusal = "late"    // a fact about something already decided
	RefusedMissing Refusal = "missing" // the task names uploads that the user has not, or not any more
	RefusedStray   Refusal = "stray"   // the entry was written for another log, or its writer is forgotten
	RefusedExpired Refusal = "expired" // the entry was stored after Entry.Until: its callers had an answer before
)
