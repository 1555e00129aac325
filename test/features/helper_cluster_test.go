package features

import (
	"context"
	"fmt"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"k8s-cli/pkg/task"
	"k8s-cli/test/testkit"
)

// A cluster is a client of the real cluster and one namespace, with the rights of an
// administrator.
type cluster struct {
	kubernetes.Interface
	namespace string
}

// join returns the cluster with a new namespace, which is deleted at the end of the test.
func join(t *testing.T) *cluster {
	t.Helper()
	c := testkit.Join(t, "test-", nil)
	return &cluster{c, c.Namespace}
}

// withdraw deletes a PersistentVolume.
func (c *cluster) withdraw(name string) {
	_ = c.CoreV1().PersistentVolumes().Delete(context.Background(), name, metav1.DeleteOptions{})
}

// forgetPriority deletes a PriorityClass.
func (c *cluster) forgetPriority(name string) {
	_ = c.SchedulingV1().PriorityClasses().Delete(context.Background(), name, metav1.DeleteOptions{})
}

// allow reverts forbid.
func (c *cluster) allow() {
	api := c.AdmissionregistrationV1()
	_ = api.ValidatingAdmissionPolicyBindings().Delete(context.Background(), c.namespace, metav1.DeleteOptions{})
	_ = api.ValidatingAdmissionPolicies().Delete(context.Background(), c.namespace, metav1.DeleteOptions{})
}

func of(id string) metav1.ListOptions {
	if id == "" {
		return metav1.ListOptions{}
	}
	return metav1.ListOptions{LabelSelector: task.LabelTaskID + "=" + id}
}

// jobs returns the Jobs of a task by name, or all Jobs if id is empty.
func (c *cluster) jobs(t *testing.T, id string) []batchv1.Job {
	t.Helper()
	list, err := c.BatchV1().Jobs(c.namespace).List(t.Context(), of(id))
	if err != nil {
		t.Fatalf("list jobs: %v", err)
	}
	return list.Items
}

// pods returns the pods of a task by name, or all pods if id is empty.
func (c *cluster) pods(t *testing.T, id string) []corev1.Pod {
	t.Helper()
	list, err := c.CoreV1().Pods(c.namespace).List(t.Context(), of(id))
	if err != nil {
		t.Fatalf("list pods: %v", err)
	}
	return list.Items
}

// claim returns the claim of that name, or nil.
func (c *cluster) claim(t *testing.T, name string) *corev1.PersistentVolumeClaim {
	t.Helper()
	claim, err := c.CoreV1().PersistentVolumeClaims(c.namespace).Get(t.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		t.Fatalf("look for claim %s: %v", name, err)
	}
	return claim
}

// awaitJobs waits until a task has n Jobs, and returns them.
func (c *cluster) awaitJobs(t *testing.T, id string, n int) (jobs []batchv1.Job) {
	t.Helper()
	eventually(t, fmt.Sprintf("%d Jobs of task %s", n, id), func() (string, bool) {
		jobs = c.jobs(t, id)
		return fmt.Sprintf("%d Jobs", len(jobs)), len(jobs) == n
	})
	return jobs
}

// awaitNothing waits until no object of a task is left.
func (c *cluster) awaitNothing(t *testing.T, id string) {
	t.Helper()
	eventually(t, "no Jobs and pods of task "+id, func() (string, bool) {
		jobs, pods := c.jobs(t, id), c.pods(t, id)
		return fmt.Sprintf("%d Jobs, %d pods", len(jobs), len(pods)), len(jobs)+len(pods) == 0
	})
}

// awaitNoClaim waits until no claim has this name.
func (c *cluster) awaitNoClaim(t *testing.T, name string) {
	t.Helper()
	eventually(t, "no claim "+name, func() (string, bool) {
		claim := c.claim(t, name)
		if claim == nil {
			return "", true
		}
		return fmt.Sprintf("%s, deleted at %v, held by %v", claim.Status.Phase, claim.DeletionTimestamp, claim.Finalizers), false
	})
}

// limit creates a quota that allows none of a resource in the namespace. lift deletes the
// quota.
func (c *cluster) limit(t *testing.T, name string) (lift func()) {
	t.Helper()
	return c.limitTo(t, name, "0")
}

func (c *cluster) limitTo(t *testing.T, name, most string) (lift func()) {
	t.Helper()
	const quota = "limit"
	hard := corev1.ResourceList{corev1.ResourceName(name): resource.MustParse(most), "count/cronjobs.batch": resource.MustParse("0")}
	quotas := c.CoreV1().ResourceQuotas(c.namespace)
	_, err := quotas.Create(t.Context(), &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: quota}, Spec: corev1.ResourceQuotaSpec{Hard: hard},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("create a quota: %v", err)
	}
	probe := &batchv1.CronJob{ObjectMeta: metav1.ObjectMeta{Name: "probe"}, Spec: batchv1.CronJobSpec{Schedule: "@yearly", JobTemplate: batchv1.JobTemplateSpec{
		Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "c", Image: "i"}}}}},
	}}}
	eventually(t, "the API server applies the quota", func() (string, bool) { // its status says only that the controller has seen it
		_, err := c.BatchV1().CronJobs(c.namespace).Create(t.Context(), probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return fmt.Sprint(err), err != nil && strings.Contains(err.Error(), "exceeded quota")
	})
	return func() {
		t.Helper()
		if err := quotas.Delete(t.Context(), quota, metav1.DeleteOptions{}); err != nil {
			t.Fatalf("delete the quota: %v", err)
		}
	}
}
