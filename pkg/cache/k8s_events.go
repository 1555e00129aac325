package cache

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"k8s-cli/pkg/task"
)

// A k8sEvent is what an Event of Kubernetes says that no status does: why a Job
// gets no pods, why a pod's volumes are not mounted, why a claim is not bound.
type k8sEvent struct {
	event   string // its name
	kind    string // of the object that it is about
	name    string // of that object
	uid     string // so too
	reason  string
	message string
	at      time.Time // when it was last told
}

// k8sEventOf returns nil for events that explain nothing.
func k8sEventOf(e *corev1.Event) *k8sEvent {
	n := &k8sEvent{
		event: e.Name, kind: e.InvolvedObject.Kind, name: e.InvolvedObject.Name, uid: string(e.InvolvedObject.UID),
		reason: e.Reason, message: oneLine(e.Message), at: e.LastTimestamp.UTC(),
	}
	if e.Series != nil {
		n.at = e.Series.LastObservedTime.UTC()
	}
	if e.LastTimestamp.IsZero() && e.Series == nil {
		n.at = e.EventTime.UTC()
	}
	switch n.kind + " " + n.reason {
	case "Job FailedCreate":
		n.reason, n.message = refusedPod(n.message)
	case "Pod FailedMount", "Pod FailedAttachVolume", "Pod FailedCreatePodSandBox":
	case "PersistentVolumeClaim FailedBinding", "PersistentVolumeClaim ProvisioningFailed":
	default:
		return nil
	}
	return n
}

// refusedPod returns why the API server refuses the pods of a Job.
func refusedPod(message string) (reason, text string) {
	text = "the pod cannot be created: " + strings.TrimPrefix(message, "Error creating: ")
	if strings.Contains(message, "exceeded quota") { // the API server has no code of its own for it
		return "QuotaExceeded", text
	}
	return "FailedCreate", text
}

func (p *Store) putK8sEvent(n *k8sEvent) {
	p.updateK8sEvents(n, func(all map[string]*k8sEvent) {
		if old := all[n.uid]; old == nil || !n.at.Before(old.at) {
			all[n.uid] = n
		}
	})
}

func (p *Store) dropK8sEvent(n *k8sEvent) {
	p.updateK8sEvents(n, func(all map[string]*k8sEvent) {
		if old := all[n.uid]; old != nil && old.event == n.event {
			delete(all, n.uid)
		}
	})
}

// updateK8sEvents changes the events and looks again at the tasks that one is about.
func (p *Store) updateK8sEvents(n *k8sEvent, change func(map[string]*k8sEvent)) {
	p.observe(func(p *Store) []task.Key {
		change(p.k8sEvents)
		var items []*taskItem
		if n.kind == "PersistentVolumeClaim" {
			items = p.tasksMounting(n.name)
			if c := p.claims[n.name]; c != nil && p.volumes[c.VolumeID] != nil {
				p.refreshVolume(p.volumes[c.VolumeID])
			}
		} else {
			for part := range strings.SplitSeq(n.name, "-") { // names of Jobs and pods hold the task's id
				if item := p.tasks[part]; item != nil {
					items = append(items, item)
				}
			}
		}
		p.refreshReasonsOf(items)
		return nil
	})
}

// tasksMounting returns the tasks that were resolved to a claim.
func (p *Store) tasksMounting(claim string) (items []*taskItem) {
	for id := range p.mounts[claim].tasks {
		if item := p.tasks[id]; item != nil {
			items = append(items, item)
		}
	}
	return items
}

// refreshReasonsOf looks again at why tasks wait. That is for users to see, and nothing
// that the controller acts on: it is not told.
func (p *Store) refreshReasonsOf(items []*taskItem) {
	for _, item := range items {
		if item.record == nil || item.record.Phase().Over() {
			continue
		}
		p.progress(item, p.refresh(item))
	}
}
