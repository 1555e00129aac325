package deploy

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"k8s-cli/pkg/client"
	"k8s-cli/test/testkit"
	"k8s-cli/test/testkit/must"
)

// A cluster is the cluster into which make deploy installed everything, with the rights of
// an administrator.
type cluster struct {
	kubernetes.Interface
}

func join(t *testing.T) *cluster {
	t.Helper()
	need(t)
	c, err := testkit.Connect(os.Getenv(envKubeconfig), "k8s-cli-tests")
	must.Succeed(t, err)
	return &cluster{c}
}

// The two kinds of pods.
const (
	api  = "k8s-cli-server"
	nats = "k8s-cli-nats"
)

// pods returns the pods of one kind, except terminating ones.
func (c *cluster) pods(t *testing.T, kind string) (all []corev1.Pod) {
	t.Helper()
	list, err := c.CoreV1().Pods(namespace()).List(t.Context(), metav1.ListOptions{
		LabelSelector: "app.kubernetes.io/name=" + kind + ",app.kubernetes.io/instance=" + release,
	})
	must.Succeed(t, err)
	for _, pod := range list.Items {
		if pod.DeletionTimestamp == nil {
			all = append(all, pod)
		}
	}
	return all
}

func isReady(pod *corev1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

// awaitThree waits until three pods of a kind are ready, not counting the pod without.
func (c *cluster) awaitThree(t *testing.T, kind string, without types.UID) {
	t.Helper()
	eventually(t, "three ready pods of "+kind, func() (string, bool) {
		ready, pods := 0, c.pods(t, kind)
		for i := range pods {
			if isReady(&pods[i]) && pods[i].UID != without {
				ready++
			}
		}
		return fmt.Sprintf("%d of %d", ready, len(pods)), ready == 3 && len(pods) == 3
	})
}

// url returns the URL at which this machine reaches a Service.
func (c *cluster) url(t *testing.T, name string) string {
	t.Helper()
	service, err := c.CoreV1().Services(namespace()).Get(t.Context(), name, metav1.GetOptions{})
	must.Succeed(t, err)
	return fmt.Sprintf("http://%s:%d", service.Spec.ClusterIP, service.Spec.Ports[0].Port)
}

// as returns a client of the Service that acts for a user.
func (c *cluster) as(t *testing.T, user string) *client.Client {
	t.Helper()
	u := client.New(c.url(t, release), user)
	t.Cleanup(u.Close)
	return u
}

// restart makes a workload replace its pods, as an upgrade does, and waits until all are
// replaced.
func (c *cluster) restart(t *testing.T, kind string) {
	t.Helper()
	patch := fmt.Appendf(nil, `{"spec":{"template":{"metadata":{"annotations":{"restarted":%q}}}}}`, metav1.Now().String())
	apps := c.AppsV1()
	if kind == api {
		d, err := apps.Deployments(namespace()).Patch(t.Context(), release, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
		must.Succeed(t, err)
		eventually(t, "the Deployment to be rolled out", func() (string, bool) {
			now, err := apps.Deployments(namespace()).Get(t.Context(), release, metav1.GetOptions{})
			if err != nil {
				return err.Error(), false
			}
			s := now.Status
			return fmt.Sprintf("%+v", s), s.ObservedGeneration >= d.Generation && s.UpdatedReplicas == 3 && s.ReadyReplicas == 3 && s.Replicas == 3
		})
		return
	}
	d, err := apps.StatefulSets(namespace()).Patch(t.Context(), nats, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	must.Succeed(t, err)
	eventually(t, "the StatefulSet to be rolled out", func() (string, bool) {
		now, err := apps.StatefulSets(namespace()).Get(t.Context(), nats, metav1.GetOptions{})
		if err != nil {
			return err.Error(), false
		}
		s := now.Status
		return fmt.Sprintf("%+v", s), s.ObservedGeneration >= d.Generation && s.UpdatedReplicas == 3 && s.ReadyReplicas == 3 && s.CurrentRevision == s.UpdateRevision
	})
}

// evict requests the eviction of a pod, as kubectl drain does.
func (c *cluster) evict(ctx context.Context, name string) error {
	return c.PolicyV1().Evictions(namespace()).Evict(ctx, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace()}})
}

// said returns the logs of the containers of a kind.
func (c *cluster) said(t *testing.T, kind string) string {
	t.Helper()
	var all strings.Builder
	for _, pod := range c.pods(t, kind) {
		text, err := c.CoreV1().Pods(namespace()).GetLogs(pod.Name, &corev1.PodLogOptions{}).DoRaw(t.Context())
		must.Succeed(t, err)
		all.Write(text)
	}
	return all.String()
}

// helm runs helm on the cluster.
func helm(t *testing.T, args ...string) {
	t.Helper()
	need(t, envHelm)
	cmd := exec.CommandContext(t.Context(), os.Getenv(envHelm), args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+os.Getenv(envKubeconfig))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("helm %s: %v\n%s", args[0], err, out)
	}
}
