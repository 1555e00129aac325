package convert

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s-cli/pkg/task"
)

var noon = time.Date(2025, 10, 5, 12, 0, 0, 0, time.UTC)

func at(second int) metav1.Time {
	return metav1.NewTime(noon.Add(time.Duration(second) * time.Second).In(time.FixedZone("east", 7200)))
}

func clock(second int) time.Time { return noon.Add(time.Duration(second) * time.Second) }

func labels(pairs ...string) map[string]string {
	all := map[string]string{task.LabelTask: "true", task.LabelTaskID: "a", task.LabelNode: "1"}
	for i := 0; i < len(pairs); i += 2 {
		all[pairs[i]] = pairs[i+1]
	}
	return all
}

func TestFieldsRetainedOfAJob(t *testing.T) {
	condition := func(kind batchv1.JobConditionType, status corev1.ConditionStatus) batchv1.JobCondition {
		return batchv1.JobCondition{Type: kind, Status: status, Reason: "Why", Message: "because", LastTransitionTime: at(5)}
	}
	plain := task.Job{Name: "train-a-node-1", UID: "u", TaskID: "a", Rank: 1, User: "ann@b", Hash: "h", Phase: task.Pending}
	with := func(set func(*task.Job)) *task.Job { j := plain; set(&j); return &j }
	for _, tt := range []struct {
		name  string
		alter func(*batchv1.Job)
		want  *task.Job
	}{
		{"a new one", func(*batchv1.Job) {}, &plain},
		{"one that is suspended", func(j *batchv1.Job) { j.Spec.Suspend = new(true) }, with(func(j *task.Job) { j.Suspended = true })},
		{"one that says it is not", func(j *batchv1.Job) { j.Spec.Suspend = new(false) }, &plain},
		{"one that was let run", func(j *batchv1.Job) { j.Annotations[task.AnnotationResumed] = "true" }, with(func(j *task.Job) { j.Resumed = true })},
		{"one that is being deleted", func(j *batchv1.Job) { j.DeletionTimestamp = new(at(1)) }, with(func(j *task.Job) { j.Deleting = true })},
		{"without a rank it is the first", func(j *batchv1.Job) { delete(j.Labels, task.LabelNode) }, with(func(j *task.Job) { j.Rank = 0 })},
		{"a rank that is none", func(j *batchv1.Job) { j.Labels[task.LabelNode] = "x" }, nil},
		{"a rank below 0", func(j *batchv1.Job) { j.Labels[task.LabelNode] = "-1" }, nil},
		{"without the id of a task", func(j *batchv1.Job) { delete(j.Labels, task.LabelTaskID) }, nil},
		{"complete", func(j *batchv1.Job) {
			j.Status.Conditions = []batchv1.JobCondition{condition(batchv1.JobSuccessCriteriaMet, "True"), condition(batchv1.JobComplete, "True")}
		}, with(func(j *task.Job) { j.Phase, j.FinishedAt = task.Completed, clock(5) })},
		{"failed", func(j *batchv1.Job) {
			j.Status.Conditions = []batchv1.JobCondition{condition(batchv1.JobFailureTarget, "True"), condition(batchv1.JobFailed, "True")}
		}, with(func(j *task.Job) {
			j.Phase, j.Reason, j.Message, j.FinishedAt, j.Failing = task.Failed, "Why", "because", clock(5), true
		})},
		{"about to be complete", func(j *batchv1.Job) {
			j.Status.Conditions = []batchv1.JobCondition{condition(batchv1.JobSuccessCriteriaMet, "True")}
		}, &plain},
		{"about to fail", func(j *batchv1.Job) {
			j.Status.Conditions = []batchv1.JobCondition{condition(batchv1.JobFailureTarget, "True")}
		}, with(func(j *task.Job) { j.Failing = true })},
		{"with failures", func(j *batchv1.Job) { j.Spec.BackoffLimit, j.Status.Failed = new(int32(3)), 2 }, with(func(j *task.Job) { j.BackoffLimit, j.Failures = 3, 2 })},
		{"a condition that does not hold", func(j *batchv1.Job) {
			j.Status.Conditions = []batchv1.JobCondition{condition(batchv1.JobFailed, "False"), condition(batchv1.JobSuspended, "True")}
		}, &plain},
	} {
		t.Run(tt.name, func(t *testing.T) {
			j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{
				Name: "train-a-node-1", UID: "u", Labels: labels(),
				Annotations: map[string]string{task.AnnotationUser: "ann@b", task.AnnotationSubmission: "h"},
			}}
			tt.alter(j)
			if diff := cmp.Diff(tt.want, JobRecord(j)); diff != "" {
				t.Errorf("record (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFieldsRetainedOfAPod(t *testing.T) {
	plain := task.Pod{Name: "p", UID: "u", TaskID: "a", Rank: 1, JobUID: "job", Phase: task.Pending, Created: clock(0)}
	with := func(set func(*task.Pod)) *task.Pod { p := plain; set(&p); return &p }
	status := func(phase corev1.PodPhase, s corev1.ContainerState) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Status.Phase, p.Status.ContainerStatuses = phase, []corev1.ContainerStatus{{State: s}}
		}
	}
	fetching := func(phase corev1.PodPhase, s corev1.ContainerState) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			status(phase, corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "PodInitializing"}})(p)
			p.Status.InitContainerStatuses = []corev1.ContainerStatus{{State: s}}
		}
	}
	terminated := func(code int32, reason, container string) corev1.ContainerState {
		return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			ExitCode: code, Reason: reason, ContainerID: container, StartedAt: at(1), FinishedAt: at(2),
		}}
	}
	evict := func(p *corev1.Pod) {
		p.Status.Phase, p.Status.Reason, p.Status.Message = corev1.PodFailed, "Evicted", "the node was low on memory"
	}
	for _, tt := range []struct {
		name  string
		alter func(*corev1.Pod)
		want  *task.Pod
	}{
		{"a new one", func(*corev1.Pod) {}, &plain},
		{"that is being deleted", func(p *corev1.Pod) { p.DeletionTimestamp = new(at(1)) }, with(func(p *task.Pod) { p.Deleting = true })},
		{"whose end will be counted", func(p *corev1.Pod) { p.Finalizers = []string{batchv1.JobTrackingFinalizer} }, &plain},
		{"whose failure is not counted", func(p *corev1.Pod) {
			p.Finalizers, p.Status.Phase = []string{batchv1.JobTrackingFinalizer}, corev1.PodFailed
		}, with(func(p *task.Pod) { p.Phase, p.Uncounted = task.Failed, true })},
		{"bound to a node", func(p *corev1.Pod) { p.Spec.NodeName = "n" }, with(func(p *task.Pod) { p.Host = "n" })},
		{"that fits nowhere", func(p *corev1.Pod) {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: "False", Reason: "Unschedulable", Message: "0/3 nodes"}}
		}, with(func(p *task.Pod) { p.Reason, p.Message = "Unschedulable", "0/3 nodes" })},
		{"that the scheduler of its choice has not seen", func(p *corev1.Pod) { p.Spec.SchedulerName = "volcano" }, with(func(p *task.Pod) {
			p.Reason, p.Message = "NotScheduled", "the pod waits for the scheduler volcano, which has not reported anything about the pod"
		})},
		{"that the default scheduler has not seen", func(p *corev1.Pod) { p.Spec.SchedulerName = "default-scheduler" }, &plain},
		{"that the scheduler of its choice finds no room for", func(p *corev1.Pod) {
			p.Spec.SchedulerName = "volcano"
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: "False", Reason: "Unschedulable", Message: "0/3 nodes"}}
		}, with(func(p *task.Pod) { p.Reason, p.Message = "Unschedulable", "0/3 nodes" })},
		{"that the scheduler of its choice has sent to a node", func(p *corev1.Pod) { p.Spec.SchedulerName, p.Spec.NodeName = "volcano", "n" }, with(func(p *task.Pod) { p.Host = "n" })},
		{"that was scheduled", func(p *corev1.Pod) {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: "True", Reason: "x"}}
		}, &plain},
		{"that waits for its image", status(corev1.PodPending, corev1.ContainerState{
			Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "no such image"},
		}), with(func(p *task.Pod) { p.Reason, p.Message = "ImagePullBackOff", "no such image" })},
		{
			"that runs", status(corev1.PodRunning, corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at(1)}}),
			with(func(p *task.Pod) { p.Phase, p.Readable, p.StartedAt = task.Running, true, clock(1) }),
		},
		{"that succeeded", status(corev1.PodSucceeded, terminated(0, "Completed", "c")), with(func(p *task.Pod) {
			p.Phase, p.Readable, p.ExitCode, p.Reason, p.StartedAt, p.FinishedAt = task.Completed, true, new(0), "Completed", clock(1), clock(2)
		})},
		{"that failed", status(corev1.PodFailed, terminated(3, "Error", "c")), with(func(p *task.Pod) {
			p.Phase, p.Readable, p.ExitCode, p.Reason, p.StartedAt, p.FinishedAt = task.Failed, true, new(3), "Error", clock(1), clock(2)
		})},
		{"whose container has ended and it has not", status(corev1.PodRunning, terminated(3, "OOMKilled", "c")), with(func(p *task.Pod) {
			p.Phase, p.Readable, p.ExitCode, p.Reason, p.StartedAt, p.FinishedAt = task.Failed, true, new(3), "OOMKilled", clock(1), clock(2)
			p.Message = "it used more than its memory limit, the memory of the machine (exit code 3)"
		})},
		{"whose container never started", status(corev1.PodFailed, terminated(128, "StartError", "")), with(func(p *task.Pod) {
			p.Phase, p.ExitCode, p.Reason, p.StartedAt, p.FinishedAt = task.Failed, new(128), "StartError", clock(1), clock(2)
		})},
		{"that gets its files", fetching(corev1.PodPending, corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at(1)}}), with(func(p *task.Pod) {
			p.Reason, p.Message = task.ReasonFetching, "the pod downloads the files of the task"
		})},
		{"that waits for the image to get its files with", fetching(corev1.PodPending, corev1.ContainerState{
			Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull", Message: "no such image"},
		}), with(func(p *task.Pod) { p.Reason, p.Message = "ErrImagePull", "no such image" })},
		{"that has its files", fetching(corev1.PodPending, terminated(0, "Completed", "c")), with(func(p *task.Pod) { p.Reason = "PodInitializing" })},
		{"that could not get its files", fetching(corev1.PodFailed, terminated(1, "Error", "c")), with(func(p *task.Pod) {
			p.Phase, p.ExitCode, p.Reason, p.FinishedAt = task.Failed, new(1), task.ReasonNotFetched, clock(2)
		})},
		{"that copies its buckets", func(p *corev1.Pod) {
			status(corev1.PodPending, corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "PodInitializing"}})(p)
			p.Status.InitContainerStatuses = []corev1.ContainerStatus{
				{Name: "files", State: terminated(0, "Completed", "c")}, {Name: "buckets", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at(1)}}},
			}
		}, with(func(p *task.Pod) {
			p.Reason, p.Message = task.ReasonCopying, "the pod copies the buckets of the task"
		})},
		{"that has copied a part of its buckets", func(p *corev1.Pod) {
			status(corev1.PodPending, corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "PodInitializing"}})(p)
			p.Annotations = map[string]string{"skypilot-bucket-progress": "fetched 1 GiB of 2 GiB"}
			p.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "buckets", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at(1)}}}}
		}, with(func(p *task.Pod) {
			p.Reason, p.Message = task.ReasonCopying, "the pod copies the buckets of the task: fetched 1 GiB of 2 GiB"
		})},
		{"that gets its files before its buckets", func(p *corev1.Pod) {
			fetching(corev1.PodPending, corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at(1)}})(p)
			p.Status.InitContainerStatuses = append(p.Status.InitContainerStatuses, corev1.ContainerStatus{Name: "buckets", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "PodInitializing"}}})
		}, with(func(p *task.Pod) {
			p.Reason, p.Message = task.ReasonFetching, "the pod downloads the files of the task"
		})},
		{"that could not copy its buckets", func(p *corev1.Pod) {
			fetching(corev1.PodFailed, terminated(1, "Error", "c"))(p)
			p.Status.InitContainerStatuses[0].Name, p.Status.InitContainerStatuses[0].State.Terminated.Message = "buckets", "s3://data does not exist"
		}, with(func(p *task.Pod) {
			p.Phase, p.ExitCode, p.Reason, p.Message, p.FinishedAt = task.Failed, new(1), task.ReasonNotCopied, "s3://data does not exist", clock(2)
		})},
		{"whose sidecar sends changed files", func(p *corev1.Pod) {
			status(corev1.PodRunning, corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at(1)}})(p)
			p.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "bucket-sender", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at(1)}}}}
		}, with(func(p *task.Pod) { p.Phase, p.Readable, p.StartedAt = task.Running, true, clock(1) })},
		{"that could not send changed files", func(p *corev1.Pod) {
			status(corev1.PodFailed, terminated(1, "Error", "c"))(p)
			p.Status.ContainerStatuses[0].State.Terminated.Message = "k8s-cli: some files were not sent to their buckets: why"
		}, with(func(p *task.Pod) {
			p.Phase, p.Readable, p.ExitCode, p.StartedAt, p.FinishedAt = task.Failed, true, new(1), clock(1), clock(2)
			p.Reason, p.Message = task.ReasonNotSent, "some files were not sent to their buckets: why"
		})},
		{"evicted before it started", evict, with(func(p *task.Pod) {
			p.Phase, p.Reason, p.Message = task.Failed, "Evicted", "the node was low on memory"
		})},
		{"evicted while it ran", func(p *corev1.Pod) {
			evict(p)
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{State: terminated(137, "Error", "c")}}
		}, with(func(p *task.Pod) {
			p.Phase, p.Readable, p.ExitCode, p.StartedAt, p.FinishedAt = task.Failed, true, new(137), clock(1), clock(2)
			p.Reason, p.Message = "Evicted", "the node was low on memory"
		})},
		{"of no Job", func(p *corev1.Pod) { p.OwnerReferences = nil }, nil},
		{"of no task", func(p *corev1.Pod) { delete(p.Labels, task.LabelTaskID) }, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
				Name: "p", UID: "u", Labels: labels(), CreationTimestamp: at(0),
				OwnerReferences: []metav1.OwnerReference{{UID: "other"}, {UID: "job", Controller: new(true)}},
			}}
			tt.alter(p)
			if diff := cmp.Diff(tt.want, podOf(p)); diff != "" {
				t.Errorf("record (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFieldsRetainedOfAClaim(t *testing.T) {
	for _, tt := range []struct {
		name  string
		claim corev1.PersistentVolumeClaim
		want  task.Claim
	}{
		{"of somebody else", corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Name: "c", UID: "u", Labels: map[string]string{task.LabelVolumeID: "v"}},
		}, task.Claim{Name: "c", UID: "u", Phase: "Pending"}},
		{"of a pod of a task", corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{
				Name: "c", UID: "u", Labels: task.JobLabels("ann", "train", "a", 0), Annotations: map[string]string{task.AnnotationUser: "ann"},
				OwnerReferences: []metav1.OwnerReference{{Kind: "Pod", Name: "p", Controller: new(true)}},
			},
		}, task.Claim{Name: "c", UID: "u", Phase: "Pending", User: "ann", OfPod: true}},
		{"of a pod that does not control it", corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Name: "c", OwnerReferences: []metav1.OwnerReference{{Kind: "StatefulSet"}, {Kind: "Pod"}}},
		}, task.Claim{Name: "c", Phase: "Pending", OfPod: true}},
		{"of a StatefulSet", corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Name: "c", OwnerReferences: []metav1.OwnerReference{{Kind: "StatefulSet"}}},
		}, task.Claim{Name: "c", Phase: "Pending"}},
		{"of the embedded log", corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Name: "k8s-cli-log", Labels: map[string]string{"app.kubernetes.io/name": "k8s-cli-server", "app.kubernetes.io/part-of": "k8s-cli"}},
		}, task.Claim{Name: "k8s-cli-log", Phase: "Pending", OfRelease: true}},
		{"of NATS", corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Name: "data-k8s-cli-nats-0", Labels: map[string]string{"app.kubernetes.io/name": "k8s-cli-nats"}},
		}, task.Claim{Name: "data-k8s-cli-nats-0", Phase: "Pending", OfRelease: true}},
		{"that an operator shares", corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Name: "c", Labels: map[string]string{task.LabelShared: "true"}},
		}, task.Claim{Name: "c", Phase: "Pending", Shared: true}},
		{"of ours", corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{
				Name: "c", UID: "u", Labels: map[string]string{task.LabelVolume: "true", task.LabelVolumeID: "v"},
				Annotations: map[string]string{task.AnnotationUser: "ann", task.AnnotationSubmission: "h"}, DeletionTimestamp: new(at(1)),
			},
			Spec:   corev1.PersistentVolumeClaimSpec{StorageClassName: new("fast")},
			Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound},
		}, task.Claim{Name: "c", UID: "u", Phase: "Bound", Ours: true, VolumeID: "v", User: "ann", Hash: "h", Deleting: true, StorageClass: new("fast")}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(&tt.want, ClaimRecord(&tt.claim)); diff != "" {
				t.Errorf("record (-want +got):\n%s", diff)
			}
		})
	}
}

func TestClaimsOfTheRelease(t *testing.T) {
	for _, tt := range []struct {
		labels map[string]string
		want   bool
	}{
		{labels("app.kubernetes.io/part-of", "k8s-cli"), true},
		{labels("app.kubernetes.io/name", "k8s-cli-server"), true},
		{labels("app.kubernetes.io/name", "k8s-cli-nats"), true},
		{labels("app.kubernetes.io/name", "nats", "app.kubernetes.io/part-of", "other"), false},
		{nil, false},
	} {
		if got := ofRelease(tt.labels); got != tt.want {
			t.Errorf("%v: %v, want %v", tt.labels, got, tt.want)
		}
	}
}

// The original launcher did not record the user as an annotation.
func TestAClaimOfTheOriginal(t *testing.T) {
	c := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Labels: labels(
		task.LabelVolume, "true", task.LabelVolumeID, "v", task.LabelVolumeName, "data", task.LabelUser, "ann-example.com",
	)}}
	if got := ClaimRecord(c); !got.Legacy || got.User != "ann-example.com" || got.Hash == "" || got.VolumeID != "v" {
		t.Errorf("claim %+v", got)
	}
	c.Annotations = map[string]string{task.AnnotationUser: "ann@example.com"}
	if got := ClaimRecord(c); got.Legacy || got.User != "ann@example.com" {
		t.Errorf("a claim of ours: %+v", got)
	}
}
