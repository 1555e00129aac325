package cache

import (
	"slices"

	"k8s-cli/pkg/cache/selection"
	"k8s-cli/pkg/task"
)

// count counts a task of the index under another class; the zero Class means that the task
// leaves the index.
func (x *index) count(i *taskItem, now selection.Class) {
	if i.class == now {
		return
	}
	for _, u := range []*userIndex{x.all, x.byUser[i.record.User()]} {
		if u != nil {
			u.counts.Move(i.class, now)
		}
	}
	x.groups.Move(i, i.class, now)
	i.class = now
}

// listedAs returns the class under which a task is counted, with the reason of View.Explain.
func (i *taskItem) listedAs(phase task.Phase, v *task.View) selection.Class {
	switch {
	case i.stage == stageWaiting && len(i.jobs) == 0:
		return selection.WaitingClass()
	case i.stage == stageCreating && len(i.jobs) == 0:
		return selection.NewClass(phase, task.ReasonBacklog)
	case phase == task.Running && v.Reason == "" && v.Notes == nil, phase == task.Pending && !explainable(v):
		return selection.NewClass(phase, "") // the frequent cases, without memory
	}
	return selection.NewClass(phase, v.Explain(v.NodeList()).Reason)
}

// explainable reports whether a pending task or one of its nodes may have a reason.
func explainable(v *task.View) bool {
	return v.Reason != "" || len(v.Missing) > 0 || v.Notes != nil || v.Former != nil ||
		slices.ContainsFunc(v.Pods, func(p *task.Pod) bool { return p != nil && p.Reason != "" }) ||
		slices.ContainsFunc(v.Jobs, func(j *task.Job) bool { return j != nil && j.Phase.Over() })
}
