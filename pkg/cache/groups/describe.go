package groups

import (
	"math"
	"time"

	"k8s-cli/pkg/cache/state"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/group"
	"k8s-cli/pkg/task/overview"
	"k8s-cli/pkg/task/query"
)

// Describe returns the state of the group. Describe visits no task except the first and the last
// ones.
func (g *Group[T]) Describe() group.Group {
	d := group.Group{Name: g.Name, User: g.User, ByStatus: overview.Counts{}, SubmittedAt: g.Tasks[0].Record().CreatedAt, StartedAt: moment(g.started)}
	for _, p := range query.Phases {
		d.ByStatus[p] = 0
	}
	for class, n := range g.Counts {
		d.ByStatus[class.Phase()] += n
		d.Total += n
	}
	d.Phase = group.Status(d.ByStatus)
	over := d.Over()
	if d.Total > 0 {
		d.Progress = math.Floor(1000*float64(over)/float64(d.Total)) / 1000
	}
	var none T
	if over == d.Total && g.last != none {
		d.EndedAt = moment(g.last.Record().Ended())
	}
	ended := d.ByStatus[task.Completed] + d.ByStatus[task.Failed]
	d.EstimatedAt = moment(g.pace.estimate(d.Total-over, ended, g.started))
	if g.first != none {
		d.First = failureOf(g.first.Record())
	}
	return d
}

func failureOf(t *state.CompactRecord) *group.Failure {
	r := t.Record()
	f := &group.Failure{ID: t.ID, Name: t.Name(), Reason: r.Reason, Message: r.Message, EndedAt: t.Ended(), Point: t.Annotations()[task.AnnotationPoint]}
	for _, n := range r.Nodes {
		if n.Phase == task.Failed && n.ExitCode != nil {
			f.ExitCode = n.ExitCode
			break
		}
	}
	return f
}

func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
