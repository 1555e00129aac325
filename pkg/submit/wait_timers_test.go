package submit

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s-cli/pkg/task"
)

const year = 365 * 24 * time.Hour

// clocks are the errors of the clock of a log: none, small, or a year.
var clocks = map[string]time.Duration{"right": 0, "a little ahead": time.Second, "ahead": year, "behind": -year}

// until reconciles a task whenever it is due, until a fact is appended, and returns how long
// that took.
func (w *testCluster) until(id, fact string) time.Duration {
	w.t.Helper()
	began := time.Now()
	for {
		again, err := w.reconcile(w.t.Context(), taskKey(id))
		if err != nil && !errors.Is(err, errDeletionPending) {
			w.t.Fatal(err)
		}
		if slices.Contains(w.log.Facts(), fact) {
			return time.Since(began)
		}
		if again <= 0 {
			w.t.Fatalf("nothing brings task %s back", id)
		}
		time.Sleep(again)
	}
}

func TestAWaitEndsAfterItsOwnLength(t *testing.T) {
	for name, wrong := range clocks {
		t.Run("a Job is gone, and the clock of the log is "+name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newTestCluster(t)
				w.log.Now = func() time.Time { return time.Now().Add(wrong) }
				w.submit("a", 1)
				w.must("a", "applied")
				w.remove("train-a")
				if took := w.until("a", "ended"); took > informerGrace {
					t.Errorf("it is noticed after %s", took)
				}
			})
		})
		t.Run("finished Jobs are kept, and the clock of the log is "+name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newTestCluster(t)
				w.log.Now = func() time.Time { return time.Now().Add(wrong) }
				w.submit("a", 1)
				w.must("a", "applied")
				w.append(task.Command{Ended: &task.Ended{ID: "a", Phase: task.Completed}})
				took := w.until("a", "cleaned_up")
				if took > w.config.KeepJobs+firstRetry || wrong >= 0 && took < w.config.KeepJobs {
					t.Errorf("they are kept for %s", took)
				}
				if len(w.waits.timers) != 0 {
					t.Errorf("left: %v", w.waits.timers)
				}
			})
		})
		t.Run("the end of a pod is not seen, and the clock of the cluster is "+name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newTestCluster(t)
				v := task.View{
					Jobs: []*task.Job{{Name: "job", Phase: task.Completed, FinishedAt: time.Now().Add(wrong)}},
					Pods: []*task.Pod{{Phase: task.Running}},
				}
				began := time.Now()
				for wait := w.podGrace(v); wait > 0; wait = w.podGrace(v) {
					time.Sleep(wait)
				}
				if took := time.Since(began); took > informerGrace {
					t.Errorf("it is waited for during %s", took)
				}
			})
		})
	}
}

// A leader whose clock differs from the clock of NATS expires nothing, logs a warning, and
// does not fill the log.
func TestHistoryIsRetainedWhileClocksDiffer(t *testing.T) {
	const history, within, behind = 10 * time.Hour, 9 * time.Hour, 11 * time.Hour
	for name, tt := range map[string]struct {
		then, now time.Duration // by which the clock of NATS differs when the task ends, and later
		after     time.Duration
		kept      bool
		warned    bool
	}{
		"right, within the history": {0, 0, within, true, false},
		"right":                     {0, 0, behind, false, false},
		"a little behind":           {-time.Second, -time.Second, behind, false, false},
		"a little ahead":            {time.Second, time.Second, behind, false, false},
		"ahead":                     {year, year, within, true, true},
		"behind":                    {-year, -year, within, true, true},
		"ahead, and then right":     {year, 0, behind, false, false},
	} {
		t.Run("the clock of NATS is "+name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newTestCluster(t)
				var said bytes.Buffer
				w.config.Logger = slog.New(slog.NewTextHandler(&said, nil))
				w.config.History = history
				w.log.Now = func() time.Time { return time.Now().Add(tt.then) }
				w.submit("a", 1)
				w.stop("a")
				w.append(task.Command{CleanedUp: &task.CleanedUp{Key: taskKey("a")}})
				w.log.Now = func() time.Time { return time.Now().Add(tt.now) }
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan struct{})
				go func() { w.expireHistory(ctx); close(ended) }()
				time.Sleep(tt.after)
				cancel()
				<-ended
				facts := w.log.Facts()
				if kept := w.store.TaskView("a").Record != nil; kept != tt.kept {
					t.Errorf("kept %v, facts %q", kept, facts)
				}
				if most := int(tt.after/expireRetry) + 1; tt.kept && len(facts) > most || !tt.kept && len(facts) > 2 {
					t.Errorf("%d commands", len(facts))
				}
				if strings.Contains(said.String(), "clocks") != tt.warned {
					t.Errorf("said %q", said.String())
				}
			})
		})
	}
}
