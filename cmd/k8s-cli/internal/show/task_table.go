package show

import (
	"io"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/overview"
)

// A Row is one task in a list.
type Row struct {
	overview.Row

	Job       string // name in Kubernetes, without the rank
	Namespace string
	Message   string // the reason as a sentence; empty if only the word is known
}

// RowOf returns the row of a task. The response of a single task does not say which GPUs the
// task requested.
func RowOf(t task.Status) Row {
	m := t.Metadata
	r := Row{
		Row: overview.Row{
			ID: t.ID, Name: t.Name, User: userOf(m.User, t.Username), Group: m.Group, Phase: t.Phase, Reason: m.Reason,
			Created: seconds(&t.CreatedAt), Nodes: m.NumNodes,
			Point: m.Annotations[task.AnnotationPoint],
		},
		Job: m.JobName, Namespace: m.Namespace, Message: m.Message,
	}
	for _, n := range m.Nodes {
		if at := seconds(n.StartedAt); at != 0 && (r.Started == 0 || at < r.Started) {
			r.Started = at
		}
		r.Ended = max(r.Ended, seconds(n.FinishedAt))
	}
	if !t.Phase.Over() {
		r.Ended = 0
	}
	return r
}

// RowsOf returns the rows of tasks.
func RowsOf(tasks []task.Status) []Row {
	rows := make([]Row, len(tasks))
	for i, t := range tasks {
		rows[i] = RowOf(t)
	}
	return rows
}

func seconds(at *time.Time) int64 {
	if at == nil || at.IsZero() {
		return 0
	}
	return at.Unix()
}

// Columns selects the optional columns of a list.
type Columns struct {
	User    bool // the owner
	Details bool // the names in Kubernetes
	Reason  bool // the reason as a sentence, and not only as one word
}

// shortTime is the format of times in a list: seconds, in UTC.
const shortTime = "2006-01-02T15:04:05"

// The steps in which a list of tasks gets narrower. The id, the name and the status always
// stay.
const (
	dropNamespace = iota + 1
	dropJob
	dropCreated // the age says the same
	shrinkReason
	dropGroup
	dropRestarts
	dropNodes
	dropReason
	dropResources
	dropPoint
	dropUser
	dropDuration
	dropAge
)

// Rows writes tasks as a table, in the given order.
func Rows(w io.Writer, s Style, rows []Row, c Columns) { rowTable(rows, c, time.Now()).write(w, s) }

func rowTable(rows []Row, c Columns, now time.Time) table {
	t := table{rows: len(rows)}
	t.column("Task ID", func(i int) string { return rows[i].ID })
	t.column("Name", func(i int) string { return rows[i].Name })
	t.column("Status", func(i int) string { return string(rows[i].Phase) })
	t.add(column{header: "Created", drop: dropCreated}, func(i int) string { return time.Unix(rows[i].Created, 0).UTC().Format(shortTime) })
	if c.User {
		t.add(column{header: "User", drop: dropUser}, func(i int) string { return rows[i].User })
	}
	if slices.ContainsFunc(rows, func(r Row) bool { return r.Group != "" }) {
		t.add(column{header: "Group", drop: dropGroup}, func(i int) string { return rows[i].Group })
	}
	if slices.ContainsFunc(rows, func(r Row) bool { return r.Point != "" }) {
		t.add(column{header: "Grid", drop: dropPoint}, func(i int) string { return rows[i].Point })
	}
	if c.Details {
		t.add(column{header: "Job Name", drop: dropJob}, func(i int) string { return rows[i].Job })
		t.add(column{header: "Namespace", drop: dropNamespace}, func(i int) string { return rows[i].Namespace })
	}
	t.add(column{header: "Age", drop: dropAge}, func(i int) string { return Since(rows[i].Created, now) })
	t.add(column{header: "Duration", drop: dropDuration}, func(i int) string { return lasted(rows[i].Row, now) })
	t.add(column{header: "Nodes", drop: dropNodes}, func(i int) string { return strconv.Itoa(rows[i].Nodes) })
	t.add(column{header: "Resources", drop: dropResources}, func(i int) string { return rows[i].GPUs })
	if slices.ContainsFunc(rows, func(r Row) bool { return r.Restarts > 0 }) {
		t.add(column{header: "Restarts", drop: dropRestarts}, func(i int) string { return strconv.Itoa(rows[i].Restarts) })
	}
	t.add(column{header: "Reason", drop: dropReason, shrink: shrinkReason}, func(i int) string {
		if c.Reason {
			return ReasonNow(rows[i].Reason, rows[i].Message)
		}
		return rows[i].Reason
	})
	return t
}

// Since returns the time since a moment, in the format of kubectl.
func Since(at int64, now time.Time) string {
	if at == 0 {
		return ""
	}
	return duration.HumanDuration(max(now.Sub(time.Unix(at, 0)), 0))
}

// lasted returns for how long the nodes of a task have run, or ran.
func lasted(r overview.Row, now time.Time) string {
	switch {
	case r.Started == 0:
		return ""
	case r.Ended != 0:
		return duration.HumanDuration(time.Duration(max(r.Ended-r.Started, 0)) * time.Second)
	case r.Phase.Over(): // the end is unknown
		return ""
	}
	return Since(r.Started, now)
}

// Count formats a number with commas between thousands.
func Count(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// A GridTask is a task of a grid, with its point: NAME=VALUE of each variable.
type GridTask struct{ ID, Point string }

// Grid writes the tasks of a grid that were submitted.
func Grid(w io.Writer, s Style, tasks []GridTask) {
	Done(w, s, counted(len(tasks), "task")+" submitted successfully")
	t := table{rows: len(tasks)}
	t.column("Task ID", func(i int) string { return tasks[i].ID })
	t.column("Grid", func(i int) string { return tasks[i].Point })
	t.write(w, s)
}
