package objects

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"k8s-cli/pkg/task"
)

// Manifests returns all Kubernetes objects of a task for display: with their kinds, with
// task.Redacted in place of secrets, and without the UIDs that the API server assigns. Of the
// Jobs, All returns only the first few.
func Manifests(r *task.Record, namespace string, few int) []runtime.Object {
	var all []runtime.Object
	jobs := Jobs(r, namespace)
	for _, job := range jobs[:min(len(jobs), few)] {
		job.APIVersion, job.Kind = batchv1.SchemeGroupVersion.String(), "Job"
		all = append(all, job)
	}
	if r.NumNodes() > 1 {
		service := Service(r, namespace, "")
		service.APIVersion, service.Kind = corev1.SchemeGroupVersion.String(), "Service"
		all = append(all, service)
	}
	secretData := map[string]string{}
	for name := range r.Submit.Task.Secrets {
		secretData[name] = task.Redacted
	}
	if len(r.Submit.Task.Uploads) > 0 {
		secretData[FilesKey] = task.Redacted
	}
	for rank := 0; len(r.Submit.Task.Outputs) > 0 && rank < r.NumNodes(); rank++ {
		secretData[OutputKey(rank)] = task.Redacted
	}
	if len(secretData) > 0 {
		secret := Secret(r, nil, nil, namespace, "")
		secret.APIVersion, secret.Kind = corev1.SchemeGroupVersion.String(), "Secret"
		secret.Data, secret.StringData = nil, secretData
		all = append(all, secret)
	}
	return all
}
