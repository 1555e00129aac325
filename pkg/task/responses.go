package task

// The bodies of the server's responses, as the specification documents them. Times are RFC
// 3339 in UTC.

import (
	"encoding/json"
	"fmt"
	"time"

	"k8s-cli/pkg/task/outputs"
)

// Submitted is the body of POST /tasks/submit.
type Submitted struct {
	ID       string   `json:"task_id"`
	Status   string   `json:"status"`
	Message  string   `json:"message"`
	Warnings []string `json:"warnings,omitempty"`
}

// NewSubmitted returns the body for an accepted submission.
func NewSubmitted(id string, warnings []string) Submitted {
	return Submitted{id, "submitted", "Task submitted successfully with ID: " + id, warnings}
}

// A Preview is the body of POST /tasks/preview.
type Preview struct {
	Status   string            `json:"status"`
	Message  string            `json:"message"`
	Warnings []string          `json:"warnings,omitempty"`
	Objects  []json.RawMessage `json:"objects"` // Kubernetes objects that the server would create
}

// NewPreview returns the body for a task that the server would accept.
func NewPreview(objects []json.RawMessage, warnings []string) Preview {
	return Preview{"acceptable", "Task is valid; nothing was submitted", warnings, objects}
}

// A Batch is the body of POST /tasks/batch.
type Batch struct {
	Results   []BatchResult `json:"results"` // in the order of the tasks
	Submitted int           `json:"submitted"`
	Failed    int           `json:"failed"`
}

// A BatchResult is the result of one task of a batch: either an id, or the status code and
// the detail of the error that a single submission would get.
type BatchResult struct {
	ID       string   `json:"task_id,omitempty"`
	Status   string   `json:"status,omitempty"`
	Message  string   `json:"message,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
	Code     int      `json:"code,omitempty"` // HTTP status; 503 may be retried
	Detail   string   `json:"detail,omitempty"`
	Reason   string   `json:"reason,omitempty"` // as in Detail
	Field    string   `json:"field,omitempty"`  // as in Detail
}

// StopResponse is the body of POST /tasks/{id}/stop.
type StopResponse struct {
	ID      string `json:"task_id"`
	Status  string `json:"status"`
	Message string `json:"message"`
}

// NewStopResponse returns the body for an accepted stop.
func NewStopResponse(id string) StopResponse {
	return StopResponse{id, "stopped", "Task " + id + " stopped successfully"}
}

// StopAllResponse is the body of POST /tasks/stop. Count is the number of tasks that were not
// over.
type StopAllResponse struct {
	Count   int    `json:"count"`
	Status  string `json:"status"`
	Message string `json:"message"`
}

// NewStopAllResponse returns the body for an accepted stop of all tasks.
func NewStopAllResponse(count int, allUsers bool) StopAllResponse {
	message := fmt.Sprintf("Stopped %d tasks", count)
	if allUsers {
		message += " for all users"
	}
	return StopAllResponse{count, "stopped", message}
}

// Created is the body of POST /volumes/create.
type Created struct {
	ID       string   `json:"volume_id"`
	Status   string   `json:"status"`
	Message  string   `json:"message"`
	Warnings []string `json:"warnings,omitempty"`
}

// NewCreated returns the body for an accepted volume.
func NewCreated(id string, warnings []string) Created {
	return Created{id, "created", "Volume created successfully with ID: " + id, warnings}
}

// Deleted is the body of DELETE /volumes/{id}.
type Deleted struct {
	ID      string `json:"volume_id"`
	Status  string `json:"status"`
	Message string `json:"message"`
}

// NewDeleted returns the body for an accepted deletion.
func NewDeleted(id string) Deleted {
	return Deleted{id, "deleted", "Volume " + id + " deleted successfully"}
}

// A Status is the body of GET /tasks/{id}.
type Status struct {
	ID        string    `json:"task_id"`
	Name      string    `json:"name"`
	Phase     Phase     `json:"status"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"` // last change of the task
	Username  string    `json:"username"`   // sanitised user name
	Metadata  Metadata  `json:"metadata"`
}

// Metadata contains the details of a Status.
type Metadata struct {
	JobName   string   `json:"job_name"` // {name}-{id}, also for several nodes
	Namespace string   `json:"namespace"`
	NumNodes  int      `json:"num_nodes"`
	NodeJobs  []string `json:"node_jobs"`
	Succeeded int      `json:"succeeded_nodes"`
	Failed    int      `json:"failed_nodes"`
	Running   int      `json:"running_nodes"`
	Pending   int      `json:"pending_nodes"`
	User      string   `json:"user"`                     // exact user name
	Group     string   `json:"group,omitempty"`          // of the task
	Ports     []string `json:"ports,omitempty"`          // as in Resources
	JobGroup  string   `json:"job_group,omitempty"`      // name of the job group of the task
	GroupID   string   `json:"job_group_id,omitempty"`   // id of the first task of the job group
	GroupRole string   `json:"job_group_role,omitempty"` // primary or auxiliary
	Reason    string   `json:"reason,omitempty"`         // why the task is pending or failed, in one word
	Message   string   `json:"message,omitempty"`        // why, in a sentence
	Hint      string   `json:"hint,omitempty"`           // what to do, in a sentence
	Position  int      `json:"position,omitempty"`       // position in the backlog, from 1
	Attempt   int      `json:"attempt,omitempty"`        // largest number of the nodes' attempts; 0 if no node is ever restarted
	Restarts  int      `json:"restarts,omitempty"`       // restarts of all nodes
	// largest number of restarts of each node after failures
	MaxRestarts int        `json:"max_restarts,omitempty"`
	MaxDuration string     `json:"max_duration,omitempty"` // as in Spec
	Deadline    *time.Time `json:"deadline,omitempty"`     // when the server ends the task because of its max_duration; only while the task runs
	StopsAt     *time.Time `json:"stops_at,omitempty"`     // when the server ends an auxiliary task of a job group; only while the task runs
	Nodes       []Node     `json:"nodes"`                  // by rank

	Outputs     []outputs.Output  `json:"outputs,omitempty"`     // by node, once the server knows of them
	Annotations map[string]string `json:"annotations,omitempty"` // as in Spec
}

// A Node describes one node of a task.
type Node struct {
	Rank     int    `json:"rank"`
	Phase    Phase  `json:"status"`
	Job      string `json:"job"`
	Pod      string `json:"pod,omitempty"`
	Host     string `json:"host,omitempty"`
	ExitCode *int   `json:"exit_code,omitempty"`
	Reason   string `json:"reason,omitempty"`
	Message  string `json:"message,omitempty"`
	Hint     string `json:"hint,omitempty"` // not in the log
	// Last lines of a failed node. In the log, these lines follow the first line of
	// Message.
	LastLines  string     `json:"output,omitempty"`
	StartedAt  *time.Time `json:"started_at,omitempty"`
	FinishedAt *time.Time `json:"finished_at,omitempty"`

	Attempt     int       `json:"attempt,omitempty"`      // as in Metadata; not in the log
	MaxAttempts int       `json:"max_attempts,omitempty"` // as in Attempt; not in the log
	Attempts    []Attempt `json:"attempts,omitempty"`     // earlier attempts, the first and the last ones; not in the log

	MaxUsed *Amounts `json:"max_used,omitempty"` // as in TopNode; once the task has completed or failed
}

// An Attempt describes a pod of a node that ended, after which the node starts again.
type Attempt struct {
	Rank        int        `json:"rank"`
	Number      int        `json:"attempt"`                // from 1
	MaxAttempts int        `json:"max_attempts,omitempty"` // largest number that is possible after this attempt; 0 if unknown or unlimited
	Pod         string     `json:"pod"`
	UID         string     `json:"uid"` // of the pod
	Host        string     `json:"host,omitempty"`
	ExitCode    *int       `json:"exit_code,omitempty"`
	Reason      string     `json:"reason,omitempty"`
	Message     string     `json:"message,omitempty"`
	LastLines   string     `json:"output,omitempty"` // of the output
	Free        bool       `json:"free,omitempty"`   // the restart does not count towards max_restarts_on_errors
	CreatedAt   time.Time  `json:"created_at"`       // of the pod
	StartedAt   *time.Time `json:"started_at,omitempty"`
	FinishedAt  *time.Time `json:"finished_at,omitempty"`
}

// A List is the body of GET /tasks, newest first.
type List struct {
	Tasks []Status `json:"tasks"`
}

// A VolumeStatus is the body of GET /volumes/{id}.
type VolumeStatus struct {
	ID           string         `json:"volume_id"`
	Name         string         `json:"name"`
	Size         string         `json:"size"`
	StorageClass *string        `json:"storage_class"` // null until the cluster has chosen its default
	AccessModes  []string       `json:"access_modes"`
	Phase        string         `json:"status"`
	CreatedAt    time.Time      `json:"created_at"`
	Username     string         `json:"username"` // sanitised user name
	Metadata     VolumeMetadata `json:"metadata"`
}

// VolumeMetadata contains the details of a VolumeStatus.
type VolumeMetadata struct {
	ClaimName string `json:"pvc_name"`
	Namespace string `json:"namespace"`
	User      string `json:"user"` // exact user name
	Reason    string `json:"reason,omitempty"`
	Message   string `json:"message,omitempty"`
	Hint      string `json:"hint,omitempty"` // what to do, in a sentence
}

// A VolumeList is the body of GET /volumes, newest first.
type VolumeList struct {
	Volumes []VolumeStatus `json:"volumes"`
}

// A Detail is the body of every error.
type Detail struct {
	Detail string `json:"detail"`           // sentence for people
	Reason string `json:"reason,omitempty"` // word for programs; see package problem
	Field  string `json:"field,omitempty"`  // field, parameter or header that is wrong
}

// An Answer is an encoded response.
type Answer struct {
	Body  []byte
	ETag  string
	Next  string // cursor of the next page; empty on the last page
	Stale string // in what respect the response is stale, for example "log; age=3"; empty if it is not
}

// LogOptions selects lines of a task's log. The zero LogOptions selects all present lines.
type LogOptions struct {
	Follow     bool          // continue until the task is over
	Tail       *int64        // only this number of last lines of each node; nil means all
	Since      time.Duration // only lines younger than this; 0 means all
	Node       *int          // only the node of this rank; nil means all
	Attempt    int           // only the attempts of this number; 0 means all
	Timestamps bool          // each line begins with its time in RFC 3339

	// Resume maps ranks to the seconds from which to send the lines of these nodes. Tail
	// and Since apply only to the other nodes.
	Resume map[int]time.Time

	Ping time.Duration // silence after which an empty line is written; 0 means never
}

// UploadLimits is the body of GET /uploads.
type UploadLimits struct {
	MaxBytes int64 `json:"max_bytes"` // largest archive, in bytes
}

// Uploaded is the body of PUT /uploads/{sha256}.
type Uploaded struct {
	Sum     string `json:"sha256"`
	Size    int64  `json:"size"` // bytes
	Status  string `json:"status"`
	Message string `json:"message"`
}

// NewUploaded returns the body for a stored archive.
func NewUploaded(sum string, size int64) Uploaded {
	return Uploaded{sum, size, "stored", "Upload " + sum + " stored"}
}
