package logs

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s-cli/pkg/task"
)

// attemptPod returns the pod of an attempt of the first node, which started at second 10 times
// its number.
func attemptPod(number int, phase task.Phase) *task.Pod {
	p := pod(0, phase)
	p.Name = fmt.Sprint("try-", number)
	p.UID, p.StartedAt = p.Name, second(10*number)
	p.Created, p.FinishedAt = p.StartedAt.Add(-time.Second), p.StartedAt.Add(5*time.Second)
	return p
}

func second(n int) time.Time { return time.Date(2025, 10, 5, 12, 0, n, 0, time.UTC) }

// ofAttempts returns the tasks with one task of three attempts, two of which are recorded.
func ofAttempts(phase task.Phase) *fakeTasks {
	s := newFakeTasks(1)
	s.view.Record.Submit.Task.Resources.JobRecovery.Restarts = 2
	s.view.Record.Phase = phase
	for number := range 2 {
		p := attemptPod(number+1, task.Failed)
		s.view.Record.Attempts = append(s.view.Record.Attempts, task.Attempt{
			Number: number + 1, MaxAttempts: 3, UID: p.UID, Pod: p.Name, CreatedAt: p.Created, StartedAt: &p.StartedAt, FinishedAt: &p.FinishedAt,
		})
	}
	return s
}

// attemptLog returns the log of the pod of an attempt as the kubelet sends it.
func attemptLog(name string) string {
	var number int
	_, _ = fmt.Sscanf(name, "try-%d", &number)
	var b strings.Builder
	for line := range 2 {
		fmt.Fprintf(&b, "%s line %d of %d\n", second(10*number+1+line).Format(time.RFC3339Nano), line+1, number)
	}
	return b.String()
}

// serveAttempts returns a cluster whose pods have the logs of attemptLog.
func serveAttempts(t *testing.T, s *fakeTasks) *Tailer {
	t.Helper()
	return tailerOf(t, s, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimSuffix(strings.TrimPrefix(r.URL.Path, "/api/v1/namespaces/default/pods/"), "/log")
		lines, q := strings.SplitAfter(strings.TrimSuffix(attemptLog(name), "\n"), "\n"), r.URL.Query()
		lines[len(lines)-1] += "\n"
		if from, err := time.Parse(time.RFC3339, q.Get("sinceTime")); err == nil {
			lines = slices.DeleteFunc(lines, func(l string) bool { return l < from.Format(time.RFC3339) })
		}
		if n, err := strconv.Atoi(q.Get("tailLines")); err == nil {
			lines = lines[max(len(lines)-n, 0):]
		}
		send(w, strings.Join(lines, ""))
	}))
}

// tailOf returns what Tail writes until it ends.
func tailOf(t *testing.T, tailer *Tailer, o task.LogOptions) (string, error) {
	t.Helper()
	return (&cluster{Tailer: tailer}).tail(t, o)
}

const allAttempts = "line 1 of 1\nline 2 of 1\n" +
	"--- attempt 2 of 3, started 2025-10-05T12:00:20Z ---\nline 1 of 2\nline 2 of 2\n" +
	"--- attempt 3 of 3, started 2025-10-05T12:00:30Z ---\nline 1 of 3\nline 2 of 3\n"

// logsOfAttempts are the requests of the tests below, with the logs that they get.
var logsOfAttempts = []struct {
	name string
	o    task.LogOptions
	want string
}{
	{"all", task.LogOptions{}, allAttempts},
	{"all, followed", task.LogOptions{Follow: true}, allAttempts},
	{"the first", task.LogOptions{Attempt: 1}, "line 1 of 1\nline 2 of 1\n"},
	{"the second, followed", task.LogOptions{Attempt: 2, Follow: true}, "line 1 of 2\nline 2 of 2\n"},
	{"the last", task.LogOptions{Attempt: 3}, "line 1 of 3\nline 2 of 3\n"},
	{"the last lines of the second", task.LogOptions{Attempt: 2, Tail: new(int64(1))}, "line 2 of 2\n"},
	{"one last line", task.LogOptions{Tail: new(int64(1))}, "line 2 of 3\n"},
	{"the lines of the last", task.LogOptions{Tail: new(int64(2))}, "line 1 of 3\nline 2 of 3\n"},
	{"lines of two", task.LogOptions{Tail: new(int64(3))}, "line 2 of 2\n--- attempt 3 of 3, started 2025-10-05T12:00:30Z ---\nline 1 of 3\nline 2 of 3\n"},
	{"more lines than there are", task.LogOptions{Tail: new(int64(100))}, allAttempts},
	{"no lines", task.LogOptions{Tail: new(int64(0))}, ""},
	{"with times", task.LogOptions{Timestamps: true, Tail: new(int64(2)), Attempt: 2}, linesWithTimes(2)},
	{
		"resumed",
		task.LogOptions{Timestamps: true, Resume: map[int]time.Time{0: second(22)}},
		"2025-10-05T12:00:22Z line 2 of 2\n2025-10-05T12:00:30Z --- attempt 3 of 3, started 2025-10-05T12:00:30Z ---\n" + linesWithTimes(3),
	},
	{"resumed in the last", task.LogOptions{Timestamps: true, Resume: map[int]time.Time{0: second(31)}}, linesWithTimes(3)},
}

func linesWithTimes(number int) string { return attemptLog(fmt.Sprint("try-", number)) }

func TestAttemptsFollowEachOther(t *testing.T) {
	s := ofAttempts(task.Failed)
	s.view.Pods[0] = attemptPod(3, task.Failed)
	s.view.Earlier = [][]*task.Pod{{attemptPod(1, task.Failed), attemptPod(2, task.Failed)}}
	c := serveAttempts(t, s)
	for _, tt := range logsOfAttempts {
		if got, err := tailOf(t, c, tt.o); err != nil || got != tt.want {
			t.Errorf("%s: %q, %v, want %q", tt.name, got, err, tt.want)
		}
	}
}

// The logs of the attempts are archived when their pods end, and outlive the pods.
func TestArchivedAttempts(t *testing.T) {
	s := ofAttempts(task.Running)
	s.view.Jobs[0] = &task.Job{BackoffLimit: 2}
	s.view.Pods[0] = attemptPod(3, task.Failed)
	s.view.Earlier = [][]*task.Pod{{attemptPod(1, task.Failed), attemptPod(2, task.Failed)}}
	c := serveAttempts(t, s)
	store := newFakeStore()
	c.store = store
	runs(t, &hubFixture{fakeTasks: s, Tailer: c}, NewArchiver(c, s, 1<<20, func() bool { return true }))
	for number, name := range []string{"a/0", "a/0/2", "a/0/3"} {
		if got, want := store.await(t, name), linesWithTimes(number+1); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	s.mu.Lock()
	s.view.Earlier, s.view.Jobs = nil, make([]*task.Job, 1)
	s.mu.Unlock()
	s.set(0, nil, task.Failed)
	for _, tt := range logsOfAttempts {
		if got, err := tailOf(t, c, tt.o); err != nil || got != tt.want {
			t.Errorf("%s: %q, %v, want %q", tt.name, got, err, tt.want)
		}
	}
}

func TestAttemptsThatAreFollowed(t *testing.T) {
	s := ofAttempts(task.Running)
	s.view.Record.Attempts = nil
	s.view.Jobs[0] = &task.Job{BackoffLimit: 2}
	s.view.Pods[0] = attemptPod(1, task.Failed)
	c := serveAttempts(t, s)
	follow := func(o task.LogOptions) <-chan string {
		got := make(chan string, 1)
		go func() {
			text, err := tailOf(t, c, o)
			got <- fmt.Sprint(text, err)
		}()
		return got
	}
	all, first := follow(task.LogOptions{Follow: true}), follow(task.LogOptions{Follow: true, Attempt: 1})
	if text := <-first; text != "line 1 of 1\nline 2 of 1\n<nil>" {
		t.Errorf("the first attempt: %q", text)
	}
	s.mu.Lock()
	s.view.Earlier = [][]*task.Pod{{attemptPod(1, task.Failed), attemptPod(2, task.Failed)}}
	s.mu.Unlock()
	s.set(0, attemptPod(3, task.Completed), task.Completed)
	if text := <-all; text != allAttempts+"<nil>" {
		t.Errorf("all attempts: %q", text)
	}
}

func TestAttemptsThatDoNotExist(t *testing.T) {
	s := ofAttempts(task.Failed)
	for number := range 20 {
		a := s.view.Record.Attempts[1]
		a.Number, a.UID = number+3, fmt.Sprint("try-", number+3)
		s.view.Record.Attempts = append(s.view.Record.Attempts, a)
	}
	s.view.Record.Attempts = append(s.view.Record.Attempts[:5:5], s.view.Record.Attempts[17:]...)
	c := serveAttempts(t, s)
	for number, want := range map[int]string{
		5: "", 23: "", 24: "attempt: 24 is out of range; the number of the last attempt is 23",
		6: "the log of attempt 6 was not kept; the logs of the first 5 and the last 5 attempts are",
	} {
		got := ""
		if err := c.Check("a", task.LogOptions{Attempt: number}); err != nil {
			got = err.Error()
		}
		if !strings.HasSuffix(got, want) || (got == "") != (want == "") {
			t.Errorf("attempt %d: %q, want %q", number, got, want)
		}
	}
}
