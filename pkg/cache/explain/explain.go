// Package explain derives why the nodes of tasks do not run. It reads the machines, claims and
// events of the cluster. The package changes no state.
package explain

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"k8s-cli/pkg/cache/nodefit"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/attempt"
)

// An Explainer knows the cluster. The caller holds the lock of the claims and events.
type Explainer struct {
	Nodes  *nodefit.Nodes
	Claims map[string]*task.Claim // by name
	Events Events
}

// Explain returns one note for each node of a task that does not run, indexed by rank; may be nil.
// requirements holds the requirements of the pods without a machine, by the name of the pod.
// waitsForNode means that the notes depend on the machines of the cluster.
func (e Explainer) Explain(v *task.View, requirements map[string]*nodefit.Requirements) (notes []task.Note, waitsForNode bool) {
	for rank, job := range v.Jobs {
		if v.Phase.Over() || job == nil || job.Phase.Over() {
			continue
		}
		note, waits := e.explainNode(v, rank, requirements)
		waitsForNode = waitsForNode || waits
		if note != (task.Note{}) {
			if notes == nil {
				notes = make([]task.Note, len(v.Jobs))
			}
			notes[rank] = note
		}
	}
	return notes, waitsForNode
}

func (e Explainer) explainNode(v *task.View, rank int, requirements map[string]*nodefit.Requirements) (n task.Note, waitsForNode bool) {
	job, pod := v.Jobs[rank], v.Pods[rank]
	ours := v.Gang() && !job.Resumed // suspended until all Jobs of the gang exist
	if note := attempt.WaitNote(*v, rank, time.Now()); note != (task.Note{}) {
		return note, false
	}
	switch {
	case job.Suspended && !ours:
		return suspended(job), false
	case pod == nil:
		return e.Events.Note(job.UID), false
	case pod.Phase == task.Pending && pod.Host == "":
		return e.unscheduled(v.Record, pod, requirements[pod.Name]), true
	case pod.Phase == task.Pending && !pod.Prepared:
		return e.Events.Note(pod.UID), false
	case pod.Phase == task.Running && pod.Reason == "":
		return e.notReadyNode(pod), true
	}
	return task.Note{}, false
}

func suspended(job *task.Job) task.Note {
	n := task.Note{Reason: "JobSuspended", Message: "the Job is suspended, but not by k8s-cli"}
	if job.Queue != "" {
		n.Message = "waiting in the queue " + job.Queue + ", which suspends the Job"
	}
	return n
}

// unscheduled explains why no machine accepts a pod, if the explanation adds to the message of
// the scheduler.
func (e Explainer) unscheduled(r *task.Record, pod *task.Pod, requirements *nodefit.Requirements) task.Note {
	if pod.Reason != corev1.PodReasonUnschedulable {
		return task.Note{}
	}
	if n := e.unbound(r, pod); n != (task.Note{}) {
		return n
	}
	if requirements == nil {
		return task.Note{}
	}
	s := e.Nodes.Explain(requirements)
	if s == (nodefit.Reason{}) {
		return task.Note{}
	}
	return task.Note{Reason: pod.Reason, Message: s.Message + "; the scheduler says: " + pod.Message, Hint: s.Hint}
}

// unbound returns a note about the claim of a task that prevents the scheduling of its pods.
func (e Explainer) unbound(r *task.Record, pod *task.Pod) task.Note {
	words := strings.ToLower(pod.Message)
	for _, volume := range volumesOf(r) {
		c := e.Claims[volume.claim]
		switch {
		case c == nil && strings.Contains(words, `persistentvolumeclaim "`+volume.claim+`" not found`):
			return task.Note{Reason: task.ReasonClaimGone, Message: "claim " + volume.claim + " of volume " + volume.name + " is gone"}
		case c == nil:
		case c.Deleting:
			return task.Note{Reason: task.ReasonClaimDeleting, Message: "claim " + c.Name + " of volume " + volume.name + " is being deleted"}
		case c.Phase != task.VolumePending:
		case e.Events[c.UID] != nil:
			n := e.Events[c.UID]
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

// notReadyNode returns a note if the machine of a pod is not ready.
func (e Explainer) notReadyNode(pod *task.Pod) task.Note {
	c, lost := e.Nodes.NotReady(pod.Host)
	if !lost {
		return task.Note{}
	}
	return task.Note{
		Reason:  task.ReasonNodeNotReady,
		Message: "machine " + pod.Host + " has not been ready since " + c.LastTransitionTime.UTC().Format(time.RFC3339),
	}
}

// A namedVolume is the name of a volume in a task, and the claim that the name was resolved
// to.
type namedVolume struct{ name, claim string }

// volumesOf returns the volumes of a resolved task, sorted by name.
func volumesOf(r *task.Record) (all []namedVolume) {
	for _, name := range slices.Sorted(maps.Keys(r.Claims)) {
		all = append(all, namedVolume{name, r.Claims[name]})
	}
	return all
}
