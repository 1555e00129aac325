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
)

// change has one container after the other run, at the rate that is asked for.
func (p *place) change(ctx context.Context, o options) error {
	g, ctx := errgroup.WithContext(ctx)
	tick := time.NewTicker(time.Duration(float64(time.Second) / o.rate))
	defer tick.Stop()
	n := 0
	for id, pod := range p.pods {
		n++
		read := n%o.every == 0
		select {
		case <-tick.C:
		case <-ctx.Done():
			return g.Wait()
		}
		g.Go(func() error {
			_, err := p.k8s.CoreV1().Pods(p.namespace).UpdateStatus(ctx, running(pod), metav1.UpdateOptions{})
			p.changes.note(id, time.Now())
			if err != nil {
				return fmt.Errorf("change pod %s: %w", pod.Name, err)
			}
			if read {
				return p.read(ctx, id)
			}
			return nil
		})
	}
	return g.Wait()
}

func running(pod *corev1.Pod) *corev1.Pod {
	now := metav1.Now()
	pod.Status.Phase, pod.Status.StartTime = corev1.PodRunning, &now
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: pod.Spec.Containers[0].Name, Image: "i", ImageID: "i", Ready: true,
		State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}},
	}}
	return pod
}

// read asks for a task until the answer says that it runs.
func (p *place) read(ctx context.Context, id string) error {
	for {
		s, err := p.client.Task(ctx, id)
		if err != nil {
			return fmt.Errorf("read task %s: %w", id, err)
		}
		if s.Phase == task.Running {
			p.answer.hear(id)
			return nil
		}
		select {
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// heardAll waits until every change was heard of by all but the reader.
func (p *place) heardAll(ctx context.Context) error {
	return until(ctx, "everybody to hear of everything", func() (string, bool) {
		state := ""
		behind := slices.ContainsFunc(p.ears, func(e *eventListener) bool {
			state = fmt.Sprintf("%s has heard of %d", e.name, e.count())
			return e != p.answer && e.count() < len(p.pods)
		})
		return state, !behind
	})
}

func decode(data []byte) (e task.Event, err error) {
	err = json.Unmarshal(data, &e)
	return e, err
}
