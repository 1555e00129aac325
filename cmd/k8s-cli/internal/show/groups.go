package show

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/group"
	"k8s-cli/pkg/task/query"
)

// The steps in which a list of groups gets narrower.
const (
	dropGroupUser = iota + 1
	dropGroupEnd
	dropGroupCounts
	shrinkFailure
	dropFailure
	dropGroupDuration
	dropGroupAge
)

// Groups writes groups as a table, in the given order.
func Groups(w io.Writer, s Style, groups []group.Group, withUser bool) {
	groupTable(groups, withUser, time.Now()).write(w, s)
}

func groupTable(groups []group.Group, withUser bool, now time.Time) table {
	t := table{rows: len(groups)}
	t.column("Group", func(i int) string { return groups[i].Name })
	if withUser {
		t.add(column{header: "User", drop: dropGroupUser}, func(i int) string { return groups[i].User })
	}
	t.column("Status", func(i int) string { return string(groups[i].Phase) })
	t.column("Tasks", func(i int) string { return strconv.Itoa(groups[i].Total) })
	t.column("Progress", func(i int) string { return fmt.Sprintf("%.0f%%", 100*groups[i].Progress) })
	t.add(column{header: "Counts", drop: dropGroupCounts}, func(i int) string { return groupCounts(groups[i]) })
	t.add(column{header: "Age", drop: dropGroupAge}, func(i int) string { return Since(groups[i].SubmittedAt.Unix(), now) })
	t.add(column{header: "Duration", drop: dropGroupDuration}, func(i int) string { return groupDuration(groups[i], now) })
	t.add(column{header: "Ends in", drop: dropGroupEnd}, func(i int) string { return timeLeft(groups[i], now) })
	t.add(column{header: "First failure", drop: dropFailure, shrink: shrinkFailure}, func(i int) string { return Failure(groups[i].First) })
	return t
}

// groupCounts returns the number of tasks in each phase that has tasks.
func groupCounts(g group.Group) string {
	var parts []string
	for _, p := range query.Phases {
		if n := g.ByStatus[p]; n > 0 {
			parts = append(parts, Count(n)+" "+string(p))
		}
	}
	return strings.Join(parts, ", ")
}

// groupDuration returns for how long the tasks of a group have run, or ran.
func groupDuration(g group.Group, now time.Time) string {
	switch {
	case g.StartedAt == nil:
		return ""
	case g.EndedAt != nil:
		return duration.HumanDuration(max(g.EndedAt.Sub(*g.StartedAt), 0))
	}
	return Since(g.StartedAt.Unix(), now)
}

// timeLeft returns the estimated time until the last task ends. An estimate that has passed is
// wrong: the tasks take longer than before.
func timeLeft(g group.Group, now time.Time) string {
	if g.EstimatedAt == nil || !g.EstimatedAt.After(now) {
		return ""
	}
	return duration.HumanDuration(g.EstimatedAt.Sub(now))
}

// Failure describes a failed task in one line, "" for no task.
func Failure(f *group.Failure) string {
	if f == nil {
		return ""
	}
	text := f.ID
	if f.Point != "" {
		text += " (" + f.Point + ")"
	}
	if f.ExitCode != nil {
		text += fmt.Sprintf(", exit code %d", *f.ExitCode)
	}
	if f.Reason != "" {
		text += ", " + f.Reason
	}
	return Plain(text)
}

// Group describes the state of a group in one line.
func Group(g group.Group) string {
	text := "Group " + g.Name
	switch over := g.Over(); {
	case over < g.Total:
		text += fmt.Sprintf(": %s of %s tasks have ended, %s", Count(over), Count(g.Total), groupCounts(g))
	case g.Phase == task.Stopped:
		text += " was stopped: " + groupCounts(g)
	default:
		text += " " + string(g.Phase) + ": " + groupCounts(g)
	}
	if g.First != nil {
		text += "; first failure: " + Failure(g.First)
	}
	return Plain(text)
}
