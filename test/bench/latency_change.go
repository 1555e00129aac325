package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s-cli/pkg/task"
	"k8s-cli/test/testkit"
)

// change reports one container after the other as running, at the requested rate.
func (l *latency) change(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	tick := time.NewTicker(time.Duration(float64(time.Second) / l.rate))
	defer tick.Stop()
	n := 0
	for id, pod := range l.pods {
		n++
		read := n%readEvery == 0
		select {
		case <-tick.C:
		case <-ctx.Done():
			return g.Wait()
		}
		g.Go(func() error {
			_, err := l.place.CoreV1().Pods(l.namespace).UpdateStatus(ctx, started(pod), metav1.UpdateOptions{})
			l.changes.Store(id, time.Now())
			if err != nil {
				return fmt.Errorf("change pod %s: %w", pod.Name, err)
			}
			if read {
				return l.read(ctx, id)
			}
			return nil
		})
	}
	return g.Wait()
}

func started(pod *corev1.Pod) *corev1.Pod {
	now := metav1.Now()
	pod.Status.Phase, pod.Status.StartTime = corev1.PodRunning, &now
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: pod.Spec.Containers[0].Name, Image: "i", ImageID: "i", Ready: true,
		State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}},
	}}
	return pod
}

// read polls a task until the answer says that the task runs.
func (l *latency) read(ctx context.Context, id string) error {
	for {
		s, err := l.client.Task(ctx, id)
		if err != nil {
			return fmt.Errorf("read task %s: %w", id, err)
		}
		if s.Phase == task.Running {
			l.answer.hear(id)
			return nil
		}
		if err := testkit.Pause(ctx, time.Millisecond); err != nil {
			return err
		}
	}
}

// heardAll waits until all listeners except the reader have received every change.
func (l *latency) heardAll(ctx context.Context) error {
	ctx, cancel := testkit.WithPatience(ctx, patience)
	defer cancel()
	return testkit.Until(ctx, "everybody to hear of everything", func() (string, bool) {
		state := ""
		behind := slices.ContainsFunc(l.ears, func(e *eventListener) bool {
			state = fmt.Sprintf("%s has heard of %d", e.name, e.count())
			return e != l.answer && e.count() < len(l.pods)
		})
		return state, !behind
	})
}

func decode(data []byte) (e task.Event, err error) {
	err = json.Unmarshal(data, &e)
	return e, err
}
