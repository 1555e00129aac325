package testkit

import (
	"context"
	"fmt"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/retry"
)

// A Cluster is a client of a real cluster, and one namespace of that cluster, with the
// rights of an administrator.
type Cluster struct {
	kubernetes.Interface
	Namespace string
	Config    *rest.Config
}

// Connect returns a client of the cluster of a kubeconfig. The client sends requests without
// a rate limit and with agent as its user agent.
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

// Join creates a namespace for c, whose name begins with prefix. Join tries again while the API
// server does not answer: on a busy machine, an API server can miss the 10 s of a TLS handshake.
func (c *Cluster) Join(ctx context.Context, prefix string, labels map[string]string) error {
	wanted := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: prefix, Labels: labels}}
	tries := retry.DefaultBackoff // 26 s in all, besides the tries themselves
	tries.Steps, tries.Duration, tries.Factor = 8, 200*time.Millisecond, 2
	noAnswer := func(err error) bool {
		return apierrors.ReasonForError(err) == metav1.StatusReasonUnknown && ctx.Err() == nil
	}
	return retry.OnError(tries, noAnswer, func() error {
		created, err := c.CoreV1().Namespaces().Create(ctx, wanted, metav1.CreateOptions{})
		if err != nil {
			return fmt.Errorf("create a namespace: %w", err)
		}
		c.Namespace = created.Name
		return nil
	})
}

// Leave deletes the namespace. The pods are deleted without a grace period: nothing needs
// their programs any more, and a program may ignore SIGTERM.
func (c *Cluster) Leave() {
	ctx := context.Background() // the context of the caller has ended
	now := metav1.DeleteOptions{GracePeriodSeconds: new(int64(0)), PropagationPolicy: new(metav1.DeletePropagationBackground)}
	_ = c.BatchV1().Jobs(c.Namespace).DeleteCollection(ctx, now, metav1.ListOptions{})
	_ = c.CoreV1().Pods(c.Namespace).DeleteCollection(ctx, now, metav1.ListOptions{})
	_ = c.CoreV1().Namespaces().Delete(ctx, c.Namespace, metav1.DeleteOptions{})
}

// WriteKubeconfig writes a kubeconfig for an API server, or for a proxy in front of the API
// server, that needs no credentials.
func WriteKubeconfig(path, url string) error {
	return os.WriteFile(path, fmt.Appendf(nil, `apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: %q, insecure-skip-tls-verify: true}}]
contexts: [{name: c, context: {cluster: c, user: u}}]
users: [{name: u, user: {}}]
current-context: c
`, url), 0o600)
}
