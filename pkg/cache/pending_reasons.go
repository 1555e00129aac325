package cache

import (
	"cmp"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"k8s-cli/pkg/cache/nodefit"
	"k8s-cli/pkg/task"
)

// pendingReasons returns what explains why the nodes of a task do not run: the newest
// truth first.
func (p *Store) pendingReasons(i *taskItem, v *task.View) []task.Note {
	var notes []task.Note
	placed := true
	for rank, job := range v.Jobs {
		if v.Phase.Over() || job == nil || job.Phase.Over() {
			continue
		}
		note, waits := p.pendingReason(i, v, rank)
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

// pendingReason explains one node; waits means that the nodes of the cluster have to do
// with it.
func (p *Store) pendingReason(i *taskItem, v *task.View, rank int) (n task.Note, waits bool) {
	job, pod := v.Jobs[rank], v.Pods[rank]
	ours := len(v.Jobs) > 1 && !job.Resumed // until all nodes are there
	switch {
	case job.Suspended && !ours:
		return suspended(job), false
	case pod == nil:
		return p.reasonOfK8sEvent(job.UID), false
	case pod.Phase == task.Pending && pod.Host == "":
		return p.unscheduled(i, v.Record, pod), true
	case pod.Phase == task.Pending && !pod.Prepared:
		return p.reasonOfK8sEvent(pod.UID), false
	case pod.Phase == task.Running && pod.Reason == "":
		return p.notReadyNode(pod), true
	}
	return task.Note{}, false
}

func (p *Store) reasonOfK8sEvent(uid string) task.Note {
	if n := p.k8sEvents[uid]; n != nil {
		return task.Note{Reason: n.Reason, Message: n.Message}
	}
	return task.Note{}
}

func suspended(job *task.Job) task.Note {
	n := task.Note{Reason: "JobSuspended", Message: "the Job is suspended, but not by the launcher"}
	if job.Queue != "" {
		n.Message = "waiting in the queue " + job.Queue + ", which suspends the Job"
	}
	return n
}

// unscheduled explains why no node takes a pod, as far as that is known better
// than by the scheduler's own words.
func (p *Store) unscheduled(i *taskItem, r *task.Record, pod *task.Pod) task.Note {
	if pod.Reason != corev1.PodReasonUnschedulable {
		return task.Note{}
	}
	if n := p.unbound(r, pod); n != (task.Note{}) {
		return n
	}
	if i.extra == nil || i.extra.requirements[pod.Name] == nil {
		return task.Note{}
	}
	s := p.nodes.Explain(i.extra.requirements[pod.Name])
	if s == (nodefit.Reason{}) {
		return task.Note{}
	}
	return task.Note{Reason: pod.Reason, Message: s.Message + "; the scheduler says: " + pod.Message, Hint: s.Hint}
}

// unbound says which claim of a task keeps its pods from every node.
func (p *Store) unbound(r *task.Record, pod *task.Pod) task.Note {
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
		case p.k8sEvents[c.UID] != nil:
			n := p.k8sEvents[c.UID]
			return task.Note{Reason: n.Reason, Message: "volume " + volume.name + " (claim " + c.Name + ") is not bound: " + n.Message}
		case strings.Contains(words, "unbound immediate persistentvolumeclaim"):
			class := ""
			if c.StorageClass != nil {
				class = ", storage class " + cmp.Or(*c.StorageClass, `""`)
			}
			return task.Note{Reason: task.ReasonNotBound, Message: "volume " + volume.name + " (claim " + c.Name + ") is not bound yet" + class}
		}
	}
	return task.Note{}
}

// notReadyNode says that the machine of a pod does not answer.
func (p *Store) notReadyNode(pod *task.Pod) task.Note {
	c, lost := p.nodes.NotReady(pod.Host)
	if !lost {
		return task.Note{}
	}
	return task.Note{
		Reason:  task.ReasonNodeNotReady,
		Message: "machine " + pod.Host + " has not been ready since " + c.LastTransitionTime.UTC().Format(time.RFC3339),
	}
}
