// Package query defines the parameters of lists of tasks. They are the filters, the order and
// the pages of GET /tasks. The client writes the parameters, and the server reads them. The
// package performs no I/O.
package query

import (
	"net/url"
	"strconv"

	"k8s-cli/pkg/task"
)

// Tasks selects tasks. A task must match every field that is set. The zero Tasks selects all
// tasks of the caller, newest first.
type Tasks struct {
	AllUsers     bool
	User         string       // only tasks of this user; empty means the caller, or all users with AllUsers
	Phases       []task.Phase // one of these
	Name         string       // the whole name
	NamePrefix   string
	NameContains []string // all of these, in upper or lower case
	Labels       []string // all of these: KEY=VALUE, or KEY for any value
	Annotations  []string // all of these: KEY=VALUE, or KEY for any value
	Points       []string // all of these variables of a sweep: NAME=VALUE
	Reasons      []string // one of these, in upper or lower case
	Group        string   // name of the group
	GPUs         []string // one of these, requested by each node: COUNT, NAME or NAME:COUNT
	Machines     []string // a node of the task has one of these machines
	ExitCodes    []int    // a node of the task has one of these exit codes
	// only tasks that were submitted since or before: an age such as 90s, 3h or 2d, or a time in RFC 3339
	Since, Before string

	// Not excludes the tasks that one value of Not alone selects. Only the filters that are negatable
	// may be set; nil excludes nothing.
	Not *Tasks

	Sort   Sort   // empty means -created: newest first
	Limit  int    // largest number of tasks on a page; 0 means all
	Cursor string // of the page, from the page before; empty means the first page
	Offset int    // tasks to skip before the page, after the cursor if there is one
	View   View
}

// A Sort names the field by which tasks are sorted, in ascending order, or in descending order
// after the prefix "-".
type Sort string

// The fields by which tasks can be sorted.
const (
	ByCreated = "created" // order of the submissions in the log
	ByStarted = "started" // when the first node began to run
	ByEnded   = "ended"   // when the task was over
	ByName    = "name"
	ByStatus  = "status" // pending, running, completed, failed, stopped
)

// Fields lists the fields by which tasks can be sorted.
var Fields = []string{ByCreated, ByStarted, ByEnded, ByName, ByStatus}

// Phases lists the phases of tasks, in the order of ByStatus.
var Phases = []task.Phase{task.Pending, task.Running, task.Completed, task.Failed, task.Stopped}

// A View says how much of each task the list contains.
type View string

// The views of a list.
const (
	Full View = ""    // the body of GET /tasks/{id}
	Row  View = "row" // the columns of a table
)

// The names of the parameters.
const (
	paramAllUsers     = "all_users"
	paramUser         = "user"
	paramStatus       = "status"
	paramName         = "name"
	paramNamePrefix   = "name_prefix"
	paramNameContains = "name_contains"
	paramLabel        = "label"
	paramAnnotation   = "annotation"
	paramReason       = "reason"
	paramPoint        = "point"
	paramGPUs         = "gpus"
	paramMachine      = "machine"
	paramExit         = "exit"
	paramSince        = "since"
	paramBefore       = "before"
	paramGroup        = "group"
	paramSort         = "sort"
	paramLimit        = "limit"
	paramCursor       = "cursor"
	paramOffset       = "offset"
	paramView         = "view"

	negation = "not_" // before the name of a filter
)

// negatable lists the filters that may have the prefix negation, and exclude tasks then.
var negatable = []string{
	paramStatus, paramName, paramNamePrefix, paramNameContains, paramLabel, paramAnnotation, paramPoint, paramReason, paramGroup,
	paramGPUs, paramMachine, paramExit,
}

// Values returns the parameters as the query of a URL.
func (t Tasks) Values() url.Values {
	v := url.Values{}
	set := func(name, value string) {
		if value != "" {
			v.Set(name, value)
		}
	}
	if t.AllUsers {
		v.Set(paramAllUsers, "true")
	}
	for _, p := range t.Phases {
		v.Add(paramStatus, string(p))
	}
	for _, code := range t.ExitCodes {
		v.Add(paramExit, strconv.Itoa(code))
	}
	for name, values := range map[string][]string{
		paramNameContains: t.NameContains, paramLabel: t.Labels, paramAnnotation: t.Annotations, paramPoint: t.Points,
		paramReason: t.Reasons, paramGPUs: t.GPUs, paramMachine: t.Machines,
	} {
		if len(values) > 0 {
			v[name] = values
		}
	}
	if t.Not != nil {
		for name, values := range t.Not.Values() {
			v[negation+name] = values
		}
	}
	set(paramUser, t.User)
	set(paramName, t.Name)
	set(paramNamePrefix, t.NamePrefix)
	set(paramSince, t.Since)
	set(paramBefore, t.Before)
	set(paramGroup, t.Group)
	set(paramSort, string(t.Sort))
	set(paramCursor, t.Cursor)
	set(paramView, string(t.View))
	if t.Limit > 0 {
		v.Set(paramLimit, strconv.Itoa(t.Limit))
	}
	if t.Offset > 0 {
		v.Set(paramOffset, strconv.Itoa(t.Offset))
	}
	return v
}
