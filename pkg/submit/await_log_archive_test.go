package submit

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"k8s-cli/pkg/logs"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
	"k8s-cli/test/testkit/must"
)

// A fakeBlobs stores a log only after a delay.
type fakeBlobs struct {
	delay time.Duration // of each log; 0 means forever

	mu     sync.Mutex
	stored map[string]string
}

func (b *fakeBlobs) Store(ctx context.Context, name string, _ map[string]string, blob []byte) error {
	var due <-chan time.Time
	if b.delay > 0 {
		due = time.After(b.delay)
	}
	select {
	case <-due:
	case <-ctx.Done():
		return ctx.Err()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stored[name] = string(blob)
	return nil
}

func (b *fakeBlobs) Get(context.Context, string) (map[string]string, []byte, error) {
	return nil, nil, problem.New(problem.NotFound, "none")
}

func (b *fakeBlobs) List(context.Context) (map[string]map[string]string, error) { return nil, nil }

func (b *fakeBlobs) Remove(context.Context, string) error { return nil }

func (b *fakeBlobs) get(name string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.stored[name]
}

// archive runs the archiver until the test ends. Each pod has written log.
func (w *testCluster) archive(store logs.Store, log string) {
	w.t.Helper()
	w.cluster.PrependReactor("get", "pods", func(a clienttesting.Action) (bool, runtime.Object, error) {
		if a.GetSubresource() != "log" {
			return false, nil, nil
		}
		return true, &runtime.Unknown{Raw: []byte(log)}, nil
	})
	archiver := logs.NewArchiver(logs.New(w.cluster, namespace, w.store, store, slog.New(slog.DiscardHandler)), w.store, 1<<20, func() bool { return true })
	w.config.LogsArchived = archiver.Archived
	archiver.OnArchived(w.Enqueue)
	w.store.OnChange(archiver.Enqueue)
	must.Run(w.t, archiver.Run)
}

// finish ends the pod and the Job of a node.
func (w *testCluster) finish(job string) {
	w.t.Helper()
	w.changePod(job, func(p *corev1.Pod) {
		p.Status = corev1.PodStatus{Phase: corev1.PodSucceeded, ContainerStatuses: []corev1.ContainerStatus{{
			State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ContainerID: "containerd://1", StartedAt: metav1.Now(), FinishedAt: metav1.Now()}},
		}}}
	})
	w.change(job, over(batchv1.JobComplete))
}

// The Jobs of a finished task stay until its logs are archived, however short KeepJobs is, but
// at most for archiveWait.
func TestFinishedJobsWaitForTheArchive(t *testing.T) {
	const log = "2025-10-05T12:00:00.000000001Z last words\n"
	for _, tt := range []struct {
		name         string
		delay        time.Duration // of the store
		wait         time.Duration // for the deletion of the Jobs, with a tolerance of a second
		stored       string        // archived log when the Jobs are deleted
		wantWarnings int
	}{
		{"a slow store", 10 * time.Second, 10 * time.Second, log, 0},
		{"a store that never answers", 0, archiveWait, "", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var logged bytes.Buffer
				w := newTestCluster(t)
				w.config.KeepJobs = 1
				w.config.Logger = slog.New(slog.NewTextHandler(&logged, nil))
				store := &fakeBlobs{delay: tt.delay, stored: map[string]string{}}
				w.archive(store, log)
				w.watch()
				w.run()
				job := w.submit("a", 1).JobNames()[0]
				w.await("a", "Job", func(v task.View) bool { return v.Jobs[0] != nil })
				w.startPod(job)
				w.await("a", "running pod", func(v task.View) bool { return v.Pods[0] != nil && v.Phase == task.Running })
				deleted := make(chan string, 1)
				w.cluster.PrependReactor("delete", "jobs", func(clienttesting.Action) (bool, runtime.Object, error) {
					select {
					case deleted <- store.get("a/0"):
					default:
					}
					return false, nil, nil
				})
				w.finish(job)
				began := time.Now()
				if got := <-deleted; got != tt.stored {
					t.Errorf("the Job was deleted when %q was archived, want %q", got, tt.stored)
				}
				if waited := time.Since(began); waited < tt.wait || waited > tt.wait+5*time.Second {
					t.Errorf("the Job was deleted after %s, want %s", waited, tt.wait)
				}
				w.await("a", "end", func(v task.View) bool { return v.CleanedUp })
				if got := strings.Count(logged.String(), "archiving task logs takes too long; deleting the Jobs before their logs are archived"); got != tt.wantWarnings {
					t.Errorf("%d warnings, want %d: %s", got, tt.wantWarnings, &logged)
				}
			})
		})
	}
}

// The logs of stopped tasks are read while their pods end, and the deletion of the Jobs ends
// the pods.
func TestStoppedJobsDoNotWaitForTheArchive(t *testing.T) {
	w := applied(t, 1)
	w.config.LogsArchived = func(string) bool { return false }
	w.stop("a")
	if _, err := w.step("a"); err == nil || len(w.jobsByName()) > 0 {
		t.Errorf("error %v, Jobs left: %d", err, len(w.jobsByName()))
	}
}
