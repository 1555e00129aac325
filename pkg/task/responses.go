package task

// The bodies that the server answers with, as the specification documents
// them. Times are RFC 3339 in UTC.

import (
	"encoding/json"
	"fmt"
	"time"
)

// Submitted answers POST /tasks/submit.
type Submitted struct {
	ID       string   `json:"task_id"`
	Status   string   `json:"status"`
	Message  string   `json:"message"`
	Warnings []string `json:"warnings,omitempty"`
}

// NewSubmitted returns the answer to an accepted submission.
func NewSubmitted(id string, warnings []string) Submitted {
	return Submitted{id, "submitted", "Task submitted successfully with ID: " + id, warnings}
}

// A Preview answers POST /tasks/preview.
type Preview struct {
	Status   string            `json:"status"`
	Message  string            `json:"message"`
	Warnings []string          `json:"warnings,omitempty"`
	Objects  []json.RawMessage `json:"objects"` // of Kubernetes, which would be created
}

// NewPreview returns the answer to a task that would be accepted.
func NewPreview(objects []json.RawMessage, warnings []string) Preview {
	return Preview{"acceptable", "Task is valid; nothing was submitted", warnings, objects}
}

// A Batch answers POST /tasks/batch.
type Batch struct {
	Results   []BatchResult `json:"results"` // in the order of the tasks
	Submitted int           `json:"submitted"`
	Failed    int           `json:"failed"`
}

// A BatchResult is what became of one task of a batch: it has an id, or else
// the code and the detail that a request of its own would have been answered with.
type BatchResult struct {
	ID       string   `json:"task_id,omitempty"`
	Status   string   `json:"status,omitempty"`
	Message  string   `json:"message,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
	Code     int      `json:"code,omitempty"` // of HTTP; 503 may be tried again
	Detail   string   `json:"detail,omitempty"`
}

// StoppedOne answers POST /tasks/{id}/stop.
type StoppedOne struct {
	ID      string `json:"task_id"`
	Status  string `json:"status"`
	Message string `json:"message"`
}

// NewStoppedOne returns the answer to an accepted stop.
func NewStoppedOne(id string) StoppedOne {
	return StoppedOne{id, "stopped", "Task " + id + " stopped successfully"}
}

// StoppedAll answers POST /tasks/stop. Count is of tasks that were not over.
type StoppedAll struct {
	Count   int    `json:"count"`
	Status  string `json:"status"`
	Message string `json:"message"`
}

// NewStoppedAll returns the answer to an accepted stop of many tasks.
func NewStoppedAll(count int, allUsers bool) StoppedAll {
	message := fmt.Sprintf("Stopped %d tasks", count)
	if allUsers {
		message += " for all users"
	}
	return StoppedAll{count, "stopped", message}
}

// Created answers POST /volumes/create.
type Created struct {
	ID       string   `json:"volume_id"`
	Status   string   `json:"status"`
	Message  string   `json:"message"`
	Warnings []string `json:"warnings,omitempty"`
}

// NewCreated returns the answer to an accepted volume.
func NewCreated(id string, warnings []string) Created {
	return Created{id, "created", "Volume created successfully with ID: " + id, warnings}
}

// Deleted answers DELETE /volumes/{id}.
type Deleted struct {
	ID      string `json:"volume_id"`
	Status  string `json:"status"`
	Message string `json:"message"`
}

// NewDeleted returns the answer to an accepted deletion.
func NewDeleted(id string) Deleted {
	return Deleted{id, "deleted", "Volume " + id + " deleted successfully"}
}

// A Status answers GET /tasks/{id}.
type Status struct {
	ID        string    `json:"task_id"`
	Name      string    `json:"name"`
	Phase     Phase     `json:"status"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"` // the last change of the task
	Username  string    `json:"username"`   // sanitised
	Metadata  Metadata  `json:"metadata"`
}

// Metadata is what a Status says beyond the phase.
type Metadata struct {
	JobName   string   `json:"job_name"` // {name}-{id}, also with several nodes
	Namespace string   `json:"namespace"`
	NumNodes  int      `json:"num_nodes"`
	NodeJobs  []string `json:"node_jobs"`
	Succeeded int      `json:"succeeded_nodes"`
	Failed    int      `json:"failed_nodes"`
	Running   int      `json:"running_nodes"`
	Pending   int      `json:"pending_nodes"`
	User      string   `json:"user"`               // as given
	Reason    string   `json:"reason,omitempty"`   // one word: why it is pending or failed
	Message   string   `json:"message,omitempty"`  // the same as a sentence
	Hint      string   `json:"hint,omitempty"`     // what to do about it, as a sentence
	Position  int      `json:"position,omitempty"` // among the tasks whose Jobs are still to be created, from 1
	Nodes     []Node   `json:"nodes"`              // by rank
}

// A Node is what is known of one node of a task.
type Node struct {
	Rank       int        `json:"rank"`
	Phase      Phase      `json:"status"`
	Job        string     `json:"job"`
	Pod        string     `json:"pod,omitempty"`
	Host       string     `json:"host,omitempty"`
	ExitCode   *int       `json:"exit_code,omitempty"`
	Reason     string     `json:"reason,omitempty"`
	Message    string     `json:"message,omitempty"`
	Hint       string     `json:"hint,omitempty"`   // not in the log
	Output     string     `json:"output,omitempty"` // the last lines of one that failed; in the log, they follow the first line of Message
	StartedAt  *time.Time `json:"started_at,omitempty"`
	FinishedAt *time.Time `json:"finished_at,omitempty"`
}

// A List answers GET /tasks, newest first.
type List struct {
	Tasks []Status `json:"tasks"`
}

// A VolumeStatus answers GET /volumes/{id}.
type VolumeStatus struct {
	ID           string         `json:"volume_id"`
	Name         string         `json:"name"`
	Size         string         `json:"size"`
	StorageClass *string        `json:"storage_class"` // null until the cluster chose its default
	AccessModes  []string       `json:"access_modes"`
	Phase        string         `json:"status"`
	CreatedAt    time.Time      `json:"created_at"`
	Username     string         `json:"username"` // sanitised
	Metadata     VolumeMetadata `json:"metadata"`
}

// VolumeMetadata is what a VolumeStatus says beyond the phase.
type VolumeMetadata struct {
	ClaimName string `json:"pvc_name"`
	Namespace string `json:"namespace"`
	User      string `json:"user"` // as given
	Reason    string `json:"reason,omitempty"`
	Message   string `json:"message,omitempty"`
	Hint      string `json:"hint,omitempty"` // what to do about it, as a sentence
}

// A VolumeList answers GET /volumes, newest first.
type VolumeList struct {
	Volumes []VolumeStatus `json:"volumes"`
}

// A Detail is the body of every error.
type Detail struct {
	Detail string `json:"detail"`
}

// An Answer is a body ready to be sent.
type Answer struct {
	Body  []byte
	ETag  string
	Next  string // cursor of the next page; empty on the last
	Stale string // what the answer may lack: "log; age=3"; empty if nothing
}

// LogOptions choose lines of a task's log. The zero LogOptions mean all that
// there are.
type LogOptions struct {
	Follow     bool          // go on until the task is over
	Tail       *int64        // only the last so many lines of each node
	Since      time.Duration // only lines younger than this; 0 means all
	Node       *int          // only the node of this rank
	Timestamps bool          // each line begins with when it was written, RFC 3339

	// Resume says of some nodes, by rank, from which second on their lines are
	// wanted, whatever Tail and Since say of the others.
	Resume map[int]time.Time
}

// UploadLimits answers GET /uploads.
type UploadLimits struct {
	MaxBytes int64 `json:"max_bytes"` // of one archive
}

// Uploaded answers PUT /uploads/{sha256}.
type Uploaded struct {
	Sum     string `json:"sha256"`
	Size    int64  `json:"size"` // bytes
	Status  string `json:"status"`
	Message string `json:"message"`
}

// NewUploaded returns the answer to an archive that is stored.
func NewUploaded(sum string, size int64) Uploaded {
	return Uploaded{sum, size, "stored", "Upload " + sum + " stored"}
}
