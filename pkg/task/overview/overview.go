// Package overview defines the short responses of the server. They are tasks as rows of a
// table, counts of tasks, and the capacity of the cluster.
package overview

import (
	"strconv"
	"time"

	"k8s-cli/pkg/task"
)

// A Row is one task as a row of a table. Times are in seconds since 1970; absent times are 0.
type Row struct {
	ID      string     `json:"id"`
	Name    string     `json:"name"`
	User    string     `json:"user"`
	Group   string     `json:"group,omitempty"`
	Phase   task.Phase `json:"status"`
	Reason  string     `json:"reason,omitempty"` // as in task.Metadata
	Created int64      `json:"created"`
	Started int64      `json:"started,omitempty"` // when the first node began to run
	Ended   int64      `json:"ended,omitempty"`   // when the log recorded that the task was over
	Nodes   int        `json:"nodes"`
	GPUs    string     `json:"gpus,omitempty"` // of each node: COUNT, or MODEL:COUNT

	Restarts int    `json:"restarts,omitempty"` // restarts of all nodes
	Point    string `json:"point,omitempty"`    // of a sweep: NAME=VALUE of each variable; see task.AnnotationPoint

	// Of the first failed node of a failed task: its exit code, and the last line of its output, at
	// most LongestLine bytes.
	ExitCode *int   `json:"exit_code,omitempty"`
	LastLine string `json:"last_line,omitempty"`
}

// LongestLine is the size limit of Row.LastLine in bytes.
const LongestLine = 200

// Rows is the body of GET /tasks?view=row.
type Rows struct {
	Tasks []Row `json:"tasks"`
}

// Time returns a time of a Row, the zero Time if it is absent.
func Time(seconds int64) time.Time {
	if seconds == 0 {
		return time.Time{}
	}
	return time.Unix(seconds, 0).UTC()
}

// Seconds returns a time as a Row contains it.
func Seconds(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Unix()
}

const maxGPUText = 32 // bytes

// GPUText returns requested accelerators as COUNT or MODEL:COUNT, or only COUNT if the name of
// the model is very long.
func GPUText(accelerators string) string {
	if accelerators == "" {
		return ""
	}
	model, count, err := task.Resources{Accelerators: accelerators}.GPUs()
	if err != nil {
		return ""
	}
	text := strconv.Itoa(count)
	if most := maxGPUText - 1 - len(text); model != "" && len(model) <= most {
		return model + ":" + text
	}
	return text
}

// Counts maps each phase to a number of tasks. Phases without tasks are present.
type Counts map[task.Phase]int

// A Summary is the body of GET /summary: how many tasks there are.
type Summary struct {
	Total    int               `json:"total"`
	ByStatus Counts            `json:"by_status"`
	ByReason map[string]int    `json:"by_reason"`         // tasks with a reason
	ByUser   map[string]Counts `json:"by_user,omitempty"` // only for the tasks of all users
	Backlog  Backlog           `json:"backlog"`
}

// A Backlog describes the tasks whose Jobs do not exist yet.
type Backlog struct {
	Tasks  int        `json:"tasks"`
	Oldest *time.Time `json:"oldest,omitempty"` // when the task that waits longest was submitted
	Rate   float64    `json:"tasks_per_second"` // tasks whose Jobs the server created per second recently, of all users; 0 if unknown
}

// Age returns for how long the oldest task of the backlog has waited, 0 for an empty backlog.
func (b Backlog) Age(now time.Time) time.Duration {
	if b.Oldest == nil {
		return 0
	}
	return max(0, now.Sub(*b.Oldest))
}

// A Capacity is the body of GET /capacity: what the machines of the cluster offer to pods, and
// how much of it the tasks of this server have requested.
type Capacity struct {
	Known   bool       `json:"known"`   // false if the server cannot see the machines
	Total   Resources  `json:"total"`   // of the machines that accept pods
	Waiting Amounts    `json:"waiting"` // requests of the tasks' pods that have no machine yet
	GPUs    []GPUModel `json:"gpus"`    // by model, of the machines that accept pods
	Nodes   []Node     `json:"nodes"`   // by name
}

// Resources compares what machines offer with what the tasks have requested.
type Resources struct {
	Allocatable Amounts `json:"allocatable"`
	Requested   Amounts `json:"requested"`
	Free        Amounts `json:"free"` // Allocatable minus Requested; other programs may use some of it
}

// Amounts are amounts of resources.
type Amounts struct {
	CPUs   float64 `json:"cpus"`
	Memory int64   `json:"memory_bytes"`
	GPUs   int64   `json:"gpus"`
	Pods   int64   `json:"pods"`
}

// A Node is one machine of the cluster.
type Node struct {
	Name        string `json:"name"`
	GPU         string `json:"gpu,omitempty"` // model
	Ready       bool   `json:"ready"`
	Schedulable bool   `json:"schedulable"`     // neither cordoned nor tainted
	Taint       string `json:"taint,omitempty"` // the first taint that repels pods

	Resources
}

// A GPUModel is all machines with one model of GPUs.
type GPUModel struct {
	Model       string `json:"model"`   // empty if no label of the machine names the model
	Nodes       int    `json:"nodes"`   // machines
	Largest     int64  `json:"largest"` // GPUs of the largest machine
	Allocatable int64  `json:"allocatable"`
	Requested   int64  `json:"requested"`
	Free        int64  `json:"free"`
	LargestFree int64  `json:"largest_free"` // free GPUs of the machine with the most
}
