package testkit

import (
	"context"
	"fmt"
	"os"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// A Cluster is a namespace of a real one, as an administrator sees it.
type Cluster struct {
	kubernetes.Interface
	Namespace string
	Config    *rest.Config
}

// Connect returns a client of the cluster that a kubeconfig names, which sends as
// fast as it can under the name of agent.
func Connect(kubeconfig, agent string) (*Cluster, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("the cluster: %w", err)
	}
	config.QPS = -1
	own := rest.CopyConfig(config)
	own.UserAgent = agent
	own.ContentType = "application/vnd.kubernetes.protobuf"
	own.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	client, err := kubernetes.NewForConfig(own)
	if err != nil {
		return nil, fmt.Errorf("the cluster: %w", err)
	}
	return &Cluster{Interface: client, Config: config}, nil
}

// Join makes a namespace, whose name begins with prefix, the one of c.
func (c *Cluster) Join(ctx context.Context, prefix string, labels map[string]string) error {
	wanted := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: prefix, Labels: labels}}
	created, err := c.CoreV1().Namespaces().Create(ctx, wanted, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("create a namespace: %w", err)
	}
	c.Namespace = created.Name
	return nil
}

// Leave has the namespace deleted. Its pods go at once: what they run is of no
// interest any more and may take no notice of a friendly end.
func (c *Cluster) Leave() {
	ctx := context.Background() // the caller's has ended
	now := metav1.DeleteOptions{GracePeriodSeconds: new(int64(0)), PropagationPolicy: new(metav1.DeletePropagationBackground)}
	_ = c.BatchV1().Jobs(c.Namespace).DeleteCollection(ctx, now, metav1.ListOptions{})
	_ = c.CoreV1().Pods(c.Namespace).DeleteCollection(ctx, now, metav1.ListOptions{})
	_ = c.CoreV1().Namespaces().Delete(ctx, c.Namespace, metav1.DeleteOptions{})
}

// WriteKubeconfig writes a kubeconfig for an API server, or a proxy in front of one,
// that asks for no credentials.
func WriteKubeconfig(path, url string) error {
	return os.WriteFile(path, fmt.Appendf(nil, `apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: %q, insecure-skip-tls-verify: true}}]
contexts: [{name: c, context: {cluster: c, user: u}}]
users: [{name: u, user: {}}]
current-context: c
`, url), 0o600)
}
