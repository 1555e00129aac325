// Package pods opens exec sessions through the Kubernetes API server. A session is a command
// in a pod of a task with its streams, or one connection to a port.
package pods

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"
	utilexec "k8s.io/client-go/util/exec"
	"k8s.io/klog/v2"
	"k8s.io/streaming/pkg/httpstream"

	"k8s-cli/pkg/exec"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
)

// container is the name of the container that runs the commands of a task.
const container = "task"

// A Projection returns the pods of a task, and notifies of changes.
type Projection interface {
	WatchTask(id string) (v task.View, changed <-chan struct{})
}

// Pods opens sessions in the pods of one namespace.
type Pods struct {
	config     *rest.Config
	client     rest.Interface
	namespace  string
	projection Projection
}

// New returns the pods of a namespace. The requests of sessions use config without its limits
// of the number of requests.
func New(config *rest.Config, namespace string, projection Projection) (*Pods, error) {
	client, err := coreclient.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make a client of Kubernetes for sessions: %w", err)
	}
	return &Pods{config: config, client: client.RESTClient(), namespace: namespace, projection: projection}, nil
}

// Find returns the pod of a node of a task. The error is of kind problem.NotFound if there is no
// such task, of kind problem.Invalid if the task has no such node, and of kind problem.Conflict
// if the container of the node does not run.
func (p *Pods) Find(id string, node int) (exec.Target, error) {
	v, _ := p.projection.WatchTask(id)
	switch {
	case v.Record == nil:
		return exec.Target{}, task.ErrNoTask(id)
	case node >= v.NumNodes():
		return exec.Target{}, problem.New(problem.Invalid, fmt.Sprintf("node: %d is out of range; %s", node, task.RanksText(v.NumNodes())))
	case v.Phase.Over():
		return exec.Target{}, problem.New(problem.Conflict, fmt.Sprintf("task %s is over (%s); sessions need a running task", id, v.Phase))
	}
	pod := runningPod(v, node)
	if pod == nil {
		return exec.Target{}, problem.New(problem.Conflict, fmt.Sprintf("node %d of task %s does not run at present; wait until the node runs, as 'k8s-cli jobs status %s' shows", node, id, id))
	}
	return exec.Target{Task: id, Node: node, Pod: pod.Name, UID: pod.UID}, nil
}

// runningPod returns the pod of a node whose container runs, or nil.
func runningPod(v task.View, node int) *task.Pod {
	if v.Record == nil || v.Phase.Over() || node >= len(v.Pods) {
		return nil
	}
	if pod := v.Pods[node]; pod != nil && pod.Phase == task.Running {
		return pod
	}
	return nil
}

// Ended waits until the container of the target has ended, its task is over, or ctx ends.
func (p *Pods) Ended(ctx context.Context, t exec.Target) {
	for {
		v, changed := p.projection.WatchTask(t.Task)
		if pod := runningPod(v, t.Node); pod == nil || pod.UID != t.UID {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// Exec runs a command in the container of the target until the command ends or ctx ends. Exec
// returns the exit code of the command.
func (p *Pods) Exec(ctx context.Context, t exec.Target, c exec.Command, s exec.Streams) (exitCode int, err error) {
	address := p.address(t, "exec", &corev1.PodExecOptions{
		Container: container, Command: prepared(c.Args), TTY: c.TTY, Stdin: s.Stdin != nil, Stdout: true, Stderr: !c.TTY,
	})
	executor, err := p.executor(address)
	if err != nil {
		return 0, fmt.Errorf("make a client for sessions: %w", err)
	}
	options := remotecommand.StreamOptions{Stdin: s.Stdin, Stdout: s.Stdout, Tty: c.TTY}
	if c.TTY {
		options.TerminalSizeQueue = sizes{ctx, s.Sizes}
	} else {
		options.Stderr = s.Stderr
	}
	// Without a logger, client-go does not log as an error that the session has ended. Exec returns the error.
	err = executor.StreamWithContext(klog.NewContext(ctx, klog.Logger{}), options)
	if ended, ok := errors.AsType[utilexec.CodeExitError](err); ok {
		return ended.Code, nil
	}
	return 0, err
}

func (p *Pods) address(t exec.Target, verb string, options runtime.Object) *url.URL {
	return p.client.Post().Namespace(p.namespace).Resource("pods").Name(t.Pod).SubResource(verb).
		VersionedParams(options, scheme.ParameterCodec).URL()
}

// executor returns an executor that uses WebSockets, or SPDY if the API server or a proxy in
// front of it does not support WebSockets.
func (p *Pods) executor(address *url.URL) (remotecommand.Executor, error) {
	webSocket, err := remotecommand.NewWebSocketExecutor(p.config, "GET", address.String())
	if err != nil {
		return nil, err
	}
	spdy, err := remotecommand.NewSPDYExecutor(p.config, "POST", address)
	if err != nil {
		return nil, err
	}
	return remotecommand.NewFallbackExecutor(webSocket, spdy, lacksWebSockets)
}

func lacksWebSockets(err error) bool {
	return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
}

// sizes implements remotecommand.TerminalSizeQueue.
type sizes struct {
	ctx   context.Context //nolint:containedctx // Next has no parameter
	sizes <-chan exec.Size
}

func (s sizes) Next() *remotecommand.TerminalSize {
	select {
	case size := <-s.sizes:
		return &remotecommand.TerminalSize{Width: size.Width, Height: size.Height}
	case <-s.ctx.Done():
		return nil
	}
}
