package cache

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"k8s-cli/pkg/task"
)

// The log has an order, and the cluster has one for each object. Between these orders there is
// no relation.
func TestTheOrderOfEventsDoesNotMatter(t *testing.T) {
	one, two := submitNodes("ann", "one", 2), submit("bob", "two")
	log := []task.Command{one, two, applied(taskKey("one"), "one/0", "one/1"), applied(taskKey("two"), "two/0"), stop("bob", "two")}
	first, last := pod(job(one, 0, ""), 1, task.Failed), pod(job(one, 0, ""), 2, task.Running)
	seen := [][]func(*testStore){ // each slice in its own order
		{put(job(one, 0, task.Pending)), put(job(one, 0, task.Completed))},
		{put(job(one, 1, task.Pending)), func(p *testStore) { p.dropJob("one", job(one, 1, "").Name) }, put(job(one, 1, task.Pending))},
		{put(job(two, 0, task.Pending)), func(p *testStore) { p.dropJob("two", job(two, 0, "").Name) }},
		{func(p *testStore) { p.putPod(first) }},
		{func(p *testStore) { p.putPod(last) }},
		{func(p *testStore) { p.putPod(pod(job(one, 1, ""), 1, task.Running)) }},
		{func(p *testStore) { p.putJob(&task.Job{Name: "other", TaskID: "one", Rank: 0}) }},
	}
	var want []task.View
	for seed := range seeds(200) {
		p := newTestStore(t)
		r := rand.New(rand.NewPCG(seed, 0))
		commands, rest := slices.Clone(log), slices.Clone(seen)
		for len(commands) > 0 || len(rest) > 0 {
			switch i := r.IntN(len(rest) + 1); {
			case i < len(rest):
				rest[i][0](p)
				if rest[i] = rest[i][1:]; len(rest[i]) == 0 {
					rest = slices.Delete(rest, i, i+1)
				}
			case len(commands) > 0:
				p.apply(commands[0])
				commands = commands[1:]
			}
		}
		got := []task.View{p.view("one"), p.view("two")}
		if seed == 0 {
			want = got
			if v := got[0]; v.Jobs[0] == nil || v.Jobs[1] == nil || *v.Pods[0] != *last || len(v.Orphans) != 1 || got[1].Jobs[0] != nil {
				t.Fatalf("views %+v", got)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("seed %d (-one order +another):\n%s", seed, diff)
		}
	}
}

func put(j *task.Job) func(*testStore) { return func(p *testStore) { p.putJob(j) } }

func TestJobsThatAreNotOfTheSubmission(t *testing.T) {
	c := submitNodes("ann", "a", 2)
	for _, tt := range []struct {
		name  string
		alter func(*task.Job)
	}{
		{"of another user", func(j *task.Job) { j.User = "Ann" }},
		{"of another submission", func(j *task.Job) { j.Hash = "other" }},
		{"of no user, as the original made them", func(j *task.Job) { j.User, j.Hash = "", "" }},
		{"of another name", func(j *task.Job) { j.Name = "mine" }},
		{"of another rank", func(j *task.Job) { j.Rank = 1 }},
		{"of a rank beyond the last", func(j *task.Job) { j.Rank = 1 << 40 }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newTestStore(t, c)
			j := job(c, 0, task.Failed)
			tt.alter(j)
			p.putJob(j)
			p.putPod(pod(j, 1, task.Running))
			v := p.view("a")
			if len(v.Orphans) != 1 || *v.Orphans[0] != *j || v.Jobs[0] != nil || v.Jobs[1] != nil || v.Pods[0] != nil || v.Pods[1] != nil {
				t.Errorf("view %+v", v)
			}
			if v.CurrentPhase() != task.Pending {
				t.Errorf("the task is %s", v.CurrentPhase())
			}
		})
	}
}

func TestPodsOfANode(t *testing.T) {
	c := submit("ann", "a")
	j := job(c, 0, task.Pending)
	old, young := pod(j, 1, task.Failed), pod(j, 2, task.Running)
	foreign := pod(j, 3, task.Running)
	foreign.JobUID = "other"
	p := newTestStore(t, c)
	for _, x := range []*task.Pod{young, old, foreign} {
		p.putPod(x)
	}
	if got := p.view("a").Pods[0]; got != nil {
		t.Errorf("before its Job is seen: %+v", got)
	}
	p.putJob(j)
	if got := p.view("a").Pods[0]; *got != *young {
		t.Errorf("the newest is not shown but %+v", got)
	}
	p.dropPod("a", young.Name)
	if got := p.view("a").Pods[0]; *got != *old {
		t.Errorf("once it is gone: %+v", got)
	}
	p.apply(applied(taskKey("a"), j.UID))
	p.dropJob("a", j.Name)
	if v := p.view("a"); v.Jobs[0] != nil || *v.Pods[0] != *old {
		t.Errorf("once its Job is gone: %+v", v)
	}
}

func TestJobsWithoutARecord(t *testing.T) {
	p := newTestStore(t)
	changes := changesOf(p.Store)
	j := job(submit("ann", "a"), 0, task.Pending)
	p.putJob(j)
	if v := p.view("a"); v.Record != nil || len(v.Orphans) != 1 {
		t.Errorf("view %+v", v)
	}
	if p.task("ann", "a") != "" {
		t.Error("there is an answer for it")
	}
	if ids, _ := p.list(task.Query{AllUsers: true}); len(ids) != 0 {
		t.Errorf("list %v", ids)
	}
	if diff := cmp.Diff([]task.Key{taskKey("a")}, p.Keys()); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
	p.dropJob("a", j.Name)
	if keys := p.Keys(); len(keys) != 0 {
		t.Errorf("once it is gone: keys %v", keys)
	}
	if diff := cmp.Diff([]task.Key{taskKey("a"), taskKey("a")}, changes()); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
}

func TestAnswersAreForTheirUser(t *testing.T) {
	p := newTestStore(t, submit("a@b", "1"), submit("a-b", "2"), submit("A", "3"), create("a@b", "v", "data"))
	for user, id := range map[string]string{"a@b": "1", "a-b": "2", "A": "3"} {
		for _, other := range []string{"1", "2", "3"} {
			text := p.task(user, other)
			if (text != "") != (id == other) || text != "" && text != id+" of "+user+": pending" {
				t.Errorf("%s asks for %s: %q", user, other, text)
			}
		}
		if ids, _ := p.list(task.Query{User: user}); !slices.Equal(ids, []string{id}) {
			t.Errorf("%s has %v", user, ids)
		}
		if text := p.volume(user, "v"); (text != "") != (user == "a@b") {
			t.Errorf("%s asks for the volume: %q", user, text)
		}
	}
	if ids, _ := p.list(task.Query{User: "a"}); len(ids) != 0 {
		t.Errorf("a user without tasks has %v", ids)
	}
	if ids, _ := p.list(task.Query{User: "a", AllUsers: true}); !slices.Equal(ids, []string{"3", "2", "1"}) {
		t.Errorf("all users have %v", ids)
	}
}

func TestListsArePaged(t *testing.T) {
	p := newTestStore(t)
	for i := range 10 {
		p.apply(submit("ann", fmt.Sprint(i)), submit("bob", fmt.Sprint("b", i)))
	}
	p.apply(stop("ann", "3"), stop("ann", "7"))
	for _, tt := range []struct {
		name string
		q    task.Query
		want [][]string // ids on each page
	}{
		{"all at once", task.Query{}, [][]string{{"9", "8", "7", "6", "5", "4", "3", "2", "1", "0"}}},
		{"four at a time", task.Query{Limit: 4}, [][]string{{"9", "8", "7", "6"}, {"5", "4", "3", "2"}, {"1", "0"}}},
		{"just as many as there are", task.Query{Limit: 10}, [][]string{{"9", "8", "7", "6", "5", "4", "3", "2", "1", "0"}}},
		{"of a phase", task.Query{Limit: 1, Phase: task.Stopped}, [][]string{{"7"}, {"3"}}},
		{"of a name", task.Query{Name: "train", Limit: 9}, [][]string{{"9", "8", "7", "6", "5", "4", "3", "2", "1"}, {"0"}}},
		{"of a name that nobody gave", task.Query{Name: "other"}, [][]string{nil}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			q, got := tt.q, [][]string{}
			for q.User = "ann"; ; {
				ids, next := p.list(q)
				got = append(got, ids)
				if q.Before = next; next == 0 || len(got) > 20 {
					break
				}
				p.apply(submit("ann", fmt.Sprint("new", p.seq))) // new tasks move no later page
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("pages (-want +got):\n%s", diff)
			}
			p.Reset()
			p.log = p.log[:22]
			p.replayLog()
		})
	}
}

func TestACursorThatNoPageHad(t *testing.T) {
	p := newTestStore(t, submit("ann", "a"), submit("ann", "b"))
	for before, want := range map[uint64][]string{1: nil, 2: {"a"}, 3: {"b", "a"}, 1 << 62: {"b", "a"}, 1<<64 - 1: {"b", "a"}} {
		if ids, _ := p.list(task.Query{User: "ann", Before: before}); !slices.Equal(ids, want) {
			t.Errorf("before %d: %v, want %v", before, ids, want)
		}
	}
}

func TestChangeIsNotified(t *testing.T) {
	c := submit("ann", "a")
	p := newTestStore(t)
	changes := changesOf(p.Store)
	for _, tt := range []struct {
		name string
		do   func()
		want []task.Key
	}{
		{"a submission", func() { p.apply(c) }, []task.Key{taskKey("a")}},
		{"a Job", func() { p.putJob(job(c, 0, task.Pending)) }, []task.Key{taskKey("a")}},
		{"a pod", func() { p.putPod(pod(job(c, 0, ""), 1, task.Running)) }, []task.Key{taskKey("a")}},
		{"the end of a pod", func() { p.dropPod("a", pod(job(c, 0, ""), 1, "").Name) }, []task.Key{taskKey("a")}},
		{"a volume", func() { p.apply(create("ann", "v", "data")) }, []task.Key{volumeKey("v")}},
		{"its claim", func() { p.putClaim(claim(create("ann", "v", "data"), "Bound")) }, []task.Key{volumeKey("v")}},
		{"a claim of others", func() { p.putClaim(&task.Claim{Name: "other"}) }, nil},
		{"a stop", func() { p.apply(stop("ann", "a")) }, []task.Key{taskKey("a")}},
	} {
		_, changed := p.WatchTask("a")
		tt.do()
		if diff := cmp.Diff(tt.want, changes()); diff != "" {
			t.Errorf("%s: told (-want +got):\n%s", tt.name, diff)
		}
		if changed == nil || !slices.Contains(tt.want, taskKey("a")) {
			continue
		}
		select {
		case <-changed:
		default:
			t.Errorf("%s: who waits for the task does not hear of it", tt.name)
		}
	}
}

func TestAResetForgetsTheLogAndKeepsTheCluster(t *testing.T) {
	c, v := submit("ann", "a"), create("ann", "v", "data")
	p := newTestStore(t, c, applied(taskKey("a"), "a/0"), v, applied(volumeKey("v"), "uid"), mounting("ann", "b", "data", "none"))
	j := job(c, 0, task.Pending)
	p.putJob(j)
	p.putPod(pod(j, 1, task.Running))
	p.putClaim(claim(v, "Bound"))
	before := p.everything(t)

	_, changed := p.WatchTask("a")
	p.Reset()
	select {
	case <-changed:
	default:
		t.Error("who waits for the task does not hear of it")
	}
	if ids, _ := p.list(task.Query{AllUsers: true}); len(ids) != 0 || len(p.volumes("", true)) != 0 {
		t.Errorf("lists after a reset: %v, %v", ids, p.volumes("", true))
	}
	if p.task("ann", "a") != "" {
		t.Error("the task is answered for after a reset")
	}
	if v := p.view("a"); v.Record != nil || len(v.Orphans) != 1 {
		t.Errorf("what the cluster has is not kept: %+v", v)
	}
	if got := p.VolumeView("v"); got.VolumeRecord != nil {
		t.Errorf("volume %+v", got)
	}
	p.replayLog()
	if diff := cmp.Diff(before, p.everything(t)); diff != "" {
		t.Errorf("when the log is read again (-before +after):\n%s", diff)
	}
}

// everything returns all answers of the store.
func (p *testStore) everything(t *testing.T) map[string]any {
	t.Helper()
	var tasks []task.Status
	p.TaskAnswers(listOf(task.Query{AllUsers: true}), noneEncoded, func(a Answer) { tasks = append(tasks, statusOf(a)) })
	return map[string]any{
		"a": p.view("a"), "b": p.view("b"), "v": p.VolumeView("v"),
		"tasks": tasks, "volumes": p.volumes("", true),
	}
}

func TestAnEntryThatCannotBeReadIsAnError(t *testing.T) {
	p := newTestStore(t, submit("ann", "a"))
	if _, err := p.Fold(task.Entry{Version: task.EntryVersion + 1, Log: "log"}); err == nil {
		t.Error("no error")
	}
}

// This test is for the race detector.
func TestReadersAndWritersTogether(t *testing.T) {
	p := newTestStore(t)
	var all sync.WaitGroup
	all.Go(func() {
		for i := range 100 {
			p.apply(submit("ann", fmt.Sprint(i)))
		}
	})
	all.Go(func() {
		for i := range 100 {
			j := job(submit("ann", fmt.Sprint(i)), 0, task.Pending)
			p.putJob(j)
			p.putPod(pod(j, 1, task.Running))
			p.dropJob(j.TaskID, j.Name)
		}
	})
	for range 2 {
		all.Go(func() {
			for i := range 100 {
				p.list(task.Query{User: "ann"})
				p.task("ann", fmt.Sprint(i))
				p.TaskView(fmt.Sprint(i))
				p.Keys()
			}
		})
	}
	all.Wait()
	if ids, _ := p.list(task.Query{User: "ann"}); len(ids) != 100 {
		t.Errorf("%d tasks", len(ids))
	}
}
