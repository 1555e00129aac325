package deploy

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	if err != nil {
		t.Fatal(err)
	}
	of, err := c.RbacV1().ClusterRoles().Get(t.Context(), release+"-"+namespace(), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
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
	files, err := filepath.Glob(filepath.Join(filepath.Dir(os.Getenv(envKubeconfig)), "log", "audit*.log"))
	if err != nil || len(files) == 0 {
		t.Skip("this cluster keeps no audit log that could be read here")
	}
	used, denied = map[string]bool{}, map[string]bool{}
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		for lines := bufio.NewScanner(f); lines.Scan(); {
			var line struct {
				Verb      string
				User      struct{ Username string }
				ObjectRef struct{ Resource, Subresource string }

				Annotations map[string]string
			}
			if json.Unmarshal(lines.Bytes(), &line) != nil || line.User.Username != fmt.Sprintf("system:serviceaccount:%s:%s", namespace(), release) {
				continue
			}
			what := line.Verb + " " + line.ObjectRef.Resource
			if line.ObjectRef.Subresource != "" {
				what += "/" + line.ObjectRef.Subresource
			}
			if line.Annotations["authorization.k8s.io/decision"] == "forbid" {
				denied[what] = true
			} else {
				used[what] = true
			}
		}
	}
	return used, denied
}
