package task

// A Result is what the fold decided about one command. Every pod reaches the same Result.
type Result struct {
	ID        string    `json:"id,omitempty"`        // id of the task or volume of the command
	Count     int       `json:"count,omitempty"`     // number of tasks that a StopAll stopped
	Warnings  []string  `json:"warnings,omitempty"`  // sentences for the user
	Rejection Rejection `json:"rejection,omitempty"` // empty if the command took effect
	Tasks     []string  `json:"tasks,omitempty"`     // for RejectedInUse: ids of the tasks that use the volume
	Sums      []string  `json:"sums,omitempty"`      // for RejectedMissingUploads: SHA-256 of the missing uploads
	Field     string    `json:"field,omitempty"`     // for RejectedPredecessor: after or after_any
	Missing   string    `json:"missing,omitempty"`   // for RejectedPredecessor: the id or key in Field
}

// A Rejection is the reason why a command or a fact had no effect.
type Rejection string

// The reasons of rejections.
const (
	RejectedNotFound       Rejection = "unknown"     // the user has no such task or volume
	RejectedIDExists       Rejection = "taken"       // the id is already in use: choose another id
	RejectedKeyReuse       Rejection = "reused"      // the idempotency key was used for another request
	RejectedInUse          Rejection = "in use"      // tasks that are not over mount the volume
	RejectedStale          Rejection = "late"        // the fact came after the decision
	RejectedMissingUploads Rejection = "missing"     // the user has no such uploads, or no longer
	RejectedUnknownWriter  Rejection = "stray"       // the entry was written for another log, or its writer has expired
	RejectedPredecessor    Rejection = "predecessor" // the user has no task of an id or key in Submit.After or AfterAny
	RejectedTogether       Rejection = "together"    // another submission of the same Submit.Together was rejected
	RejectedTooMany        Rejection = "full"        // too many sessions ended recently
	RejectedExpired        Rejection = "expired"     // the entry was stored after Entry.Until, and its callers already got an error
	RejectedEarly          Rejection = "early"       // the deadline of the task has not passed by log time
)
