package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"golang.org/x/sync/errgroup"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"

	"k8s-cli/pkg/client"
	"k8s-cli/pkg/task"
)

const (
	user     = "latency"
	patience = 10 * time.Minute
	atOnce   = 32
)

// A place is a server with its tasks, and all who listen.
type place struct {
	k8s       *kubernetes.Clientset
	client    *client.Client
	namespace string
	closers   []func()

	pods    map[string]*corev1.Pod // by id of the task
	changes *changes
	bare    *eventListener
	answer  *eventListener
	ears    []*eventListener // those and all others
}

func prepare(ctx context.Context, o options) (*place, error) {
	p := &place{changes: &changes{when: map[string]time.Time{}}, pods: map[string]*corev1.Pod{}}
	p.bare, p.answer = p.ear("a bare watch (client-go informer)"), p.ear("GET /tasks/{id}, asked every ms")
	err := p.join(ctx, o)
	if err == nil {
		err = p.serve(ctx, o)
	}
	if err == nil {
		err = p.fill(ctx, o.tasks)
	}
	if err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

func (p *place) ear(name string) *eventListener {
	e := &eventListener{name: name, changes: p.changes, heard: map[string]time.Time{}}
	p.ears = append(p.ears, e)
	return e
}

func (p *place) close() {
	for i := len(p.closers) - 1; i >= 0; i-- {
		p.closers[i]()
	}
}

// join makes a namespace in the cluster and watches its pods.
func (p *place) join(ctx context.Context, o options) error {
	config, err := clientcmd.BuildConfigFromFlags("", o.kubeconfig)
	if err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	config.QPS = -1
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf
	if p.k8s, err = kubernetes.NewForConfig(config); err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	made, err := p.k8s.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "latency-"}}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("namespace: %w", err)
	}
	p.namespace = made.Name
	p.closers = append(p.closers, func() {
		_ = p.k8s.CoreV1().Namespaces().Delete(context.WithoutCancel(ctx), p.namespace, metav1.DeleteOptions{})
	})
	factory := informers.NewSharedInformerFactoryWithOptions(p.k8s, 0, informers.WithNamespace(p.namespace))
	_, err = factory.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{UpdateFunc: func(_, now any) {
		if pod, ok := now.(*corev1.Pod); ok && pod.Status.Phase == corev1.PodRunning {
			p.bare.hear(pod.Labels[task.LabelTaskID])
		}
	}})
	if err != nil {
		return fmt.Errorf("watch: %w", err)
	}
	watching, stop := context.WithCancel(ctx)
	p.closers = append(p.closers, stop)
	factory.Start(watching.Done())
	factory.WaitForCacheSync(watching.Done())
	return nil
}

func freePort() string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "127.0.0.1:0"
	}
	defer l.Close()
	return l.Addr().String()
}

// serve starts the server and listens to it.
func (p *place) serve(ctx context.Context, o options) error {
	dir, err := os.MkdirTemp("", "k8s-cli-latency-")
	if err != nil {
		return fmt.Errorf("server: %w", err)
	}
	p.closers = append(p.closers, func() { _ = os.RemoveAll(dir) })
	listen, subscribers := freePort(), freePort()
	server := exec.CommandContext(ctx, o.server, "--kubeconfig", o.kubeconfig, "--namespace", p.namespace, //nolint:gosec // it is to be run
		"--data-dir", filepath.Join(dir, "log"), "--listen", listen, "--nats-listen", subscribers, "--log-level", "warn")
	server.Stderr = os.Stderr
	if err := server.Start(); err != nil {
		return fmt.Errorf("server: %w", err)
	}
	p.closers = append(p.closers, func() { _ = server.Process.Kill(); _ = server.Wait() })
	p.client = client.New(listen, user)
	if err := until(ctx, "the server to be ready", func() (string, bool) { return ready(ctx, listen) }); err != nil {
		return err
	}
	stream, err := p.client.Listen(ctx, client.EventSource{})
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	p.closers = append(p.closers, stream.Close)
	sse := p.ear("a line of server-sent events")
	go func() {
		for {
			e, err := stream.Next()
			if err != nil {
				return
			}
			if e.Type == task.EventPhase && e.Status == string(task.Running) {
				sse.hear(e.TaskID)
			}
		}
	}()
	nc, err := nats.Connect("nats://" + subscribers)
	if err != nil {
		return fmt.Errorf("subscribe: %w", err)
	}
	p.closers = append(p.closers, nc.Close)
	message := p.ear("a message of NATS")
	_, err = nc.Subscribe("event.task.>", func(m *nats.Msg) {
		if e, err := decode(m.Data); err == nil && e.Type == task.EventPhase && e.Status == string(task.Running) {
			message.hear(e.TaskID)
		}
	})
	if err != nil {
		return fmt.Errorf("subscribe: %w", err)
	}
	return nc.Flush()
}

func ready(ctx context.Context, listen string) (string, bool) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+listen+"/readyz", nil)
	if err != nil {
		return err.Error(), false
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err.Error(), false
	}
	defer response.Body.Close()
	return response.Status, response.StatusCode == http.StatusOK
}

// fill submits the tasks, and makes a pod of each Job.
func (p *place) fill(ctx context.Context, n int) error {
	var g errgroup.Group
	g.SetLimit(atOnce)
	for range n {
		g.Go(func() error {
			_, err := p.client.Submit(ctx, task.Spec{Name: "wait", Run: "true"})
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return fmt.Errorf("submit: %w", err)
	}
	began := time.Now()
	var jobs *batchv1.JobList
	err := until(ctx, "the Jobs", func() (_ string, ok bool) {
		var err error
		if jobs, err = p.k8s.BatchV1().Jobs(p.namespace).List(ctx, metav1.ListOptions{ResourceVersion: "0"}); err != nil {
			return err.Error(), false
		}
		fmt.Fprintf(os.Stderr, "\r%d of %d Jobs after %s ", len(jobs.Items), n, time.Since(began).Round(time.Second))
		return fmt.Sprintf("%d Jobs", len(jobs.Items)), len(jobs.Items) == n
	})
	if err != nil {
		return err
	}
	return p.populate(ctx, jobs.Items)
}

// populate makes the pods, as the Job controller would.
func (p *place) populate(ctx context.Context, jobs []batchv1.Job) error {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	if _, err := p.k8s.CoreV1().ServiceAccounts(p.namespace).Create(ctx, account, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("account of the pods: %w", err)
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(atOnce)
	var mu sync.Mutex
	for i := range jobs {
		g.Go(func() error {
			pod, err := p.k8s.CoreV1().Pods(p.namespace).Create(ctx, podOf(&jobs[i]), metav1.CreateOptions{})
			if err != nil {
				return fmt.Errorf("pod of %s: %w", jobs[i].Name, err)
			}
			mu.Lock()
			defer mu.Unlock()
			p.pods[pod.Labels[task.LabelTaskID]] = pod
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "\r%d pods, of which each is told to run    \n", len(p.pods))
	return nil
}

// podOf returns the pod of a Job of one node.
func podOf(job *batchv1.Job) *corev1.Pod {
	template := job.Spec.Template
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			GenerateName: job.Name + "-", Namespace: job.Namespace, Labels: template.Labels, Annotations: template.Annotations,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))},
		},
		Spec: template.Spec,
	}
}

// until waits for what nobody tells.
func until(ctx context.Context, what string, check func() (string, bool)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("not within %s", patience))
	defer cancel()
	for {
		state, ok := check()
		if ok {
			return nil
		}
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("waiting for %s, at last: %s", what, state), context.Cause(ctx))
		}
	}
}
