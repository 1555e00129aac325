package chart

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"

	"k8s-cli/test/testkit/must"
)

// A real API server knows every field and accepts its value. The pods of the release comply
// with the Pod Security profile "restricted", about which the API server would warn.
func TestEveryVariantIsAdmitted(t *testing.T) {
	t.Parallel()
	c := join(t)
	for _, tt := range []struct{ name, values string }{
		{"as it is", "nats.existingSecret=n"},
		{"everything there is", "autoscaling.enabled=true,rbac.tokenReviews=true,server.secretsKey.existingSecret=k,imagePullSecrets[0].name=p,nats.storage.storageClassName=s," +
			"server.flags.max-nodes=8,server.env[0].name=A,server.env[0].value=b,server.podLabels.a=b,server.podAnnotations.a=b,nats.podAnnotations.a=b," +
			"networkPolicy.tasks.exceptCIDRs={10.0.0.0/8,fd00::/8},networkPolicy.tasks.ingress[0].ports[0].port=8888,networkPolicy.tasks.egress[0].ports[0].port=2049,server.nodeSelector.a=b,server.tolerations[0].operator=Exists,nats.tolerations[0].operator=Exists,networkPolicy.from[0].podSelector.matchLabels.a=b," +
			"networkPolicy.subscribersFrom[0].podSelector.matchLabels.a=b,service.type=LoadBalancer,serviceAccount.annotations.a=b,nats.image.digest=sha256:" + strings.Repeat("0", 64)},
		{"operators apart", "metrics.port=9090,metrics.from[0].podSelector.matchLabels.a=b"},
		{"nothing of the cluster's", "priorityClass.create=false,flowControl.create=false,rbac.nodes=false,networkPolicy.enabled=false,podDisruptionBudget.enabled=false,tasks.create=false"},
		{"tokens of a list", "auth.mode=token,auth.tokensSecret=t"},
		{"a NATS elsewhere", "log=external,external.url=nats://n:4222,external.credsSecret=c,external.caSecret=a,external.clientSecret=b"},
		{"TLS", "auth.mode=tokenreview,nats.tlsSecret=n,ingress.enabled=true,ingress.host=a.example.com,ingress.tlsSecret=t,ingress.annotations.a=b"},
		{"the log in the pod", "log=embedded,embedded.storageClassName=s,embedded.accessModes={ReadWriteOncePod}"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, object := range rendered(t, render(t, c.namespace, "--set", "tasks.namespace="+c.tasks, "--set", tt.values)) {
				c.admit(t, object)
			}
			if said := c.warnings.all(); len(said) > 0 {
				t.Errorf("the API server warns: %q", said)
			}
		})
	}
}

// A cluster is a cluster that answers dry runs.
type cluster struct {
	namespace, tasks string
	dynamic          dynamic.Interface
	mapper           *restmapper.DeferredDiscoveryRESTMapper
	warnings         *warnings
}

func join(t *testing.T) *cluster {
	t.Helper()
	if os.Getenv(envKubeconfig) == "" || os.Getenv(envHelm) == "" {
		t.Skip(envKubeconfig + " and " + envHelm + " name no cluster and no helm; make test does")
	}
	settings, err := clientcmd.BuildConfigFromFlags("", os.Getenv(envKubeconfig))
	must.Succeed(t, err)
	c := &cluster{warnings: &warnings{}}
	settings.WarningHandler = c.warnings
	settings.QPS = -1
	client, err := kubernetes.NewForConfig(settings)
	must.Succeed(t, err)
	if c.dynamic, err = dynamic.NewForConfig(settings); err != nil {
		t.Fatal(err)
	}
	c.mapper = restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(client.Discovery()))
	for _, name := range []*string{&c.namespace, &c.tasks} {
		made, err := client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
			GenerateName: "chart-", Labels: map[string]string{"pod-security.kubernetes.io/warn": "restricted"},
		}}, metav1.CreateOptions{})
		must.Succeed(t, err)
		*name = made.Name
		t.Cleanup(func() {
			_ = client.CoreV1().Namespaces().Delete(context.Background(), made.Name, metav1.DeleteOptions{})
		})
	}
	return c
}

// admit checks by a dry run that the API server would accept an object, and that it would
// drop no field.
func (c *cluster) admit(t *testing.T, object *unstructured.Unstructured) {
	t.Helper()
	kind := object.GroupVersionKind()
	mapping, err := c.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	must.Succeed(t, err)
	var to dynamic.ResourceInterface = c.dynamic.Resource(mapping.Resource)
	if object.GetNamespace() != "" {
		to = c.dynamic.Resource(mapping.Resource).Namespace(object.GetNamespace())
	}
	_, err = to.Apply(t.Context(), object.GetName(), object, metav1.ApplyOptions{DryRun: []string{metav1.DryRunAll}, FieldManager: "chart-test", Force: true})
	if err != nil {
		t.Errorf("%s %s: %v", kind.Kind, object.GetName(), err)
	}
}

func rendered(t *testing.T, text string) (all []*unstructured.Unstructured) {
	t.Helper()
	for decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096); ; {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(object)
		switch {
		case errors.Is(err, io.EOF):
			if len(all) == 0 {
				t.Fatal("the chart renders to nothing")
			}
			return all
		case err != nil:
			t.Fatal(err)
		case len(object.Object) > 0:
			all = append(all, object)
		}
	}
}

// warnings collects the warnings in the answers of the API server.
type warnings struct {
	mu   sync.Mutex
	said []string
}

// HandleWarningHeader implements rest.WarningHandler.
func (w *warnings) HandleWarningHeader(_ int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.said = append(w.said, text)
}

func (w *warnings) all() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	said := slices.Clone(w.said)
	w.said = nil
	return said
}

var _ rest.WarningHandler = (*warnings)(nil)
