package features

import (
	"path/filepath"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"k8s-cli/pkg/task"
	"k8s-cli/test/testkit/must"
)

// asUser returns a kubeconfig for a user with only these rights in the namespace.
func (c *cluster) asUser(t *testing.T, name string, rules []rbacv1.PolicyRule) string {
	t.Helper()
	rbac := c.RbacV1()
	_, err := rbac.Roles(c.namespace).Create(t.Context(), &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules}, metav1.CreateOptions{})
	must.Succeed(t, err)
	_, err = rbac.RoleBindings(c.namespace).Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: name}},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
	}, metav1.CreateOptions{})
	must.Succeed(t, err)
	path := filepath.Join(t.TempDir(), "kubeconfig")
	changeKubeconfig(t, path, func(c *clientcmdapi.Config) {
		for _, user := range c.AuthInfos {
			user.Impersonate = name
		}
	})
	return path
}

// A server with the required rights of README, but without the optional ones, runs tasks and
// logs once what it cannot explain.
func TestServerWithoutRightsToEventsAndNodes(t *testing.T) {
	t.Parallel()
	c := join(t)
	may := func(group, resources, verbs string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: strings.Fields(resources), Verbs: strings.Fields(verbs)}
	}
	s := c.serve(t, "--kubeconfig", c.asUser(t, "limited", []rbacv1.PolicyRule{
		may("batch", "jobs", "create get list watch patch delete"),
		may("", "persistentvolumeclaims", "create get list watch delete"),
		may("", "services secrets", "create get"),
		may("", "pods", "list watch patch"),
		may("", "pods/log", "get"),
		may("coordination.k8s.io", "leases", "create get update"),
	}))
	ann := s.as(t, "ann")
	if got := ann.run(t, "run: echo fine"); got != "fine\n" {
		t.Errorf("log %q", got)
	}
	id := ann.submit(t, "run: true\nresources: {cpus: 1000}")
	ann.awaitExplained(t, id, task.Pending, explanation{"Unschedulable", "^0/[0-9]+ nodes are available", "^The task starts when capacity becomes free"})
	ann.stop(t, id)
	log := s.process.Said()
	for _, kind := range []string{"events", "nodes"} {
		if n := strings.Count(log, "resource="+kind); n != 1 {
			t.Errorf("%d warnings about %s, want one:\n%s", n, kind, log)
		}
	}
	if strings.Contains(string(ann.get(t, "", "/readyz").body), "API server") {
		t.Error("rights that are missing count as an API server that is away")
	}
}
