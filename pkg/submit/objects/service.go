package objects

import (
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"k8s-cli/pkg/task"
)

// Service returns the Service through which the nodes of a task find each other by name:
// node-0.{service} and so on, as soon as the nodes have an address. The Job of the first node,
// whose UID is first, owns the Service. Kubernetes deletes the Service with that Job, or at
// once if the Job no longer exists, so that the controller need not delete it.
func Service(r *task.Record, namespace, first string) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: dependent(r, namespace, first),
		Spec: corev1.ServiceSpec{
			ClusterIP:                corev1.ClusterIPNone,
			PublishNotReadyAddresses: true, // nodes wait for nodes that are not ready yet
			Ports:                    servicePorts(r.Submit.Resources()),
			Selector:                 map[string]string{task.LabelTask: "true", task.LabelTaskID: r.Submit.ID},
		},
	}
}

// Secret returns the Secret of a task: values holds the secrets of the task, and tokens the tokens
// of its pods for uploads and outputs, by FilesKey and OutputKey. The Job of the first node owns
// the Secret, like the Service. No container of the task starts before the Secret exists.
func Secret(r *task.Record, values, tokens map[string]string, namespace, first string) *corev1.Secret {
	data := map[string][]byte{}
	for _, entries := range []map[string]string{values, tokens} {
		for name, value := range entries {
			data[name] = []byte(value)
		}
	}
	return &corev1.Secret{ObjectMeta: dependent(r, namespace, first), Immutable: new(true), Type: corev1.SecretTypeOpaque, Data: data}
}

// dependent returns the metadata of an object that the Job of the first node owns.
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

// peerArgs returns the arguments of the entrypoint for several nodes.
func peerArgs(r *task.Record) []string {
	if r.NumNodes() == 1 {
		return nil
	}
	return []string{strconv.Itoa(r.NumNodes()), serviceName(r)}
}

// peerFile makes the addresses of several nodes a file beside the scripts, as soon as the
// annotation of the pod has them.
func peerFile(r *task.Record) []corev1.DownwardAPIVolumeFile {
	if r.NumNodes() == 1 {
		return nil
	}
	return []corev1.DownwardAPIVolumeFile{script(peersFile, task.AnnotationAddresses)}
}
