package cache

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"k8s-cli/pkg/cache/convert"
	"k8s-cli/pkg/cache/nodefit"
	"k8s-cli/pkg/task"
)

// event returns the record of an Event.
func event(kind, name, uid, reason, message string) *convert.K8sEvent {
	return convert.EventRecord(&corev1.Event{
		InvolvedObject: corev1.ObjectReference{Kind: kind, Name: name, UID: types.UID(uid)},
		Reason:         reason, Message: message, LastTimestamp: at(1),
	})
}

// pendingReasonOf returns the note about the first node of a task.
func (p *testStore) pendingReasonOf(id string) task.Note {
	v := p.view(id)
	return v.Explain(v.NodeList())
}

func TestTheNewestTruthExplainsATask(t *testing.T) {
	c := submit("ann", "a")
	p := newTestStore(t, c, applied(taskKey("a"), "a/0"))
	j := job(c, 0, task.Pending)
	hears := func(when string, want ...string) {
		t.Helper()
		got := p.pendingReasonOf("a")
		if len(want) == 0 && got != (task.Note{}) {
			t.Errorf("%s: %+v", when, got)
		}
		for i, part := range []string{got.Reason, got.Message, got.Hint} {
			if i < len(want) && !strings.Contains(part, want[i]) {
				t.Errorf("%s: %+v, want %q", when, got, want)
			}
		}
	}
	refusal := event("Job", j.Name, j.UID, "FailedCreate", "Error creating: exceeded quota")
	p.putK8sEvent(refusal)
	hears("before its Job is seen")
	p.putJob(j)
	hears("its pod is refused", "QuotaExceeded", "exceeded quota", "raise the quota")

	x := pod(j, 1, task.Pending)
	x.Reason, x.Message = corev1.PodReasonUnschedulable, "0/1 nodes are available: 1 Insufficient cpu."
	asks := nodefit.TaskRequirements(task.Resources{CPUs: "4"})
	p.putObservedPod(&convert.Pod{Pod: x, Requirements: asks})
	hears("it has a pod, the nodes are not known", "Unschedulable", "0/1 nodes", "when capacity becomes free")

	p.nodes.Put(newNode("house-1", "2", "4Gi", "0"))
	p.nodes.MarkSynced()
	p.refreshReasons()
	hears("no node is so large", "Unschedulable", "no machine has 4 CPUs: the largest is house-1 with 2 CPUs; the scheduler says: 0/1", "at most 2 CPUs")

	p.nodes.Put(newNode("house-1", "8", "4Gi", "0"))
	p.refreshReasons()
	hears("a node is, and others use it", "Unschedulable", "0/1 nodes are available", "when capacity becomes free")

	placed := *x
	placed.Host, placed.Reason, placed.Message = "house-1", "ContainerCreating", ""
	p.putPod(&placed)
	hears("a node has taken it", "ContainerCreating")
	p.putK8sEvent(event("Pod", x.Name, x.UID, "FailedMount", "timed out"))
	hears("its volume is not mounted", "FailedMount", "timed out")
	prepared := placed
	prepared.Prepared, prepared.Reason, prepared.Message = true, "ImagePullBackOff", "not found"
	p.putPod(&prepared)
	hears("its volume is mounted since", "ImagePullBackOff", "not found", "no such image")

	runs := prepared
	runs.Phase, runs.Reason, runs.Message = task.Running, "", ""
	p.putPod(&runs)
	hears("it runs")
	gone := newNode("house-1", "8", "4Gi", "0")
	gone.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionUnknown, LastTransitionTime: at(9)}}
	p.nodes.Put(nodefit.Trim(gone))
	p.refreshReasons()
	hears("its machine is lost", task.ReasonNodeNotReady, "house-1 has not been ready since 2025-10-05T12:00:09Z", "after some minutes")

	suspended := *j
	suspended.Suspended, suspended.Queue = true, "night"
	p.putJob(&suspended)
	hears("a queue suspends it", "JobSuspended", "the queue night", "when it has capacity")
	p.dropPod("a", x.Name)
	p.dropK8sEvent(refusal)
	p.putJob(j)
	hears("the queue lets it go on, and what was ended for it is forgotten")
}

// An evicted pod disappears before its Job reports the failure.
func TestHowAPodEndedOutlivesIt(t *testing.T) {
	c := submit("ann", "a")
	p := newTestStore(t, c, applied(taskKey("a"), "a/0"))
	j := job(c, 0, task.Pending)
	x := pod(j, 1, task.Running)
	p.putJob(j)
	p.putPod(x)
	ended := *x
	ended.Phase, ended.Reason, ended.ExitCode = task.Failed, "PreemptionByScheduler", new(143)
	p.putPod(&ended)
	p.dropPod("a", x.Name)
	failed := *j
	failed.Phase, failed.Reason = task.Failed, "BackoffLimitExceeded"
	p.putJob(&failed)
	end := p.view("a").Outcome(nil)
	if end == nil || end.Reason != "PreemptionByScheduler" || *end.Nodes[0].ExitCode != 143 || end.Nodes[0].Pod != x.Name {
		t.Errorf("it ended so: %+v", end)
	}
	other := *j
	other.UID = "another"
	p.putJob(&other)
	p.apply(task.Command{Ended: end})
	if got := p.view("a").Former; got != nil && got[0] != nil && got[0].JobUID == other.UID {
		t.Errorf("another Job's pod: %+v", got[0])
	}
}

func TestWhyAClaimKeepsATaskFromEveryNode(t *testing.T) {
	const immediate = "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims."
	for _, tt := range []struct {
		name      string
		claim     *task.Claim // nil if the claim was deleted
		event     *convert.K8sEvent
		scheduler string
		want      string // reason and message
	}{
		{"it is bound", &task.Claim{Phase: "Bound"}, nil, "Insufficient cpu", "Unschedulable Insufficient cpu"},
		{"it waits for the pod", &task.Claim{Phase: "Pending"}, nil, "Insufficient cpu", "Unschedulable Insufficient cpu"},
		{"nobody says why", &task.Claim{Phase: "Pending", StorageClass: new("fast")}, nil, immediate, "VolumeNotBound volume data (claim c) is not bound yet, storage class fast"},
		{
			"its provisioner says why", &task.Claim{Phase: "Pending"}, event("PersistentVolumeClaim", "c", "c-uid", "ProvisioningFailed", "no room"), immediate,
			"ProvisioningFailed volume data (claim c) is not bound: no room",
		},
		{
			"what was said of a former one", &task.Claim{Phase: "Pending"}, event("PersistentVolumeClaim", "c", "old", "ProvisioningFailed", "no room"), "Insufficient cpu",
			"Unschedulable Insufficient cpu",
		},
		{"it is being deleted", &task.Claim{Phase: "Bound", Deleting: true}, nil, `persistentvolumeclaim "c" is being deleted`, "VolumeDeleting claim c of volume data is being deleted"},
		{"it is gone", nil, nil, `persistentvolumeclaim "c" not found`, "VolumeGone claim c of volume data is gone"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := mounting("ann", "a", "data")
			p := newTestStore(t, c, task.Command{Resolved: &task.Resolved{ID: "a", Claims: map[string]string{"data": "c"}}}, applied(taskKey("a"), "a/0"))
			j := job(c, 0, task.Pending)
			x := pod(j, 1, task.Pending)
			x.Reason, x.Message = corev1.PodReasonUnschedulable, tt.scheduler
			p.putJob(j)
			p.putPod(x)
			if tt.claim != nil {
				tt.claim.Name, tt.claim.UID = "c", "c-uid"
				p.putClaim(tt.claim)
			}
			if tt.event != nil {
				p.putK8sEvent(tt.event)
			}
			if got := p.pendingReasonOf("a"); got.Reason+" "+got.Message != tt.want || got.Hint == "" {
				t.Errorf("%+v, want %q", got, tt.want)
			}
		})
	}
}

// Suspending a Job deletes its pods, which is not the end of a node.
func TestHowAPodEndedIsForgottenOnceItsJobIsSuspended(t *testing.T) {
	c := submit("ann", "a")
	p := newTestStore(t, c, applied(taskKey("a"), "a/0"))
	j := job(c, 0, task.Pending)
	x := pod(j, 1, task.Failed)
	p.putJob(j)
	p.putPod(x)
	p.dropPod("a", x.Name)
	if got := p.view("a").Former; len(got) != 1 || got[0] == nil || got[0].Name != x.Name {
		t.Fatalf("pods that are gone: %+v", got)
	}
	suspended := *j
	suspended.Suspended = true
	p.putJob(&suspended)
	p.putJob(j)
	if got := p.view("a").Former; got != nil {
		t.Errorf("once the Job was suspended: %+v", got[0])
	}
	stranger := pod(j, 2, task.Failed)
	stranger.Rank = 1
	p.putPod(stranger)
	p.dropPod("a", stranger.Name)
	if got := p.view("a").Former; got != nil {
		t.Errorf("a pod of a node that the task has not: %+v", got)
	}
}

// A claim may change while tasks mount it that are no longer in the log.
func TestAClaimOfATaskThatIsOverExplainsNothing(t *testing.T) {
	p := newTestStore(t, mounting("ann", "a", "data"))
	p.putClaim(&task.Claim{Name: "data", UID: "c", Phase: task.VolumeBound})
	p.apply(task.Command{Resolved: &task.Resolved{ID: "a", Claims: map[string]string{"data": "data"}}}, applied(taskKey("a"), "a/0"))
	p.apply(stop("ann", "a"))
	version := p.TaskVersion(listOf(task.Query{User: "ann"}))
	p.putClaim(&task.Claim{Name: "data", UID: "c", Phase: task.VolumeLost})
	if got := p.TaskVersion(listOf(task.Query{User: "ann"})); got != version {
		t.Errorf("version %v was %v", got, version)
	}
	p.Reset()
	p.putClaim(&task.Claim{Name: "data", UID: "c", Phase: task.VolumeBound})
}
