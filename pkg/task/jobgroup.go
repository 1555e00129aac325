package task

import "time"

// JobGroupVariable is the environment variable that holds the name of the job group of a task.
const JobGroupVariable = "SKYPILOT_JOBGROUP_NAME"

// A JobGroup is the membership of a task in a job group: tasks of one submission that start
// together or not at all, and that reach each other by name.
type JobGroup struct {
	ID      string `json:"id,omitempty"` // id of the first task; several job groups may have the same name
	Name    string `json:"name"`
	Index   int    `json:"index,omitempty"`             // position of the task in the job group, from 0
	Tasks   int    `json:"tasks"`                       // number of tasks
	Jobs    int    `json:"jobs"`                        // number of nodes of all tasks
	Primary bool   `json:"primary,omitempty"`           // the job group is done when its primary tasks are
	Delay   int    `json:"termination_delay,omitempty"` // seconds for which an auxiliary task runs after that
}

// Leads reports whether the task is the first of its job group. The Jobs of all tasks are
// admitted and created with those of the first task.
func (g *JobGroup) Leads() bool { return g != nil && g.Index == 0 }

// Follows reports whether the task belongs to a job group and is not its first task.
func (g *JobGroup) Follows() bool { return g != nil && g.Index > 0 }

// TerminationDelay returns how long an auxiliary task runs after the primary tasks.
func (g *JobGroup) TerminationDelay() time.Duration { return time.Duration(g.Delay) * time.Second }

// Role returns the role of the task: primary or auxiliary.
func (g *JobGroup) Role() string {
	if g.Primary {
		return "primary"
	}
	return "auxiliary"
}
