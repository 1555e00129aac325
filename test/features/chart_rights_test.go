package features

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"k8s-cli/pkg/client"
	"k8s-cli/pkg/task"
	"k8s-cli/test/testkit"
	"k8s-cli/test/testkit/must"
)

const envHelm = "K8S_CLI_TEST_HELM" // path of helm

// A server that does everything that it can do uses every right that the chart gives its
// service account, according to the API server's audit log, and is denied none. If a verb is
// removed from the chart or added, this test fails.
func TestChartGrantsExactlyTheRightsInUse(t *testing.T) {
	t.Parallel()
	c := join(t)
	given := c.installRights(t)
	account := "system:serviceaccount:" + c.namespace + ":k8s-cli"
	// The server also supports an API server without streaming lists.
	s := (&server{cluster: c, env: []string{"KUBE_FEATURE_WatchListClient=false"}, flags: []string{
		"--kubeconfig", forgetfulAPIServer(t, account), "--nats-url", external(t), "--allow-exec", "--auth", "tokenreview", "--token-audience", "k8s-cli",
	}}).serve(t)
	ann := s.with(t, c.token(t, "ann", "k8s-cli"))
	ann.run(t, "run: '[ \"$S\" = hidden ] && echo \"$SKYPILOT_NODE_IPS\"'\nnum_nodes: 2\nsecrets: {S: hidden}")
	id := ann.submit(t, yaml("run", endless))
	ann.await(t, id, task.Running)
	if code, err := ann.Exec(t.Context(), id, client.ExecOptions{Command: []string{"true"}}); code != 0 || err != nil {
		t.Errorf("exec: %d, %v", code, err)
	}
	_ = ann.Forward(t.Context(), id, 0, 1, new(bytes.Buffer)) // nothing listens
	ann.stop(t, id)
	ann.awaitNothing(t, id)
	volume, err := ann.CreateVolume(t.Context(), task.Volume{Name: "data", Size: "1Gi"})
	must.Succeed(t, err)
	ann.run(t, "run: echo >/data/x\nvolumes: {/data: data}")
	if _, err := ann.ForceDeleteVolume(t.Context(), volume.ID); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the claim to be deleted", func() (string, bool) {
		list, err := c.CoreV1().PersistentVolumeClaims(c.namespace).List(t.Context(), metav1.ListOptions{})
		return fmt.Sprint(err), err == nil && len(list.Items) == 0
	})

	used, denied := rightsUsed(t, account)
	if len(denied) > 0 {
		t.Errorf("the chart does not let the server %q, which it tried", denied)
	}
	for _, right := range given {
		// The API server also requires create for a WebSocket, but its audit log shows only get.
		right = strings.NewReplacer("create pods/exec", "get pods/exec", "create pods/portforward", "get pods/portforward").Replace(right)
		if !slices.Contains(used, right) {
			t.Errorf("the chart lets the server %q, which it never does", right)
		}
	}
	for _, right := range used {
		if !slices.Contains(given, right) {
			t.Errorf("the server does %q, which the chart does not let it", right)
		}
	}
}

// installRights gives a service account the rights that the chart has for it, and returns
// them, such as "create jobs".
func (c *cluster) installRights(t *testing.T) (given []string) {
	t.Helper()
	helm := os.Getenv(envHelm)
	if helm == "" {
		t.Skip(envHelm + " names no helm; make test does")
	}
	cmd := exec.CommandContext(t.Context(), helm, "template", "k8s-cli", "../../deploy/kubernetes/chart", "--kube-version", "1.30.0", "--namespace", c.namespace,
		"--show-only", "templates/rbac.yaml", "--set", "tasks.create=false,allowExec=true,auth.mode=tokenreview,tasks.namespace="+c.namespace)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("render the chart: %v", err)
	}
	add := func(rules []rbacv1.PolicyRule) {
		for _, r := range rules {
			for _, resource := range r.Resources {
				for _, verb := range r.Verbs {
					given = append(given, verb+" "+resource)
				}
			}
		}
	}
	rbac, now := c.RbacV1(), metav1.CreateOptions{}
	for document := range bytes.SplitSeq(out, []byte("\n---\n")) {
		object, _, err := scheme.Codecs.UniversalDeserializer().Decode(document, nil, nil)
		if err != nil {
			t.Fatalf("%v:\n%s", err, document)
		}
		switch o := object.(type) {
		case *corev1.ServiceAccount:
			_, err = c.CoreV1().ServiceAccounts(c.namespace).Create(t.Context(), o, now)
		case *rbacv1.Role:
			add(o.Rules)
			_, err = rbac.Roles(c.namespace).Create(t.Context(), o, now)
		case *rbacv1.RoleBinding:
			_, err = rbac.RoleBindings(c.namespace).Create(t.Context(), o, now)
		case *rbacv1.ClusterRole:
			add(o.Rules)
			_, err = rbac.ClusterRoles().Create(t.Context(), o, now)
			t.Cleanup(func() { _ = rbac.ClusterRoles().Delete(context.Background(), o.Name, metav1.DeleteOptions{}) })
		case *rbacv1.ClusterRoleBinding:
			_, err = rbac.ClusterRoleBindings().Create(t.Context(), o, now)
			t.Cleanup(func() { _ = rbac.ClusterRoleBindings().Delete(context.Background(), o.Name, metav1.DeleteOptions{}) })
		default:
			t.Fatalf("the chart has a %T among the rights", o)
		}
		must.Succeed(t, err)
	}
	return given
}

// token returns a token for a service account, and creates the service account if it does not exist.
// Without audiences the token is for the API server.
func (c *cluster) token(t *testing.T, name string, audiences ...string) string {
	t.Helper()
	accounts := c.CoreV1().ServiceAccounts(c.namespace)
	if _, err := accounts.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: audiences}}
	got, err := accounts.CreateToken(t.Context(), name, request, metav1.CreateOptions{})
	must.Succeed(t, err)
	return got.Status.Token
}

// forgetfulAPIServer starts a proxy in front of the API server that loses the answer to the
// first creation of each kind, so that the server must read which objects exist.
// forgetfulAPIServer returns a kubeconfig for the proxy and the account.
func forgetfulAPIServer(t *testing.T, account string) string {
	t.Helper()
	settings, err := clientcmd.BuildConfigFromFlags("", os.Getenv(envKubeconfig))
	must.Succeed(t, err)
	settings.Impersonate.UserName = account
	transport, err := rest.TransportFor(settings)
	must.Succeed(t, err)
	to, err := url.Parse(settings.Host)
	must.Succeed(t, err)
	var mu sync.Mutex
	lost := map[string]bool{}
	proxy := httputil.NewSingleHostReverseProxy(to)
	proxy.Transport, proxy.FlushInterval = transport, -1
	proxy.ModifyResponse = func(r *http.Response) error {
		kind := path.Base(r.Request.URL.Path)
		mu.Lock()
		defer mu.Unlock()
		if r.StatusCode == http.StatusCreated && !lost[kind] && slices.Contains([]string{"jobs", "services", "secrets", "persistentvolumeclaims"}, kind) {
			lost[kind] = true
			panic(http.ErrAbortHandler)
		}
		return nil
	}
	front := httptest.NewServer(proxy)
	t.Cleanup(front.Close)
	return kubeconfigFor(t, front.URL)
}

// rightsUsed returns what an account used and what it was denied, according to the audit
// log, without duplicates.
func rightsUsed(t *testing.T, account string) (used, denied []string) {
	t.Helper()
	err := testkit.ReadAudits(filepath.Join(filepath.Dir(os.Getenv(envKubeconfig)), "log"), account, func(e event) {
		if e.Object.Resource == "" || e.Impersonated.Username != account {
			return
		}
		right := e.Verb + " " + strings.TrimSuffix(e.Object.Resource+"/"+e.Object.Subresource, "/")
		if e.Annotations["authorization.k8s.io/decision"] == "allow" {
			used = append(used, right)
		} else {
			denied = append(denied, right)
		}
	})
	must.Succeed(t, err)
	slices.Sort(used)
	slices.Sort(denied)
	return slices.Compact(used), slices.Compact(denied)
}
