package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"golang.org/x/sync/errgroup"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"k8s-cli/pkg/client"
	"k8s-cli/pkg/task"
	"k8s-cli/test/bench/rig"
	"k8s-cli/test/testkit"
)

const (
	readEvery    = 10 // one of so many changes is also read
	latencyUser  = "latency"
	changersBusy = 32 // requests at once
)

// A latency measures how long a change in the API server takes to reach four receivers: the
// watch of a bare client, which is the baseline, the answer to a read, a line of server-sent
// events, and a message of NATS. The bench plays the Job controller, which creates a pod for
// each Job, and the kubelet: the bench reports to the API server, at a given rate, that one
// container after the other runs.
type latency struct {
	*bench
	client    *client.Client
	namespace string

	pods    map[string]*corev1.Pod // by task id
	changes sync.Map               // when each task changed, by id
	bare    *eventListener
	answer  *eventListener
	ears    []*eventListener // the listeners above and all others
}

// latencies runs the measurement on a new server.
func (b *bench) latencies(ctx context.Context) error {
	address, err := testkit.FreeAddress()
	if err != nil {
		return err
	}
	return b.fresh(ctx, "latency", func(s *rig.Server, namespace string) error {
		l := &latency{bench: b, client: client.New(s.URL, latencyUser), namespace: namespace, pods: map[string]*corev1.Pod{}}
		l.bare, l.answer = l.ear("a bare watch (client-go informer)"), l.ear("GET /tasks/{id}, asked every ms")
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		if err := l.watch(ctx); err != nil {
			return err
		}
		if err := l.hearEvents(ctx); err != nil {
			return err
		}
		nc, err := l.hearMessages("nats://" + address)
		if err != nil {
			return err
		}
		defer nc.Close()
		if err := l.fill(ctx); err != nil {
			return err
		}
		return l.measure(ctx)
	}, "--nats-listen", address)
}

func (l *latency) measure(ctx context.Context) error {
	began := time.Now()
	if err := l.change(ctx); err != nil {
		return err
	}
	took := time.Since(began)
	if err := l.heardAll(ctx); err != nil {
		return err
	}
	fmt.Fprintf(l.out, "%d changes, %.0f a second, one server with the log inside, everything on this machine\n\n", len(l.pods), float64(len(l.pods))/took.Seconds())
	fmt.Fprintf(l.out, "%-34s %9s %9s %9s %9s\n", "from the API server's answer to", "n", "p50", "p99", "most")
	for _, e := range l.ears {
		e.print(l.out)
	}
	return nil
}

func (l *latency) ear(name string) *eventListener {
	e := &eventListener{name: name, changes: &l.changes, heard: map[string]time.Time{}}
	l.ears = append(l.ears, e)
	return e
}

// watch watches the pods with a bare client.
func (l *latency) watch(ctx context.Context) error {
	factory := informers.NewSharedInformerFactoryWithOptions(l.place, 0, informers.WithNamespace(l.namespace))
	_, err := factory.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{UpdateFunc: func(_, now any) {
		if pod, ok := now.(*corev1.Pod); ok && pod.Status.Phase == corev1.PodRunning {
			l.bare.hear(pod.Labels[task.LabelTaskID])
		}
	}})
	if err != nil {
		return fmt.Errorf("watch: %w", err)
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	return nil
}

func runs(e task.Event) bool { return e.Type == task.EventPhase && e.Status == string(task.Running) }

// hearEvents receives server-sent events until ctx ends.
func (l *latency) hearEvents(ctx context.Context) error {
	stream, err := l.client.Subscribe(ctx, client.EventSource{})
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	sse := l.ear("a line of server-sent events")
	go func() {
		defer stream.Close()
		for {
			e, err := stream.Next()
			if err != nil {
				return
			}
			if runs(e) {
				sse.hear(e.TaskID)
			}
		}
	}()
	return nil
}

// hearMessages subscribes to the events of all tasks.
func (l *latency) hearMessages(url string) (*nats.Conn, error) {
	nc, err := nats.Connect(url)
	if err != nil {
		return nil, fmt.Errorf("subscribe: %w", err)
	}
	message := l.ear("a message of NATS")
	_, err = nc.Subscribe("event.task.>", func(m *nats.Msg) {
		if e, err := decode(m.Data); err == nil && runs(e) {
			message.hear(e.TaskID)
		}
	})
	if err == nil {
		err = nc.Flush()
	}
	if err != nil {
		nc.Close()
		return nil, fmt.Errorf("subscribe: %w", err)
	}
	return nc, nil
}

// fill submits the tasks and creates a pod for each Job.
func (l *latency) fill(ctx context.Context) error {
	var g errgroup.Group
	g.SetLimit(changersBusy)
	for range l.changing {
		g.Go(func() error {
			_, err := l.client.Submit(ctx, task.Spec{Name: "wait", Run: "true"})
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return fmt.Errorf("submit: %w", err)
	}
	l.say("waiting for %d Jobs", l.changing)
	if err := l.awaitJobs(ctx, l.namespace, l.changing); err != nil {
		return err
	}
	jobs, err := l.place.BatchV1().Jobs(l.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list the Jobs: %w", err)
	}
	return l.populate(ctx, jobs.Items)
}

// populate creates the pods, as the Job controller would.
func (l *latency) populate(ctx context.Context, jobs []batchv1.Job) error {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	if _, err := l.place.CoreV1().ServiceAccounts(l.namespace).Create(ctx, account, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("account of the pods: %w", err)
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(changersBusy)
	var mu sync.Mutex
	for i := range jobs {
		g.Go(func() error {
			pod, err := l.place.CoreV1().Pods(l.namespace).Create(ctx, podOf(&jobs[i]), metav1.CreateOptions{})
			if err != nil {
				return fmt.Errorf("pod of %s: %w", jobs[i].Name, err)
			}
			mu.Lock()
			defer mu.Unlock()
			l.pods[pod.Labels[task.LabelTaskID]] = pod
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	l.say("%d pods, of which each is told to run", len(l.pods))
	return nil
}

// podOf returns the pod of a Job with one node.
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
