package deploy

import (
	"fmt"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s-cli/test/testkit/must"
)

// Three pods of each kind are ready and have logged no problem. The namespace of the pods
// enforces the Pod Security profile "restricted".
func TestInstalledPods(t *testing.T) {
	c := join(t)
	space, err := c.CoreV1().Namespaces().Get(t.Context(), namespace(), metav1.GetOptions{})
	must.Succeed(t, err)
	if got := space.Labels["pod-security.kubernetes.io/enforce"]; got != "restricted" {
		t.Errorf("the namespace enforces %q", got)
	}
	for _, kind := range []string{api, nats} {
		c.awaitThree(t, kind, "")
		for _, pod := range c.pods(t, kind) {
			for _, status := range pod.Status.ContainerStatuses {
				if status.RestartCount > 0 {
					t.Errorf("%s was restarted %d times", pod.Name, status.RestartCount)
				}
			}
		}
	}
	for line := range strings.Lines(c.said(t, api)) {
		if !strings.Contains(line, `"level":"INFO"`) && !strings.Contains(line, "--trusted-proxies") { // this installation trusts X-User, about which the server warns
			t.Errorf("a server complains: %s", line)
		}
	}
}

// The service account of the API has exactly the rights that it needs; the service account
// of NATS has none.
func TestRights(t *testing.T) {
	c := join(t)
	for _, tt := range []struct {
		account, namespace, verb, group, resource, name string
		want                                            bool
	}{
		{release, tasksNamespace(), "create", "batch", "jobs", "", true},
		{release, tasksNamespace(), "patch", "", "pods", "", true},
		{release, tasksNamespace(), "update", "coordination.k8s.io", "leases", "k8s-cli-server", true},
		{release, "", "list", "", "nodes", "", true},
		{release, tasksNamespace(), "update", "coordination.k8s.io", "leases", "another", false},
		{release, tasksNamespace(), "list", "", "secrets", "", false},
		{release, tasksNamespace(), "delete", "", "pods", "", false},
		{release, tasksNamespace(), "create", "", "pods/exec", "", false},
		{release, namespace(), "create", "batch", "jobs", "", false},
		{release, namespace(), "get", "", "secrets", "", false},
		{release, "default", "list", "batch", "jobs", "", false},
		{nats, namespace(), "get", "", "secrets", "", false},
		{nats, tasksNamespace(), "list", "", "pods", "", false},
	} {
		resource, sub, _ := strings.Cut(tt.resource, "/")
		review, err := c.AuthorizationV1().SubjectAccessReviews().Create(t.Context(), &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: "system:serviceaccount:" + namespace() + ":" + tt.account,
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Namespace: tt.namespace, Verb: tt.verb, Group: tt.group, Resource: resource, Subresource: sub, Name: tt.name,
			},
		}}, metav1.CreateOptions{})
		must.Succeed(t, err)
		if review.Status.Allowed != tt.want {
			t.Errorf("%s may %s %s %s in %q: %t", tt.account, tt.verb, tt.resource, tt.name, tt.namespace, review.Status.Allowed)
		}
	}
}

// The requests of the servers to the API server have a priority level of their own. Requests
// for the Lease have the priority level leader-election.
func TestFlowSchemas(t *testing.T) {
	c := join(t)
	own := release + "-" + namespace()
	for schema, level := range map[string]string{own: own, own + "-leases": "leader-election"} {
		want := fmt.Sprintf("flow_schema=%q,priority_level=%q", schema, level)
		eventually(t, "requests of flow "+schema, func() (string, bool) {
			metrics, err := c.Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(t.Context())
			return fmt.Sprint(err), strings.Contains(string(metrics), want)
		})
	}
}
