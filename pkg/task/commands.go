package task

import "time"

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

// KeyLife is how long an idempotency key is known at least after its command,
// even if the history has no more room for what that made.
const KeyLife = 24 * time.Hour
