package convert

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// event returns the record of an Event.
func event(kind, name, uid, reason, message string) *K8sEvent {
	return EventRecord(&corev1.Event{
		InvolvedObject: corev1.ObjectReference{Kind: kind, Name: name, UID: types.UID(uid)},
		Reason:         reason, Message: message, LastTimestamp: at(1),
	})
}

func TestReasonsOfKubernetesEvents(t *testing.T) {
	for _, tt := range []struct {
		kind, reason, message string
		want                  string // reason and message; empty if the Event explains nothing
	}{
		{"Job", "FailedCreate", `Error creating: pods "x" is forbidden: exceeded quota: q`, `QuotaExceeded the pod cannot be created: pods "x" is forbidden: exceeded quota: q`},
		{"Job", "FailedCreate", "Error creating: admission webhook\n denied", "FailedCreate the pod cannot be created: admission webhook denied"},
		{"Job", "SuccessfulCreate", "Created pod", ""},
		{"Pod", "FailedMount", "MountVolume failed", "FailedMount MountVolume failed"},
		{"Pod", "Pulling", "Pulling image", ""},
		{"PersistentVolumeClaim", "ProvisioningFailed", "no class", "ProvisioningFailed no class"},
		{"PersistentVolumeClaim", "WaitForFirstConsumer", "waiting", ""},
	} {
		got := ""
		if n := event(tt.kind, "x", "u", tt.reason, tt.message); n != nil {
			got = n.Reason + " " + n.Message
		}
		if got != tt.want {
			t.Errorf("%s %s: %q, want %q", tt.kind, tt.reason, got, tt.want)
		}
	}
}

// An Event has its last occurrence in one of three fields.
func TestWhenAnEventHappenedLast(t *testing.T) {
	e := &corev1.Event{InvolvedObject: corev1.ObjectReference{Kind: "Pod"}, Reason: "FailedMount", EventTime: metav1.MicroTime(at(1))}
	if got := EventRecord(e).At; !got.Equal(clock(1)) {
		t.Errorf("of a single event: %v", got)
	}
	e.LastTimestamp = at(2)
	if got := EventRecord(e).At; !got.Equal(clock(2)) {
		t.Errorf("of one that was counted: %v", got)
	}
	e.Series = &corev1.EventSeries{LastObservedTime: metav1.MicroTime(at(3))}
	if got := EventRecord(e).At; !got.Equal(clock(3)) {
		t.Errorf("of a series: %v", got)
	}
	e.LastTimestamp = metav1.Time{}
	if got := EventRecord(e).At; !got.Equal(clock(3)) {
		t.Errorf("of a series that has no other time: %v", got)
	}
}
