package objects

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"k8s-cli/pkg/task"
)

// The container and the Service declare each single port once, and no range.
func TestPortsOfATask(t *testing.T) {
	r := &task.Record{Submit: task.Submit{ID: "abc12345", User: "ann", Task: task.Spec{Name: "web", Run: "true", NumNodes: 2}}}
	r.Submit.Task.Resources.Ports = []string{"8080", "10052-10100", "443", "8080"}
	want := []corev1.ContainerPort{{Name: "port-8080", ContainerPort: 8080}, {Name: "port-443", ContainerPort: 443}}
	if diff := cmp.Diff(want, pod(r, 0).Spec.Containers[0].Ports); diff != "" {
		t.Errorf("ports of the container (-want +got):\n%s", diff)
	}
	service := []corev1.ServicePort{{Name: "port-8080", Port: 8080}, {Name: "port-443", Port: 443}}
	if diff := cmp.Diff(service, Service(r, "tasks", "uid").Spec.Ports); diff != "" {
		t.Errorf("ports of the Service (-want +got):\n%s", diff)
	}
}
