package cache

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/query"
	"k8s-cli/test/testkit/must"
)

// After any sequence of changes, different answers have different versions.
func TestVersionsDistinguishAnswers(t *testing.T) {
	const seed = 7
	random := rand.New(rand.NewPCG(seed, seed))
	p := &testStore{Store: New(), t: t}
	queries := []task.Query{
		{User: "ann"},
		{User: "bob"},
		{User: "cat"},
		{AllUsers: true},
		{User: "ann", Limit: 2},
		{AllUsers: true, Limit: 3},
		{AllUsers: true, Limit: 3, Before: 9},
		{User: "ann", Before: 5},
		{User: "bob", Phase: task.Running},
		{AllUsers: true, Phase: task.Stopped, Limit: 4},
	}
	lists := []query.List{
		{Caller: "ann", Tasks: query.Tasks{Sort: "-started", Limit: 3}},
		{Caller: "bob", Tasks: query.Tasks{Reasons: []string{task.ReasonBacklog}}},
		{Tasks: query.Tasks{AllUsers: true, Sort: "status", View: query.Row, Limit: 5}},
		{Caller: "cat", Tasks: query.Tasks{User: "ann", NameContains: []string{"rai"}, Phases: []task.Phase{task.Pending, task.Running}}},
	}
	for _, q := range queries {
		lists = append(lists, listOf(q))
	}
	seen := make([]map[[2]uint64]string, len(lists))
	kept := 0 // answers whose version stayed the same, because nothing has changed
	for i := range seen {
		seen[i] = map[[2]uint64]string{}
	}
	checkVersions := func(after string) {
		for i, q := range lists {
			version := p.TaskVersion(q)
			var answers []task.Status
			page := p.TaskAnswers(q, noneEncoded, func(a Answer) { answers = append(answers, statusOf(a)) })
			rows, _ := p.TaskRows(q)
			text := must.Encode(t, answers)
			answer := fmt.Sprintf("%s %v %v", text, rows, page)
			before, known := seen[i][version]
			if known && before != answer {
				t.Fatalf("seed %d: after %s the answer to %+v has the version of another one:\n%s\n%s", seed, after, q, before, answer)
			}
			if known {
				kept++
			}
			seen[i][version] = answer
		}
	}
	var open []task.Command
	over := map[string]bool{}
	rounds := 400
	if testing.Short() {
		rounds = 100
	}
	for n := range rounds {
		what := "a submission"
		c := submit([]string{"ann", "bob"}[random.IntN(2)], fmt.Sprintf("%08d", n))
		old := c
		if len(open) > 0 {
			old = open[random.IntN(len(open))]
		}
		id := old.Submit
		switch action := random.IntN(6); {
		case action < 2 || id == c.Submit:
			p.apply(c)
			open = append(open, c)
		case action == 2 && !over[id.ID]:
			what = "a stop"
			p.apply(stop(id.User, id.ID))
			over[id.ID] = true
		case action == 3 && p.view(id.ID).UIDs == nil && !over[id.ID]:
			what = "Jobs that exist"
			p.apply(applied(taskKey(id.ID), "uid of "+id.ID))
		case action == 4:
			what = "a Job and its pod"
			j := job(old, 0, task.Pending)
			p.putJob(j)
			p.putPod(pod(j, n, task.Running))
		case action == 5 && over[id.ID] && !p.view(id.ID).CleanedUp:
			what = "what is forgotten"
			p.apply(gone(taskKey(id.ID)), task.Command{ExpireHistory: &task.ExpireHistory{IDs: []string{id.ID}}})
			open = open[:0]
		}
		checkVersions(what)
		if n%100 == 99 {
			p.Reset()
			checkVersions("a reset")
			p.replayLog()
			checkVersions("all of it once more")
		}
	}
	if kept == 0 {
		t.Error("no answer kept its version though nothing of it had changed")
	}
}

func TestWhereTasksWereSubmitted(t *testing.T) {
	p := newTestStore(t, submit("ann", "a"), create("ann", "v", "data"), submit("bob", "b"), submit("ann", "c"), stop("ann", "c"), submit("ann", "d"))
	if got, want := p.Submissions(1, 4), map[uint64]bool{1: true, 3: true, 4: true}; !cmp.Equal(got, want) {
		t.Errorf("submissions %v, want %v", got, want)
	}
	if got := p.Submissions(5, 5); len(got) > 0 {
		t.Errorf("submissions where there were none: %v", got)
	}
	p.apply(gone(taskKey("c")), task.Command{ExpireHistory: &task.ExpireHistory{IDs: []string{"c"}}})
	if got, want := p.Submissions(4, 99), map[uint64]bool{6: true}; !cmp.Equal(got, want) {
		t.Errorf("submissions %v, want %v", got, want)
	}
	if seq, ok := p.Submission("bob", "b"); seq != 3 || !ok {
		t.Errorf("b was submitted at %d, %t", seq, ok)
	}
	for user, id := range map[string]string{"ann": "b", "bob": "nobody's", "": "c"} {
		if seq, ok := p.Submission(user, id); ok {
			t.Errorf("%s of %q was submitted at %d", id, user, seq)
		}
	}
}

// The positions of waiting tasks change with the tasks of other users; other answers do not.
func TestVersionsFollowTheBacklogOnlyWhereATaskWaits(t *testing.T) {
	p := newTestStore(t, submit("ann", "a"), applied(taskKey("a"), "u"), submit("bob", "b"), admitted("b"))
	versions := func() (ann, bob, all [2]uint64) {
		return p.TaskVersion(listOf(task.Query{User: "ann"})), p.TaskVersion(listOf(task.Query{User: "bob"})), p.TaskVersion(listOf(task.Query{User: "ann", AllUsers: true}))
	}
	ann, bob, all := versions()
	p.apply(submit("cid", "c"))
	later, moved, shown := versions()
	if later != ann {
		t.Error("ann's answers, of which none waits, have another version")
	}
	if moved == bob || moved[0] != bob[0] {
		t.Errorf("the version of bob's answers was %v and is %v", bob, moved)
	}
	if shown == all {
		t.Error("the answers of all users have the same version")
	}
	if shown[1] == 0 {
		t.Error("the answers of all users do not follow the backlog")
	}
}
