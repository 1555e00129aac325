package rig

import (
	"bytes"
	"context"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/kubernetes/scheme"

	"k8s-cli/pkg/submit/objects"
	"k8s-cli/pkg/task"
)

const host = "bench-node"

// A cast is a template for the Job and the pod of a running task as the API server would
// store them. The defaults of the API server come from one Job and one pod that it stored.
type cast struct {
	namespace  string
	codec      runtime.Encoder
	now        metav1.Time
	jobFields  []metav1.ManagedFieldsEntry
	podFields  []metav1.ManagedFieldsEntry
	controller *bool
}

// newCast makes the API server store one Job and one pod, and deletes both.
func (p *Place) newCast(ctx context.Context, namespace string, record *task.Record) (*cast, error) {
	c := &cast{namespace: namespace, codec: protobuf.NewSerializer(scheme.Scheme, scheme.Scheme), now: metav1.Now(), controller: new(true)}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	if _, err := p.CoreV1().ServiceAccounts(namespace).Create(ctx, account, metav1.CreateOptions{}); err != nil {
		return nil, fmt.Errorf("make an account for pods: %w", err)
	}
	job, err := p.BatchV1().Jobs(namespace).Create(ctx, objects.Jobs(record, namespace)[0], metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("make a pattern of Jobs: %w", err)
	}
	c.jobFields = job.ManagedFields
	_, wanted := c.pair(record)
	wanted.UID, wanted.CreationTimestamp, wanted.Spec.NodeName = "", metav1.Time{}, ""
	status := wanted.Status
	pods := p.CoreV1().Pods(namespace)
	pod, err := pods.Create(ctx, wanted, metav1.CreateOptions{FieldManager: "kube-controller-manager"})
	if err != nil {
		return nil, fmt.Errorf("make a pattern of pods: %w", err)
	}
	pod.Status = status
	if pod, err = pods.UpdateStatus(ctx, pod, metav1.UpdateOptions{FieldManager: "kubelet"}); err != nil {
		return nil, fmt.Errorf("make a pattern of pods: %w", err)
	}
	c.podFields = pod.ManagedFields
	return c, p.Clear(ctx, namespace)
}

// pair returns the Job and the pod of a task of one node.
func (c *cast) pair(record *task.Record) (*batchv1.Job, *corev1.Pod) {
	job := objects.Jobs(record, c.namespace)[0]
	job.TypeMeta = metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"}
	job.UID = uuid.NewUUID()
	job.CreationTimestamp = c.now
	job.Generation = 1
	job.ManagedFields = c.jobFields
	job.Status = batchv1.JobStatus{Active: 1, Ready: new(int32(1)), StartTime: &c.now}

	template := job.Spec.Template.DeepCopy()
	labels := template.Labels
	for _, prefix := range []string{"", "batch.kubernetes.io/"} {
		labels[prefix+"controller-uid"], labels[prefix+"job-name"] = string(job.UID), job.Name
	}
	pod := &corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			Name: job.Name + "-" + task.NewID()[:5], Namespace: c.namespace, UID: uuid.NewUUID(),
			CreationTimestamp: c.now, Labels: labels, Annotations: template.Annotations, ManagedFields: c.podFields,
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "batch/v1", Kind: "Job", Name: job.Name, UID: job.UID, Controller: c.controller, BlockOwnerDeletion: c.controller,
			}},
		},
		Spec: template.Spec,
	}
	pod.Spec.NodeName = host
	pod.Status = c.running(pod.Spec.Containers[0])
	return job, pod
}

// running returns the status of a pod whose only container runs.
func (c *cast) running(container corev1.Container) corev1.PodStatus {
	s := corev1.PodStatus{
		Phase: corev1.PodRunning, HostIP: "10.0.0.1", PodIP: "10.1.0.1", PodIPs: []corev1.PodIP{{IP: "10.1.0.1"}}, StartTime: &c.now, QOSClass: corev1.PodQOSGuaranteed,
		ContainerStatuses: []corev1.ContainerStatus{{
			Name: container.Name, Image: container.Image, Ready: true, Started: new(true),
			ImageID:     container.Image + "@sha256:0000000000000000000000000000000000000000000000000000000000000000",
			ContainerID: "containerd://0000000000000000000000000000000000000000000000000000000000000000",
			State:       corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: c.now}},
		}},
	}
	for _, kind := range []corev1.PodConditionType{corev1.PodReadyToStartContainers, corev1.PodInitialized, corev1.PodReady, corev1.ContainersReady, corev1.PodScheduled} {
		s.Conditions = append(s.Conditions, corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: c.now})
	}
	return s
}

// puts returns the keys and values of a Job and its pod in etcd.
func (c *cast) puts(job *batchv1.Job, pod *corev1.Pod) ([]put, error) {
	var all []put
	for key, object := range map[string]runtime.Object{
		"/registry/jobs/" + c.namespace + "/" + job.Name: job,
		"/registry/pods/" + c.namespace + "/" + pod.Name: pod,
	} {
		var b bytes.Buffer
		if err := c.codec.Encode(object, &b); err != nil {
			return nil, fmt.Errorf("encode %s: %w", key, err)
		}
		all = append(all, put{[]byte(key), b.Bytes()})
	}
	return all, nil
}

// node returns the only node of a task, as the log has it.
func node(job *batchv1.Job, pod *corev1.Pod) task.Node {
	began := pod.Status.ContainerStatuses[0].State.Running.StartedAt.UTC().Truncate(time.Second)
	return task.Node{Phase: task.Running, Job: job.Name, Pod: pod.Name, Host: host, StartedAt: &began}
}
