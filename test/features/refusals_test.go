package features

import (
	"fmt"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"k8s-cli/pkg/client"
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

// Two tasks whose Jobs exceed a quota together do not block each other, and no node runs
// while another node of its task has no Job.
func TestMultiNodeTasksShareAQuota(t *testing.T) {
	t.Parallel()
	s := start(t)
	ann := s.as(t, "ann")
	ann.limitTo(t, jobQuota, "10")
	const nodes = 8
	var ids []string
	for range 2 {
		ids = append(ids, ann.submit(t, fmt.Sprintf("num_nodes: %d\nrun: echo $SKYPILOT_NUM_NODES", nodes)))
	}
	for _, id := range ids {
		if s := ann.await(t, id, task.Completed); s.Metadata.Succeeded != nodes {
			t.Errorf("the task is %s", sketch(s))
		}
		if got := ann.log(t, id, client.LogOptions{}); strings.Count(got, "8\n") != nodes {
			t.Errorf("its nodes said %q", got)
		}
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
			ann.forbid(t, batchv1.SchemeGroupVersion.WithResource("jobs"), sentence, reason)
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

// An admission policy rejects the pod, which only an Event shows. The policy may change, so
// the task waits.
func TestPodRejectedByAdmissionPolicy(t *testing.T) {
	t.Parallel()
	ann := start(t).as(t, "ann")
	ann.forbid(t, corev1.SchemeGroupVersion.WithResource("pods"), "no pod of rank 1", metav1.StatusReasonForbidden)
	id := ann.submit(t, "num_nodes: 2\n"+yaml("run", endless))
	ann.awaitWhere(t, id, "explains the node that gets no pod", func(s task.Status) bool {
		n := s.Metadata.Nodes[1]
		return n.Reason == "FailedCreate" && strings.Contains(n.Message, "no pod of rank 1") && strings.HasPrefix(n.Hint, "A policy of the cluster rejects the pod")
	})
	ann.stop(t, id)
}

// forbid makes the API server reject objects of the namespace that belong to the node of
// rank 1.
func (c *cluster) forbid(t *testing.T, kind schema.GroupVersionResource, sentence string, reason metav1.StatusReason) {
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
					Rule:       admissionv1.Rule{APIGroups: []string{kind.Group}, APIVersions: []string{kind.Version}, Resources: []string{kind.Resource}},
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
		var err error
		if kind.Resource == "pods" {
			_, err = c.CoreV1().Pods(c.namespace).Create(t.Context(), &corev1.Pod{ObjectMeta: meta, Spec: pod}, dry)
		} else {
			_, err = c.BatchV1().Jobs(c.namespace).Create(t.Context(), &batchv1.Job{ObjectMeta: meta, Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: pod}}}, dry)
		}
		return fmt.Sprint(err), err != nil && strings.Contains(err.Error(), sentence)
	})
}

// A volume that Kubernetes rejects is Failed, with the reason.
func TestRejectedVolumeFails(t *testing.T) {
	t.Parallel()
	ann := start(t).as(t, "ann")
	ann.limitRange(t, "1Gi")
	id := ann.create(t, task.Volume{Name: "data", Size: "2Gi"})
	eventually(t, "the volume has failed", func() (string, bool) {
		v := ann.volume(t, id)
		return fmt.Sprintf("%+v", v), v.Phase == task.VolumeFailed && strings.Contains(v.Metadata.Message, "2Gi") && v.Metadata.Reason != ""
	})
	ann.deleteVolume(t, id)
}

// limitRange makes the API server reject claims larger than most.
func (c *cluster) limitRange(t *testing.T, most string) {
	t.Helper()
	_, err := c.CoreV1().LimitRanges(c.namespace).Create(t.Context(), &corev1.LimitRange{
		ObjectMeta: metav1.ObjectMeta{Name: "small"},
		Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{
			Type: corev1.LimitTypePersistentVolumeClaim,
			Max:  corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(most)},
		}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("create a limit: %v", err)
	}
	eventually(t, "the limit holds", func() (string, bool) {
		_, err := c.CoreV1().PersistentVolumeClaims(c.namespace).Create(t.Context(), &corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "try-"},
			Spec: corev1.PersistentVolumeClaimSpec{
				AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
				Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("2Gi")}},
			},
		}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return fmt.Sprint(err), err != nil
	})
}
