package features

import (
	"fmt"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s-cli/pkg/task"
)

const jobQuota = "count/jobs.batch"

// A full quota is no failure: the task waits, says why, and starts when the quota allows its
// Jobs.
func TestTaskWaitsForItsQuota(t *testing.T) {
	t.Parallel()
	ann := start(t).as(t, "ann")
	lift := ann.limit(t, jobQuota)
	id, stopped := ann.submit(t, "run: echo done"), ann.submit(t, "run: echo done")
	for _, id := range []string{id, stopped} {
		s := ann.awaitWhere(t, id, "pending for its quota", func(s task.Status) bool { return s.Metadata.Reason == "QuotaExceeded" })
		if s.Phase != task.Pending || !strings.Contains(s.Metadata.Message, "exceeded quota") {
			t.Errorf("the task is %s", sketch(s))
		}
	}
	ann.stop(t, stopped)
	lift()
	ann.await(t, id, task.Completed)
	if s := ann.task(t, stopped); s.Phase != task.Stopped || len(ann.jobs(t, stopped)) != 0 {
		t.Errorf("the task that was stopped is %s, with %d Jobs", sketch(s), len(ann.jobs(t, stopped)))
	}
}

// A task of several nodes starts when all its Jobs exist, and not before.
func TestNoNodeStartsBeforeAllCan(t *testing.T) {
	t.Parallel()
	ann := start(t).as(t, "ann")
	lift := ann.limitTo(t, jobQuota, "1")
	id := ann.submit(t, "num_nodes: 2\nrun: echo rank $NODE_RANK")
	ann.awaitWhere(t, id, "pending for its quota", func(s task.Status) bool { return s.Metadata.Reason == "QuotaExceeded" })
	jobs := ann.jobs(t, id)
	if len(jobs) != 1 || jobs[0].Spec.Suspend == nil || !*jobs[0].Spec.Suspend {
		t.Errorf("there are %d Jobs, want one that is suspended", len(jobs))
	}
	if n := len(ann.pods(t, id)); n != 0 {
		t.Errorf("there are %d pods", n)
	}
	lift()
	if s := ann.await(t, id, task.Completed); s.Metadata.Succeeded != 2 {
		t.Errorf("the task is %s", sketch(s))
	}
}

// A task that Kubernetes rejects permanently fails as a whole, with the message of
// Kubernetes, and leaves no object behind.
func TestRejectedTaskFailsAsAWhole(t *testing.T) {
	t.Parallel()
	for reason, hint := range map[metav1.StatusReason]string{
		metav1.StatusReasonInvalid: "^Correct what the message names", metav1.StatusReasonForbidden: "^A policy of the cluster forbids this",
	} {
		t.Run(string(reason), func(t *testing.T) {
			t.Parallel()
			ann := start(t).as(t, "ann")
			const sentence = "no node of rank 1 in this house"
			ann.forbid(t, sentence, reason)
			id := ann.submit(t, "num_nodes: 2\nrun: echo rank $NODE_RANK")
			s := ann.awaitExplained(t, id, task.Failed, explanation{string(reason), sentence, hint})
			if s.Metadata.Failed != 2 {
				t.Errorf("the task is %s, want two failed nodes", sketch(s))
			}
			ann.awaitNothing(t, id)
			if got := ann.tasks(t); len(got) != 1 || got[0] != id {
				t.Errorf("the list is %v", got)
			}
			ann.run(t, "run: echo rank $NODE_RANK") // an allowed task runs
		})
	}
}

// forbid makes the API server reject Jobs of the namespace that belong to the node of rank 1.
func (c *cluster) forbid(t *testing.T, sentence string, reason metav1.StatusReason) {
	t.Helper()
	api := c.AdmissionregistrationV1()
	meta := metav1.ObjectMeta{Name: c.namespace}
	t.Cleanup(func() { c.allow() })
	_, err := api.ValidatingAdmissionPolicies().Create(t.Context(), &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: meta,
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionv1.MatchResources{
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: c.namespace}},
				ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
					Operations: []admissionv1.OperationType{admissionv1.Create},
					Rule:       admissionv1.Rule{APIGroups: []string{"batch"}, APIVersions: []string{"v1"}, Resources: []string{"jobs"}},
				}}},
			},
			Validations: []admissionv1.Validation{{
				Expression: "!has(object.metadata.labels) || !('node-idx' in object.metadata.labels) || object.metadata.labels['node-idx'] != '1'",
				Message:    sentence, Reason: &reason,
			}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("create a policy: %v", err)
	}
	_, err = api.ValidatingAdmissionPolicyBindings().Create(t.Context(), &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: meta,
		Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName:        c.namespace,
			ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("bind a policy: %v", err)
	}
	eventually(t, "the policy holds", func() (string, bool) {
		meta, dry := metav1.ObjectMeta{GenerateName: "try-", Labels: map[string]string{task.LabelNode: "1"}}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
		pod := corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "c", Image: "i"}}}
		_, err := c.BatchV1().Jobs(c.namespace).Create(t.Context(), &batchv1.Job{ObjectMeta: meta, Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: pod}}}, dry)
		return fmt.Sprint(err), err != nil && strings.Contains(err.Error(), sentence)
	})
}
