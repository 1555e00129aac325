// Package convert turns Kubernetes objects into the records that the store holds. The
// functions of the package have no side effects.
package convert

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s-cli/pkg/cache/capacity"
	"k8s-cli/pkg/cache/nodefit"
	"k8s-cli/pkg/task"
)

// JobRecord returns the record of a Job, nil if the Job is not a node of a task.
func JobRecord(j *batchv1.Job) *task.Job {
	rank, ok := rankOf(j)
	if !ok {
		return nil
	}
	job := &task.Job{
		Name:      j.Name,
		UID:       string(j.UID),
		TaskID:    j.Labels[task.LabelTaskID],
		Rank:      rank,
		User:      j.Annotations[task.AnnotationUser],
		Hash:      j.Annotations[task.AnnotationSubmission],
		Suspended: j.Spec.Suspend != nil && *j.Spec.Suspend,
		Resumed:   j.Annotations[task.AnnotationResumed] == "true",
		Queue:     j.Labels[task.LabelQueue],
		Deleting:  j.DeletionTimestamp != nil,
		Phase:     task.Pending,
	}
	if s, ok := task.LegacySubmit(j.Labels, j.Annotations); ok {
		job.User, job.Hash, job.Legacy = s.User, s.Hash(), true
	}
	job.Failures = int(j.Status.Failed)
	if j.Spec.BackoffLimit != nil {
		job.BackoffLimit = int(*j.Spec.BackoffLimit)
	}
	for _, c := range j.Status.Conditions {
		if c.Status != corev1.ConditionTrue {
			continue
		}
		switch c.Type {
		case batchv1.JobFailureTarget:
			job.Failing = true
			continue
		case batchv1.JobComplete:
			job.Phase = task.Completed
		case batchv1.JobFailed:
			job.Phase, job.Reason, job.Message = task.Failed, c.Reason, c.Message
		default:
			continue
		}
		job.FinishedAt = c.LastTransitionTime.UTC()
	}
	return job
}

func rankOf(o metav1.Object) (int, bool) {
	rank, err := strconv.Atoi(cmp.Or(o.GetLabels()[task.LabelNode], "0"))
	return rank, err == nil && rank >= 0 && o.GetLabels()[task.LabelTaskID] != ""
}

// A Pod is the record of a pod. While the scheduler finds no node for the pod, Requirements
// holds what the pod requires of a node; otherwise it is nil.
type Pod struct {
	*task.Pod
	Requirements *nodefit.Requirements
	Requests     capacity.Requests
}

// PodRecord returns the record of a pod, nil if the pod does not belong to a task.
func PodRecord(p *corev1.Pod) *Pod {
	pod := podOf(p)
	if pod == nil {
		return nil
	}
	observed := &Pod{Pod: pod, Requests: capacity.RequestsOf(&p.Spec)}
	if pod.Reason == corev1.PodReasonUnschedulable {
		observed.Requirements = nodefit.PodRequirements(&p.Spec)
	}
	return observed
}

func podOf(p *corev1.Pod) *task.Pod {
	rank, ok := rankOf(p)
	owner := metav1.GetControllerOf(p)
	if !ok || owner == nil {
		return nil
	}
	pod := &task.Pod{
		Name:    p.Name,
		UID:     string(p.UID),
		TaskID:  p.Labels[task.LabelTaskID],
		Rank:    rank,
		JobUID:  string(owner.UID),
		Host:    p.Spec.NodeName,
		Address: p.Status.PodIP,
		Phase:   task.Pending,
		Created: p.CreationTimestamp.UTC(),
	}
	pod.Deleting = p.DeletionTimestamp != nil
	pod.Addresses = task.HashOf(p.Annotations[task.AnnotationAddresses])
	pod.GroupHosts = task.HashOf(p.Annotations[task.AnnotationGroupHosts])
	if name := p.Spec.SchedulerName; p.Spec.NodeName == "" && name != "" && name != corev1.DefaultSchedulerName {
		pod.Reason, pod.Message = task.ReasonNotScheduled, "the pod waits for the scheduler "+name+", which has not reported anything about the pod"
	}
	for _, c := range p.Status.Conditions {
		switch {
		case c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse:
			pod.Reason, pod.Message = c.Reason, oneLine(c.Message)
		case c.Type == corev1.PodReadyToStartContainers && c.Status == corev1.ConditionTrue:
			pod.Prepared = true
		}
	}
	for _, c := range p.Status.ContainerStatuses {
		addContainerStatus(pod, p, c)
	}
	for _, c := range p.Status.InitContainerStatuses {
		if c.Name != task.SenderContainer { // runs beside the container of the task
			addFetcherStatus(pod, c, p.Annotations[task.AnnotationBucketProgress])
		}
	}
	if p.Status.Phase == corev1.PodFailed {
		pod.Phase = task.Failed // for example evicted before its container could start
	}
	addPodConditions(pod, p)
	pod.Uncounted = pod.Phase == task.Failed && slices.Contains(p.Finalizers, batchv1.JobTrackingFinalizer)
	return pod
}

// addPodConditions adds the reason of the whole pod, which takes precedence over how its
// container ended. A pod that was deleted but whose container ended by itself has no such
// reason.
func addPodConditions(pod *task.Pod, p *corev1.Pod) {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue {
			pod.Disrupted, pod.Reason, pod.Message = true, c.Reason, oneLine(c.Message)
		}
	}
	if p.Status.Reason != "" {
		pod.Reason, pod.Message = p.Status.Reason, oneLine(p.Status.Message)
	}
}

// addContainerStatus adds the status of the task's only container.
func addContainerStatus(pod *task.Pod, p *corev1.Pod, c corev1.ContainerStatus) {
	switch s := c.State; {
	case s.Running != nil:
		pod.Phase, pod.Readable, pod.StartedAt = task.Running, true, utc(s.Running.StartedAt)
	case s.Terminated != nil:
		pod.Phase, pod.Readable = task.Completed, s.Terminated.ContainerID != ""
		if s.Terminated.ExitCode != 0 {
			pod.Phase = task.Failed
		}
		code := int(s.Terminated.ExitCode)
		pod.ExitCode = &code
		pod.StartedAt, pod.FinishedAt = utc(s.Terminated.StartedAt), utc(s.Terminated.FinishedAt)
		pod.Reason, pod.Message = s.Terminated.Reason, terminationMessage(p, s.Terminated)
		if strings.HasPrefix(pod.Message, task.NotSent) {
			pod.Reason = task.ReasonNotSent
		}
	case s.Waiting != nil:
		pod.Reason, pod.Message = s.Waiting.Reason, oneLine(s.Waiting.Message)
		if s.Waiting.Reason == creating && pod.Message == "" {
			pod.Message = startMessage(pod, p)
		}
	}
}

// addFetcherStatus adds the status of an init container, which downloads the files of the task or
// copies its buckets. The container of the task does not start before the init containers have
// succeeded. progress is how much of the buckets has been copied, "" if that is not known.
func addFetcherStatus(pod *task.Pod, c corev1.ContainerStatus, progress string) {
	running, failed, does := task.ReasonFetching, task.ReasonNotFetched, "the pod downloads the files of the task"
	if c.Name == task.BucketsContainer {
		running, failed, does = task.ReasonCopying, task.ReasonNotCopied, "the pod copies the buckets of the task"
		if progress != "" {
			does += ": " + oneLine(progress)
		}
	}
	switch s := c.State; {
	case s.Waiting != nil && s.Waiting.Reason != "":
		if s.Waiting.Reason != initializing || pod.Reason == initializing { // otherwise an earlier init container runs, or waits for its image
			pod.Reason, pod.Message = s.Waiting.Reason, s.Waiting.Message
		}
	case s.Running != nil:
		pod.Reason, pod.Message = running, does
	case s.Terminated != nil && s.Terminated.ExitCode != 0:
		code := int(s.Terminated.ExitCode)
		pod.Phase, pod.ExitCode, pod.FinishedAt = task.Failed, &code, utc(s.Terminated.FinishedAt)
		pod.Reason, pod.Message = failed, s.Terminated.Message
	}
}

// initializing is the reason of a container that waits for an earlier init container.
const initializing = "PodInitializing"

func utc(t metav1.Time) time.Time { return t.UTC() }

// ClaimRecord returns the record of a claim.
func ClaimRecord(c *corev1.PersistentVolumeClaim) *task.Claim {
	claim := &task.Claim{
		Name:         c.Name,
		UID:          string(c.UID),
		Ours:         c.Labels[task.LabelVolume] == "true",
		OfPod:        slices.ContainsFunc(c.OwnerReferences, func(o metav1.OwnerReference) bool { return o.Kind == "Pod" }),
		OfRelease:    ofRelease(c.Labels),
		Shared:       c.Labels[task.LabelShared] == "true",
		User:         c.Annotations[task.AnnotationUser],
		Hash:         c.Annotations[task.AnnotationSubmission],
		Deleting:     c.DeletionTimestamp != nil,
		Phase:        string(cmp.Or(c.Status.Phase, corev1.ClaimPending)),
		StorageClass: c.Spec.StorageClassName,
	}
	for _, mode := range c.Spec.AccessModes {
		claim.Modes = append(claim.Modes, string(mode))
	}
	if claim.Ours {
		claim.VolumeID = c.Labels[task.LabelVolumeID]
	}
	if create, ok := task.LegacyCreate(c.Labels, c.Annotations); ok {
		claim.User, claim.Hash, claim.Legacy = create.User, create.Hash(), true
	}
	return claim
}

// ofRelease reports whether the chart of this project gave these labels to a claim. A claim
// with these labels stores the log, in the pod of the server or in the pods of NATS.
func ofRelease(labels map[string]string) bool {
	name := labels["app.kubernetes.io/name"]
	return labels["app.kubernetes.io/part-of"] == "k8s-cli" || name == "k8s-cli-server" || name == "k8s-cli-nats"
}
