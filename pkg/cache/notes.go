package cache

import (
	"cmp"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"k8s-cli/pkg/task"
)

// notes returns what explains why the nodes of a task do not run: the newest
// truth first.
func (p *Picture) notes(i *taskItem, v *task.View) []task.Note {
	var notes []task.Note
	placed := true
	for rank, job := range v.Jobs {
		if v.Phase.Over() || job == nil || job.Phase.Over() {
			continue
		}
		note, waits := p.note(i, v, rank)
		placed = placed && !waits
		if note != (task.Note{}) {
			if notes == nil {
				notes = make([]task.Note, len(v.Jobs))
			}
			notes[rank] = note
		}
	}
	if !placed {
		p.unplaced[i] = true
	}
	return notes
}

// note explains one node; waits means that the nodes of the cluster have to do
// with it.
func (p *Picture) note(i *taskItem, v *task.View, rank int) (n task.Note, waits bool) {
	job, pod := v.Jobs[rank], v.Pods[rank]
	ours := len(v.Jobs) > 1 && !job.Resumed // until all nodes are there
	switch {
	case job.Suspended && !ours:
		return suspended(job), false
	case pod == nil:
		return p.noticeAbout(job.UID), false
	case pod.Phase == task.Pending && pod.Host == "":
		return p.unscheduled(i, v.Record, pod), true
	case pod.Phase == task.Pending && !pod.Prepared:
		return p.noticeAbout(pod.UID), false
	case pod.Phase == task.Running && pod.Reason == "":
		return p.silent(pod), true
	}
	return task.Note{}, false
}

func (p *Picture) noticeAbout(uid string) task.Note {
	if n := p.notices[uid]; n != nil {
		return task.Note{Reason: n.reason, Message: n.message}
	}
	return task.Note{}
}

func suspended(job *task.Job) task.Note {
	n := task.Note{Reason: "JobSuspended", Message: "its Job is suspended, and not by the launcher"}
	if job.Queue != "" {
		n.Message = "it waits in the queue " + job.Queue + ", which has its Job suspended"
	}
	return n
}

// unscheduled explains why no node takes a pod, as far as that is known better
// than by the scheduler's own words.
func (p *Picture) unscheduled(i *taskItem, r *task.Record, pod *task.Pod) task.Note {
	if pod.Reason != corev1.PodReasonUnschedulable {
		return task.Note{}
	}
	if n := p.unbound(r, pod); n != (task.Note{}) {
		return n
	}
	if i.few == nil || i.few.needs[pod.Name] == nil {
		return task.Note{}
	}
	s := p.nodes.shortage(i.few.needs[pod.Name])
	if s == (shortage{}) {
		return task.Note{}
	}
	return task.Note{Reason: pod.Reason, Message: s.message + "; the scheduler says: " + pod.Message, Hint: s.hint}
}

// unbound says which claim of a task keeps its pods from every node.
func (p *Picture) unbound(r *task.Record, pod *task.Pod) task.Note {
	words := strings.ToLower(pod.Message)
	for _, volume := range volumesOf(r) {
		c := p.claims[volume.claim]
		switch {
		case c == nil && strings.Contains(words, `persistentvolumeclaim "`+volume.claim+`" not found`):
			return task.Note{Reason: task.ReasonClaimGone, Message: "claim " + volume.claim + " of volume " + volume.name + " is gone"}
		case c == nil:
		case c.Deleting:
			return task.Note{Reason: task.ReasonClaimDeleting, Message: "claim " + c.Name + " of volume " + volume.name + " is being deleted"}
		case c.Phase != task.VolumePending:
		case p.notices[c.UID] != nil:
			n := p.notices[c.UID]
			return task.Note{Reason: n.reason, Message: "volume " + volume.name + " (claim " + c.Name + ") is not bound: " + n.message}
		case strings.Contains(words, "unbound immediate persistentvolumeclaim"):
			class := ""
			if c.StorageClass != nil {
				class = " by storage class " + cmp.Or(*c.StorageClass, `""`)
			}
			return task.Note{Reason: task.ReasonNotBound, Message: "volume " + volume.name + " (claim " + c.Name + ") is not bound yet" + class}
		}
	}
	return task.Note{}
}

// silent says that the machine of a pod does not answer.
func (p *Picture) silent(pod *task.Pod) task.Note {
	c, lost := p.nodes.lost(pod.Host)
	if !lost {
		return task.Note{}
	}
	return task.Note{
		Reason:  task.ReasonNodeNotReady,
		Message: "machine " + pod.Host + " has not been ready since " + c.LastTransitionTime.UTC().Format(time.RFC3339),
	}
}
