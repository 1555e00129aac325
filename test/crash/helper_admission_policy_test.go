package crash

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"k8s-cli/pkg/task"
)

const (
	houseLabel    = "k8s-cli-crash" // on namespaces to which the policy applies
	capacityLabel = "k8s-cli-room"  // on those namespaces in which crowded is accepted
	rejected      = "rejected"      // name of tasks and volumes that the policy always rejects
	crowded       = "crowded"       // name of tasks that the policy rejects until there is capacity
)

// rules is the ValidatingAdmissionPolicy by which the API server rejects objects in these
// tests. All tests share the policy.
type rules struct {
	once   sync.Once
	client kubernetes.Interface
}

var house rules

func (r *rules) open(t *testing.T, c kubernetes.Interface) {
	t.Helper()
	r.once.Do(func() { r.establish(t, c) })
	if r.client == nil {
		t.Fatal("the rules of the house are not there")
	}
}

func (r *rules) close() {
	if r.client != nil {
		r.remove()
	}
}

func (r *rules) remove() {
	api := r.client.AdmissionregistrationV1()
	_ = api.ValidatingAdmissionPolicyBindings().Delete(context.Background(), houseLabel, metav1.DeleteOptions{})
	_ = api.ValidatingAdmissionPolicies().Delete(context.Background(), houseLabel, metav1.DeleteOptions{})
}

func (r *rules) establish(t *testing.T, c kubernetes.Interface) {
	t.Helper()
	r.client = c
	r.remove() // of a run that was interrupted
	label := func(name string) string {
		return fmt.Sprintf(`(has(object.metadata.labels) && %q in object.metadata.labels ? object.metadata.labels[%q] : "")`, name, name)
	}
	rule := func(group, resource string) admissionv1.NamedRuleWithOperations {
		return admissionv1.NamedRuleWithOperations{RuleWithOperations: admissionv1.RuleWithOperations{
			Operations: []admissionv1.OperationType{admissionv1.Create},
			Rule:       admissionv1.Rule{APIGroups: []string{group}, APIVersions: []string{"v1"}, Resources: []string{resource}},
		}}
	}
	api := c.AdmissionregistrationV1()
	_, err := api.ValidatingAdmissionPolicies().Create(t.Context(), &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: houseLabel},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionv1.MatchResources{
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{houseLabel: "yes"}},
				ResourceRules:     []admissionv1.NamedRuleWithOperations{rule("batch", "jobs"), rule("", "persistentvolumeclaims")},
			},
			Validations: []admissionv1.Validation{
				{Expression: fmt.Sprintf("%s != %q || %s != '1'", label(task.LabelTaskName), rejected, label(task.LabelNode)), Message: "no second node in this house"},
				{Expression: fmt.Sprintf("%s != %q", label(task.LabelVolumeName), rejected), Message: "no such volume in this house"},
				{
					Expression: fmt.Sprintf("%s != %q || %q in namespaceObject.metadata.labels", label(task.LabelTaskName), crowded, capacityLabel),
					Message:    "exceeded quota: no room in this house", Reason: new(metav1.StatusReasonForbidden), // the text of a quota error
				},
			},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("create a policy: %v", err)
	}
	_, err = api.ValidatingAdmissionPolicyBindings().Create(t.Context(), &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: houseLabel},
		Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: houseLabel, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("bind a policy: %v", err)
	}
	r.await(t, c)
}

// await waits until the policy is in force.
func (r *rules) await(t *testing.T, c kubernetes.Interface) {
	t.Helper()
	namespace, err := c.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "crash-try-", Labels: map[string]string{houseLabel: "yes"}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("create a namespace: %v", err)
	}
	defer func() {
		_ = c.CoreV1().Namespaces().Delete(context.Background(), namespace.Name, metav1.DeleteOptions{})
	}()
	eventually(t, "the rules hold", func() (string, bool) {
		_, err := c.BatchV1().Jobs(namespace.Name).Create(t.Context(), &batchv1.Job{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "try-", Labels: map[string]string{task.LabelTaskName: rejected, task.LabelNode: "1"}},
			Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "c", Image: "i"}},
			}}},
		}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return fmt.Sprint(err), err != nil && strings.Contains(err.Error(), "this house")
	})
}

// addCapacity makes the policy accept tasks of the name crowded.
func (c *cluster) addCapacity(t *testing.T) {
	t.Helper()
	eventually(t, "there is room", func() (string, bool) {
		namespace, err := c.CoreV1().Namespaces().Get(t.Context(), c.namespace, metav1.GetOptions{})
		if err == nil {
			namespace.Labels[capacityLabel] = "yes"
			_, err = c.CoreV1().Namespaces().Update(t.Context(), namespace, metav1.UpdateOptions{})
		}
		return fmt.Sprint(err), err == nil
	})
}
