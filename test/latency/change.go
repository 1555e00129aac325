package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"k8s-cli/pkg/task"
)

const runs = `{"status": {"phase": "Running", "startTime": %[1]q, "containerStatuses": [
  {"name": "task", "image": "i", "imageID": "i", "ready": true, "restartCount": 0, "state": {"running": {"startedAt": %[1]q}}}]}}`

// change has one container after the other run, at the rate that is asked for.
func (p *place) change(ctx context.Context, o options) error {
	fmt.Fprintln(os.Stderr)
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
			patch := fmt.Appendf(nil, runs, time.Now().UTC().Format(time.RFC3339))
			_, err := p.k8s.CoreV1().Pods(p.namespace).Patch(ctx, pod, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
			p.changes.note(id, time.Now())
			if err != nil {
				return fmt.Errorf("change pod %s: %w", pod, err)
			}
			if read {
				return p.read(ctx, id)
			}
			return nil
		})
	}
	return g.Wait()
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
		behind := slices.ContainsFunc(p.ears, func(e *ear) bool {
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
