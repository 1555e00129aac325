package convert

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// A K8sEvent is the record of a Kubernetes Event that says more than the status of its object:
// why a Job gets no pods, why the volumes of a pod are not mounted, why a claim is not bound.
type K8sEvent struct {
	Event   string // name of the Event
	Kind    string // kind of the object that the Event is about
	Name    string // name of that object
	UID     string // UID of that object
	Reason  string
	Message string
	At      time.Time // when it was last reported
}

// EventRecord returns the record of an Event, nil if the Event does not explain why an object
// waits.
func EventRecord(e *corev1.Event) *K8sEvent {
	n := &K8sEvent{
		Event: e.Name, Kind: e.InvolvedObject.Kind, Name: e.InvolvedObject.Name, UID: string(e.InvolvedObject.UID),
		Reason: e.Reason, Message: oneLine(e.Message), At: e.LastTimestamp.UTC(),
	}
	if e.Series != nil {
		n.At = e.Series.LastObservedTime.UTC()
	}
	if e.LastTimestamp.IsZero() && e.Series == nil {
		n.At = e.EventTime.UTC()
	}
	switch n.Kind + " " + n.Reason {
	case "Job FailedCreate":
		n.Reason, n.Message = refusedPod(n.Message)
	case "Pod FailedMount", "Pod FailedAttachVolume", "Pod FailedCreatePodSandBox":
	case "PersistentVolumeClaim FailedBinding", "PersistentVolumeClaim ProvisioningFailed":
	default:
		return nil
	}
	return n
}

// refusedPod returns the reason and the message for a Job whose pods the API server rejects.
func refusedPod(message string) (reason, text string) {
	text = "the pod cannot be created: " + strings.TrimPrefix(message, "Error creating: ")
	if strings.Contains(message, "exceeded quota") { // the API server has no reason of its own for an exceeded quota
		return "QuotaExceeded", text
	}
	return "FailedCreate", text
}
