package submit

import (
	"context"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"k8s-cli/pkg/crash"
	"k8s-cli/pkg/task"
)

// This file contains every call that changes the cluster. Each call is alone in its function,
// between two crash points.

const fieldManager = "k8s-cli"

// createJob creates a Job while its read point is fresh. A late creation is harmful although
// the name is unique, because the Job of that name may have been deleted already.
func (c *Controller) createJob(ctx context.Context, job *batchv1.Job, seen readPoint) (*batchv1.Job, error) {
	crash.Before(crash.CreateJob)
	defer crash.After(crash.CreateJob)
	if err := seen.checkFresh(); err != nil {
		return nil, err
	}
	return c.jobs.Create(seen.bind(ctx), job, metav1.CreateOptions{FieldManager: fieldManager})
}

// resumeJob resumes a Job that was created suspended, and sets an annotation that records it.
func (c *Controller) resumeJob(ctx context.Context, name, uid string) error {
	crash.Before(crash.ResumeJob)
	defer crash.After(crash.ResumeJob)
	patch := fmt.Sprintf(`{"metadata":{"uid":%q,"annotations":{%q:"true"}},"spec":{"suspend":false}}`, uid, task.AnnotationResumed)
	_, err := c.jobs.Patch(ctx, name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: fieldManager})
	return err
}

// createService creates a Service, under the same condition as createJob.
func (c *Controller) createService(ctx context.Context, service *corev1.Service, seen readPoint) (*corev1.Service, error) {
	crash.Before(crash.CreateService)
	defer crash.After(crash.CreateService)
	if err := seen.checkFresh(); err != nil {
		return nil, err
	}
	return c.services.Create(seen.bind(ctx), service, metav1.CreateOptions{FieldManager: fieldManager})
}

// createSecret creates a Secret, under the same condition as createJob.
func (c *Controller) createSecret(ctx context.Context, secret *corev1.Secret, seen readPoint) (*corev1.Secret, error) {
	crash.Before(crash.CreateSecret)
	defer crash.After(crash.CreateSecret)
	if err := seen.checkFresh(); err != nil {
		return nil, err
	}
	return c.secrets.Create(seen.bind(ctx), secret, metav1.CreateOptions{FieldManager: fieldManager})
}

// publishToPod writes the addresses of other nodes into an annotation of a pod. The value is lines
// of addresses and names, for which the quoting of Go and JSON is the same.
func (c *Controller) publishToPod(ctx context.Context, name, uid, annotation, value string) error {
	crash.Before(crash.PublishPeers)
	defer crash.After(crash.PublishPeers)
	patch := fmt.Sprintf(`{"metadata":{"uid":%q,"annotations":{%q:%q}}}`, uid, annotation, value)
	_, err := c.pods.Patch(ctx, name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: fieldManager})
	return err
}

func (c *Controller) deleteJob(ctx context.Context, name, uid string) error {
	crash.Before(crash.DeleteJob)
	defer crash.After(crash.DeleteJob)
	options := deleteOptions(uid)
	options.PropagationPolicy = new(metav1.DeletePropagationForeground) // the Job is gone when its pods are, so that they count until then
	return c.jobs.Delete(ctx, name, options)
}

// deleteIdleJob deletes a suspended Job of a task that is still wanted, if the Job is
// unchanged since it was read. Resuming the Job changes its resourceVersion.
func (c *Controller) deleteIdleJob(ctx context.Context, job *batchv1.Job, seen readPoint) error {
	crash.Before(crash.DeleteJob)
	defer crash.After(crash.DeleteJob)
	if err := seen.checkFresh(); err != nil {
		return err
	}
	options := deleteOptions(string(job.UID))
	if job.ResourceVersion != "" {
		options.Preconditions.ResourceVersion = &job.ResourceVersion
	}
	return c.jobs.Delete(seen.bind(ctx), job.Name, options)
}

// createClaim creates a claim, under the same condition as createJob.
func (c *Controller) createClaim(ctx context.Context, claim *corev1.PersistentVolumeClaim, seen readPoint) (*corev1.PersistentVolumeClaim, error) {
	crash.Before(crash.CreateClaim)
	defer crash.After(crash.CreateClaim)
	if err := seen.checkFresh(); err != nil {
		return nil, err
	}
	return c.claims.Create(seen.bind(ctx), claim, metav1.CreateOptions{FieldManager: fieldManager})
}

func (c *Controller) deleteClaim(ctx context.Context, name, uid string) error {
	crash.Before(crash.DeleteClaim)
	defer crash.After(crash.DeleteClaim)
	return c.claims.Delete(ctx, name, deleteOptions(uid))
}

// deleteOptions identifies the object by its UID, and deletes its dependents too: without a
// propagation policy the pods of a Job would be left behind.
func deleteOptions(uid string) metav1.DeleteOptions {
	return metav1.DeleteOptions{
		Preconditions:     metav1.NewUIDPreconditions(uid),
		PropagationPolicy: new(metav1.DeletePropagationBackground),
	}
}
