package logs

import (
	"testing"

	"k8s-cli/pkg/task"
)

func TestArchived(t *testing.T) {
	unreadable := pod(0, task.Failed)
	unreadable.Readable = false
	for _, tt := range []struct {
		name string
		pod  *task.Pod
		job  *task.Job
		kept map[string]string // nil: not listed yet
		want bool
	}{
		{"before it is known what is archived", pod(0, task.Completed), &task.Job{}, nil, false},
		{"an archived log", pod(0, task.Completed), &task.Job{}, map[string]string{"a/0": "pod-0"}, true},
		{"a log that is not archived", pod(0, task.Completed), &task.Job{}, map[string]string{}, false},
		{"the log of an earlier pod", pod(0, task.Completed), &task.Job{}, map[string]string{"a/0": "pod-x"}, false},
		{"a pod that runs", pod(0, task.Running), &task.Job{}, map[string]string{}, false},
		{"no pod", nil, &task.Job{}, map[string]string{}, true},
		{"a pod that never started", unreadable, &task.Job{}, map[string]string{}, true},
		{"a Job that is gone", pod(0, task.Completed), nil, map[string]string{}, true},
		{"a Job that is being deleted", pod(0, task.Running), &task.Job{Deleting: true}, map[string]string{}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newHubFixture(t)
			w.setJob(tt.job)
			w.set(0, tt.pod, task.Failed)
			k := NewArchiver(w.Tailer, w.fakeTasks, 1000, func() bool { return true })
			k.archived = tt.kept
			if got := k.Archived("a"); got != tt.want {
				t.Errorf("Archived is %v, want %v", got, tt.want)
			}
		})
	}
	k := NewArchiver(nil, newFakeTasks(1), 1000, nil)
	if k.archived = map[string]string{}; !k.Archived("b") {
		t.Error("a task that is not there has no archive")
	}
}

// TestUnreadableLogsHoldNoJobs checks that unreadable logs do not prevent the deletion of
// Jobs, and that an unavailable store does.
func TestUnreadableLogsHoldNoJobs(t *testing.T) {
	for _, tt := range []struct {
		name string
		err  error
		want bool
	}{{"the log cannot be read", errUnreadable, true}, {"the log cannot be stored", errFakeStore, false}} {
		t.Run(tt.name, func(t *testing.T) {
			w := newHubFixture(t)
			w.setJob(&task.Job{})
			ended := pod(0, task.Completed)
			w.set(0, ended, task.Completed)
			k := NewArchiver(w.Tailer, w.fakeTasks, 1000, func() bool { return true })
			k.reset(map[string]string{})
			for try := 1; try < unreadable; try++ {
				if k.observe("a/0", ended, tt.err) || k.Archived("a") {
					t.Fatalf("no Job stays after %d tries", try)
				}
			}
			if got := k.observe("a/0", ended, tt.err); got != tt.want || k.Archived("a") != tt.want {
				t.Errorf("after %d tries the Job may be deleted: %v, want %v", unreadable, got, tt.want)
			}
			if k.observe("a/0", ended, tt.err) || k.archived["a/0"] != "" {
				t.Error("the log is given up too early")
			}
			restarted := pod(0, task.Completed)
			restarted.UID = "next"
			w.set(0, restarted, task.Completed)
			if k.Archived("a") {
				t.Error("the log of the next pod counts as unreadable")
			}
			r := *w.view.Record
			r.CleanedUp = true
			w.view.Record = &r
			if k.prunePending(); len(k.failed) != 0 || len(k.unread) != 0 {
				t.Errorf("failures of a log that is gone are kept: %v %v", k.failed, k.unread)
			}
		})
	}
}

// TestOnArchived checks that the archiver calls the function of OnArchived after Archived
// returned false.
func TestOnArchived(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		broken int
	}{{"a log is stored", 0}, {"the store is away at first", 2}} {
		t.Run(tt.name, func(t *testing.T) {
			w := newHubFixture(t)
			w.setJob(&task.Job{})
			w.write([]byte("x"), 1)
			w.over()
			s := newFakeStore()
			s.broken = tt.broken
			w.store = s
			told := make(chan task.Key, 10)
			k := NewArchiver(w.Tailer, w.fakeTasks, 1000, func() bool { return true })
			k.OnArchived(func(key task.Key) { told <- key })
			if k.Archived("a") {
				t.Fatal("archived before the archiver runs")
			}
			runs(t, w, k)
			for {
				if key := <-told; key.ID != "a" {
					t.Fatalf("told of %v", key)
				}
				if k.Archived("a") {
					break
				}
			}
			if got := s.names(); len(got) != 1 {
				t.Errorf("%q are stored", got)
			}
		})
	}
}

func TestTasksWithoutJobsAreNotPending(t *testing.T) {
	w := newHubFixture(t)
	w.setJob(&task.Job{})
	k := NewArchiver(w.Tailer, w.fakeTasks, 1000, func() bool { return true })
	k.Archived("a")
	if k.prunePending(); len(k.pending) != 1 {
		t.Errorf("pending %v", k.pending)
	}
	r := *w.view.Record
	r.CleanedUp = true
	w.view.Record = &r
	if k.prunePending(); len(k.pending) != 0 {
		t.Errorf("pending %v, though nothing is left", k.pending)
	}
}
