package features

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"k8s-cli/pkg/client"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/overview"
	"k8s-cli/pkg/task/query"
	"k8s-cli/test/testkit/must"
)

// A task that fails three times with two restarts shows the logs of its three attempts, an
// event for each restart, and in between when the next attempt begins. All of this stays when
// its Jobs are gone, is the same on another server, and survives a restart of all servers.
func TestRestartsAreVisible(t *testing.T) {
	t.Parallel()
	a := start(t, "--nats-url", external(t), "--keep-jobs", "1s")
	b := a.again(t)
	here, there := a.as(t, "ann"), b.as(t, "ann")
	id := here.submit(t, "resources: {job_recovery: {max_restarts_on_errors: 2}}\nrun: |\n  echo begun on $HOSTNAME\n  sleep 2\n  echo out of luck; exit 3\n")
	follower := there.follow(t, id, client.LogOptions{})
	for next := 2; next <= 3; next++ {
		what := fmt.Sprintf("attempt %d of 3", next)
		waits := func(s task.Status) bool { return strings.HasPrefix(s.Metadata.Message, what+", starts again in ") }
		for _, u := range []*user{here, there} {
			s := u.awaitWhere(t, id, what, func(s task.Status) bool { return waits(s) || s.Metadata.Attempt >= next })
			if !waits(s) {
				continue // a slow machine can miss the 10 s and the 20 s between the attempts
			}
			n := s.Metadata.Nodes[0]
			if s.Phase != task.Running || s.Metadata.Reason != task.ReasonBackOff || !strings.HasSuffix(s.Metadata.Message, " ended: exit code 3") || s.Metadata.Hint == "" || n.ExitCode != nil {
				t.Errorf("before %s the task is %s: %+v", what, sketch(s), s.Metadata)
			}
		}
	}
	s := here.await(t, id, task.Failed)
	pods := podsOfAttempts(s)
	if m := s.Metadata; m.Attempt != 3 || m.Restarts != 2 || m.MaxRestarts != 2 || len(pods) != 3 || m.Nodes[0].MaxAttempts != 3 || m.Nodes[0].ExitCode == nil || *m.Nodes[0].ExitCode != 3 {
		t.Fatalf("the task is %s: %+v", sketch(s), m)
	}
	want := attemptLogs(s, pods)
	if got := follower.rest(t); got != strings.Join(want, "") {
		t.Errorf("the log that was followed is %q, want %q", got, want)
	}
	here.showsAttempts(t, id, s, want)
	here.awaitNothing(t, id)
	there.showsAttempts(t, id, s, want)
	a.process.Kill()
	b.process.Kill()
	a.again(t).as(t, "ann").showsAttempts(t, id, s, want)
}

// podsOfAttempts returns the names of the pods of the only node, by attempt.
func podsOfAttempts(s task.Status) (names []string) {
	for _, a := range s.Metadata.Nodes[0].Attempts {
		names = append(names, a.Pod)
	}
	return append(names, s.Metadata.Nodes[0].Pod)
}

// attemptLogs returns the parts of the log, by attempt.
func attemptLogs(s task.Status, pods []string) (all []string) {
	node := s.Metadata.Nodes[0]
	for i, pod := range pods {
		started := node.StartedAt
		if i < len(node.Attempts) {
			started = node.Attempts[i].StartedAt
		}
		text := fmt.Sprintf("begun on %s\nout of luck\n", pod)
		if i > 0 {
			text = fmt.Sprintf("--- attempt %d of 3, started %s ---\n", i+1, started.Format("2006-01-02T15:04:05Z")) + text
		}
		all = append(all, text)
	}
	return all
}

// showsAttempts checks what a server shows of a task of three attempts with these logs.
func (u *user) showsAttempts(t *testing.T, id string, s task.Status, logs []string) {
	t.Helper()
	now := u.task(t, id)
	if got, want := podsOfAttempts(now), podsOfAttempts(s); now.Phase != task.Failed || !slices.Equal(got, want) || now.Metadata.Restarts != 2 || now.Metadata.MaxRestarts != 2 {
		t.Errorf("the task is %s with the attempts %q, want %q", sketch(now), got, want)
	}
	page, err := u.RowPage(t.Context(), query.Tasks{})
	if err != nil || !slices.ContainsFunc(page.Items, func(r overview.Row) bool { return r.ID == id && r.Restarts == 2 }) {
		t.Errorf("the rows are %+v (%v), want 2 restarts", page.Items, err)
	}
	for _, tt := range []struct {
		o    client.LogOptions
		want string
	}{
		{client.LogOptions{}, strings.Join(logs, "")},
		{client.LogOptions{NoFollow: true}, strings.Join(logs, "")},
		{client.LogOptions{Attempt: 1}, logs[0]},
		{client.LogOptions{Attempt: 2, NoFollow: true}, logs[1][strings.Index(logs[1], "\n")+1:]},
		{client.LogOptions{Attempt: 3, Tail: new(1)}, "out of luck\n"},
		{client.LogOptions{Tail: new(3)}, "out of luck\n" + logs[2]},
	} {
		if got := u.log(t, id, tt.o); got != tt.want {
			t.Errorf("%+v: the log is %q, want %q", tt.o, got, tt.want)
		}
	}
	if err := u.Logs(t.Context(), id, client.LogOptions{Attempt: 4}, io.Discard); err == nil || !strings.Contains(err.Error(), "the number of the last attempt is 3") {
		t.Errorf("the log of a fourth attempt: %v", err)
	}
	events, err := u.Events(t.Context(), client.EventSource{Key: task.Key{Kind: task.KindTask, ID: id}})
	must.Succeed(t, err)
	var got []string
	for _, e := range events {
		if e.Type != task.EventRestart {
			continue
		}
		got = append(got, e.Reason+": "+e.Message)
		if e.Attempt == nil || *e.Attempt.ExitCode != 3 || !strings.HasSuffix(e.Attempt.LastLines, "out of luck") || e.ID == (task.EventID{}) {
			t.Errorf("the event %+v of the attempt %+v", e, e.Attempt)
		}
	}
	if want := []string{"Error: attempt 1 of 3 ended: exit code 3", "Error: attempt 2 of 3 ended: exit code 3"}; !slices.Equal(got, want) {
		t.Errorf("events %q, want %q", got, want)
	}
}
