package rig

import (
	"context"
	"errors"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
)

// A Change is a step in the life of a Job.
type Change int

// Each Job takes each step exactly once.
const (
	Created Change = iota
	Completed
)

// WatchJobs calls each for every step of every Job of a namespace until ctx ends. All calls
// come from one goroutine.
func (p *Place) WatchJobs(ctx context.Context, namespace string, each func(name string, c Change)) error {
	jobs := p.BatchV1().Jobs(namespace)
	first, err := jobs.List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("watch the Jobs: %w", err)
	}
	w, err := watchtools.NewRetryWatcherWithContext(ctx, first.ResourceVersion, &cache.ListWatch{WatchFuncWithContext: jobs.Watch})
	if err != nil {
		return fmt.Errorf("watch the Jobs: %w", err)
	}
	defer w.Stop()
	completed := map[string]bool{}
	for e := range w.ResultChan() {
		job, ok := e.Object.(*batchv1.Job)
		if !ok {
			return errors.New("watch the Jobs: the API server has forgotten what came meanwhile")
		}
		switch {
		case e.Type == watch.Added:
			each(job.Name, Created)
		case e.Type == watch.Deleted:
			delete(completed, job.Name)
		case isComplete(job) && !completed[job.Name]:
			completed[job.Name] = true
			each(job.Name, Completed)
		}
	}
	return ctx.Err()
}

func isComplete(job *batchv1.Job) bool {
	for _, c := range job.Status.Conditions {
		if c.Type == batchv1.JobComplete && c.Status == corev1.ConditionTrue {
			return true
		}
	}
	return false
}
