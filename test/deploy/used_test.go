package deploy

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s-cli/test/testkit"
	"k8s-cli/test/testkit/must"
)

// spare maps rights that a run of these tests may not use to the reason.
var spare = map[string]string{
	"list jobs":                   "where the API server streams no lists",
	"list pods":                   "where the API server streams no lists",
	"list persistentvolumeclaims": "where the API server streams no lists",
	"get persistentvolumeclaims":  "to look again after a creation that was repeated",
	"get services":                "to look again after a creation that was repeated",
	"get secrets":                 "to look again after a creation that was repeated",
}

// According to the API server's audit log, the servers were denied nothing and used every
// right that they have. This test is the last one, because it checks the requests that the
// other tests caused.
func TestEveryRightIsUsed(t *testing.T) {
	c := join(t)
	used, denied := audit(t)
	for what := range denied {
		t.Errorf("the servers were not let %s", what)
	}
	role, err := c.RbacV1().Roles(tasksNamespace()).Get(t.Context(), release, metav1.GetOptions{})
	must.Succeed(t, err)
	of, err := c.RbacV1().ClusterRoles().Get(t.Context(), release+"-"+namespace(), metav1.GetOptions{})
	must.Succeed(t, err)
	for _, rule := range append(role.Rules, of.Rules...) {
		for _, what := range rights(rule) {
			if spare[what] == "" && !used[what] {
				t.Errorf("nobody has used the right to %s", what)
			}
		}
	}
}

func rights(rule rbacv1.PolicyRule) (all []string) {
	for _, resource := range rule.Resources {
		for _, verb := range rule.Verbs {
			all = append(all, verb+" "+resource)
		}
	}
	return all
}

// audit returns the kinds of requests of the servers that the API server allowed and denied,
// such as "create jobs".
func audit(t *testing.T) (used, denied map[string]bool) {
	t.Helper()
	dir := filepath.Join(filepath.Dir(os.Getenv(envKubeconfig)), "log")
	if files, err := filepath.Glob(filepath.Join(dir, "audit*.log")); err != nil || len(files) == 0 {
		t.Skip("this cluster keeps no audit log that could be read here")
	}
	used, denied = map[string]bool{}, map[string]bool{}
	account := fmt.Sprintf("system:serviceaccount:%s:%s", namespace(), release)
	err := testkit.ReadAudits(dir, account, func(e testkit.AuditEvent) {
		what := e.Verb + " " + e.Object.Resource
		if e.Object.Subresource != "" {
			what += "/" + e.Object.Subresource
		}
		switch {
		case e.User.Username != account:
		case e.Annotations["authorization.k8s.io/decision"] == "forbid":
			denied[what] = true
		default:
			used[what] = true
		}
	})
	must.Succeed(t, err)
	return used, denied
}
