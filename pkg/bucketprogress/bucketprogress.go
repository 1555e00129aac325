// Package bucketprogress publishes how much of its buckets a pod has copied. The init container writes
// the progress to its log, and has no credentials for the API server. Therefore the leader reads the
// last line of the log of each pod that copies buckets, and stores the line in an annotation of the
// pod. Every server sees the annotation.
package bucketprogress

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"k8s-cli/pkg/task"
)

const (
	interval    = 10 * time.Second // between two rounds
	atOnce      = 8                // logs that are read at once
	perRound    = 200              // pods whose logs are read in one round
	readTimeout = 5 * time.Second
	longestLine = 300 // bytes
)

// Views returns tasks with their pods.
type Views interface {
	Keys() []task.Key // of all objects that may need work
	TaskView(id string) task.View
}

// A Publisher publishes the progress of all pods that copy buckets. Only the leader runs a publisher.
type Publisher struct {
	pods   typedcorev1.PodInterface
	views  Views
	logger *slog.Logger

	mu        sync.Mutex
	runs      bool
	tasks     map[string]bool // that changed since they were last seen without a pod that copies buckets
	published map[string]string
	after     string // UID of the last pod of the previous round
}

// New returns a publisher, which does nothing until Run.
func New(k8s kubernetes.Interface, namespace string, views Views, logger *slog.Logger) *Publisher {
	return &Publisher{pods: k8s.CoreV1().Pods(namespace), views: views, logger: logger}
}

// Enqueue notifies the publisher that a task may have changed. Enqueue does not block.
func (p *Publisher) Enqueue(key task.Key) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.runs && key.Kind == task.KindTask {
		p.tasks[key.ID] = true
	}
}

// Run publishes progress until ctx ends.
func (p *Publisher) Run(ctx context.Context) error {
	p.begin(true)
	defer p.begin(false)
	for _, key := range p.views.Keys() {
		p.Enqueue(key)
	}
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		p.round(ctx)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
}

func (p *Publisher) begin(runs bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.runs, p.tasks, p.published = runs, map[string]bool{}, map[string]string{}
}

// round publishes the progress of at most perRound pods. The next round continues with the other pods.
func (p *Publisher) round(ctx context.Context) {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(atOnce)
	for _, pod := range p.next(p.copying()) {
		g.Go(func() error {
			if err := p.publish(ctx, pod); err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
				p.logger.Debug("updating the bucket copy progress of a pod failed", "pod", pod.Name, "err", err)
			}
			return nil
		})
	}
	_ = g.Wait() // the functions return no errors
}

// copying returns the pods that copy buckets, by UID.
func (p *Publisher) copying() map[string]*task.Pod {
	p.mu.Lock()
	ids := slices.Collect(maps.Keys(p.tasks))
	clear(p.tasks)
	p.mu.Unlock()
	pods := map[string]*task.Pod{}
	for _, id := range ids {
		for _, pod := range p.views.TaskView(id).Pods {
			if pod != nil && pod.Reason == task.ReasonCopying && !pod.Phase.Over() {
				pods[pod.UID] = pod
				p.Enqueue(task.Key{Kind: task.KindTask, ID: id})
			}
		}
	}
	return pods
}

// next returns the pods of this round, and forgets what was published to other pods.
func (p *Publisher) next(pods map[string]*task.Pod) []*task.Pod {
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.DeleteFunc(p.published, func(uid, _ string) bool { return pods[uid] == nil })
	uids := slices.Sorted(maps.Keys(pods))
	if at, _ := slices.BinarySearch(uids, p.after+"\x00"); len(uids) > perRound {
		uids = slices.Concat(uids[at:], uids[:at])[:perRound]
		p.after = uids[perRound-1]
	}
	var chosen []*task.Pod
	for _, uid := range uids {
		chosen = append(chosen, pods[uid])
	}
	return chosen
}

// publish stores the last line of the log of a pod in an annotation of the pod, if the line is new.
func (p *Publisher) publish(ctx context.Context, pod *task.Pod) error {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	raw, err := p.pods.GetLogs(pod.Name, &corev1.PodLogOptions{Container: task.BucketsContainer, TailLines: new(int64(1)), LimitBytes: new(int64(longestLine))}).DoRaw(ctx)
	if err != nil {
		return err
	}
	line := printable(string(raw))
	p.mu.Lock()
	known := p.published[pod.UID]
	p.mu.Unlock()
	if line == "" || line == known {
		return nil
	}
	if err := p.annotate(ctx, pod, line); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.published[pod.UID] = line
	return nil
}

// annotate changes the annotation of exactly this pod.
func (p *Publisher) annotate(ctx context.Context, pod *task.Pod, line string) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": pod.UID, "annotations": map[string]string{task.AnnotationBucketProgress: line},
	}})
	if err != nil {
		return err
	}
	_, err = p.pods.Patch(ctx, pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{FieldManager: "k8s-cli"})
	return err
}

// printable returns a line of a log without control characters.
func printable(line string) string {
	line = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, strings.ToValidUTF8(line, " "))
	return strings.Join(strings.Fields(line), " ")
}
