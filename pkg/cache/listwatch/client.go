// Package listwatch reads Jobs and pods without what the store never looks at: most
// of a Job is the template of its pod, and much of both says who wrote which
// field. It is left out before anything is decoded, which a server that starts or
// watches would spend most of its time on.
package listwatch

import (
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	typedbatch "k8s.io/client-go/kubernetes/typed/batch/v1"
	typedcore "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
)

// idleTimeout is how long a list may stop coming: HTTP/1.1 does not notice that a
// connection is dead.
const idleTimeout = 30 * time.Second

// A Client reads Jobs and pods that lack much: who writes one back takes away
// what is missing.
type Client struct {
	batch, core source
}

// A source is where the objects of one API group come from.
type source struct {
	lists, watches rest.Interface
}

// NewForConfig returns a client. What it lists comes by HTTP/1.1, in which long
// answers take two thirds of the time that they take in HTTP/2; what it watches
// by HTTP/2, in which a connection that is dead is noticed.
func NewForConfig(c *rest.Config) (*Client, error) {
	batch, err := sourceOf(c, "/apis", batchv1.SchemeGroupVersion)
	if err != nil {
		return nil, err
	}
	core, err := sourceOf(c, "/api", corev1.SchemeGroupVersion)
	if err != nil {
		return nil, err
	}
	return &Client{batch, core}, nil
}

func sourceOf(c *rest.Config, path string, group schema.GroupVersion) (s source, err error) {
	settings := rest.CopyConfig(c)
	settings.APIPath, settings.GroupVersion = path, &group
	settings.NegotiatedSerializer = pruningNegotiator{rest.CodecFactoryForGeneratedClient(scheme.Scheme, scheme.Codecs).WithoutConversion()}
	if s.watches, err = rest.RESTClientFor(settings); err != nil {
		return s, fmt.Errorf("make a client that watches %s: %w", group, err)
	}
	settings.NextProtos = []string{"http/1.1"}
	if s.lists, err = rest.RESTClientFor(settings); err != nil {
		return s, fmt.Errorf("make a client that lists %s: %w", group, err)
	}
	return s, nil
}

// Jobs returns those of a namespace.
func (c *Client) Jobs(namespace string) Source[*batchv1.Job] {
	return Source[*batchv1.Job]{
		List:  streamed[batchv1.Job](c.batch.lists, namespace, "jobs", jobMask, idleTimeout),
		Watch: typedbatch.New(c.batch.watches).Jobs(namespace).Watch,
	}
}

// Pods returns those of a namespace.
func (c *Client) Pods(namespace string) Source[*corev1.Pod] {
	return Source[*corev1.Pod]{
		List:  streamed[corev1.Pod](c.core.lists, namespace, "pods", podMask, idleTimeout),
		Watch: typedcore.New(c.core.watches).Pods(namespace).Watch,
	}
}
