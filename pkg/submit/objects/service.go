package objects

import (
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"k8s-cli/pkg/task"
)

// Service returns the Service under which the nodes of a task find each other by
// name: node-0.{service} and so on, from when they have an address. It belongs
// to the Job of the first node, whose UID is first: Kubernetes removes it with
// that one, and at once should that one be gone already. So nobody else has to.
func Service(r *task.Record, namespace, first string) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: dependent(r, namespace, first),
		Spec: corev1.ServiceSpec{
			ClusterIP:                corev1.ClusterIPNone,
			PublishNotReadyAddresses: true, // who is to be waited for is not ready yet
			Selector:                 map[string]string{task.LabelTask: "true", task.LabelTaskID: r.Submit.ID},
		},
	}
}

// Secret returns the Secret of a task that has secrets, with these values, or
// uploads, with the token by which its pods get them. It belongs to the Job of the
// first node, as the Service does. Until it is there no container of the task
// starts.
func Secret(r *task.Record, values map[string]string, token, namespace, first string) *corev1.Secret {
	data := map[string][]byte{}
	if token != "" {
		data[filesKey] = []byte(token)
	}
	for name, value := range values {
		data[name] = []byte(value)
	}
	return &corev1.Secret{ObjectMeta: dependent(r, namespace, first), Immutable: new(true), Type: corev1.SecretTypeOpaque, Data: data}
}

// dependent describes an object that belongs to the Job of the first node.
func dependent(r *task.Record, namespace, first string) metav1.ObjectMeta {
	labels := task.JobLabels(r.Submit.User, r.Submit.Task.Name, r.Submit.ID, 0)
	delete(labels, task.LabelNode)
	return metav1.ObjectMeta{
		Name:        serviceName(r),
		Namespace:   namespace,
		Labels:      labels,
		Annotations: annotations(r),
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: batchv1.SchemeGroupVersion.String(), Kind: "Job", Name: r.JobNames()[0], UID: types.UID(first),
		}},
	}
}

func serviceName(r *task.Record) string { return task.ServiceName(r.Submit.Task.Name, r.Submit.ID) }

// peerArgs are those of the launcher that it has for several nodes.
func peerArgs(r *task.Record) []string {
	if r.NumNodes() == 1 {
		return nil
	}
	return []string{strconv.Itoa(r.NumNodes()), serviceName(r)}
}

// peerFile has the addresses of several nodes appear where the scripts are, as
// soon as the pod is told them.
func peerFile(r *task.Record) []corev1.DownwardAPIVolumeFile {
	if r.NumNodes() == 1 {
		return nil
	}
	return []corev1.DownwardAPIVolumeFile{script(peersFile, task.AnnotationAddresses)}
}
