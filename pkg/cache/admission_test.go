package cache

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"k8s-cli/pkg/task"
)

// limits returns limits of all Jobs, of the Jobs of one user, and of unschedulable pods.
func limits(total, perUser, unschedulable int) task.AdmissionLimits {
	return task.AdmissionLimits{JobLimits: task.JobLimits{Total: total, PerUser: perUser}, Unschedulable: unschedulable}
}

func limited(t *testing.T, l task.AdmissionLimits, commands ...task.Command) *testStore {
	t.Helper()
	p := newTestStore(t)
	p.SetAdmissionLimits(l)
	p.apply(commands...)
	return p
}

func ended(id string) task.Command {
	return task.Command{Ended: &task.Ended{ID: id, Phase: task.Completed, Nodes: []task.Node{{Phase: task.Completed}}}}
}

func delayed(id string) task.Command {
	return task.Command{Blocked: &task.Blocked{Key: taskKey(id), Reason: "QuotaExceeded", Message: "no room"}}
}

// finish returns the commands of a task from its submission to its end.
func finish(user, id string, nodes int) []task.Command {
	uids := make([]string, nodes)
	return []task.Command{submitNodes(user, id, nodes), admitted(id), applied(taskKey(id), uids...), ended(id)}
}

// describeAdmission returns an admission as one line of text.
func describeAdmission(a task.Admission) string {
	s := strings.Join(a.Next.IDs, " ")
	for _, k := range a.Evict {
		s += " evict:" + k.ID
	}
	if a.Shared {
		s += " shared"
	}
	return strings.TrimSpace(s)
}

func TestFirstTasksOfUsersAreAdmitted(t *testing.T) {
	crowd := []task.Command{submit("ann", "a1"), submit("ann", "a2"), admitted("a1")}
	for _, tt := range []struct {
		name   string
		limits task.AdmissionLimits
		window int
		log    []task.Command
		want   string
	}{
		{"one of each user, beyond the window", limits(0, 0, 0), 2, append(crowd, submit("bob", "b1"), submit("bob", "b2"), submit("cid", "c1")), "b1 c1 shared"},
		{"no more than twice the window", limits(0, 0, 0), 1, append(crowd, submit("bob", "b1"), submit("cid", "c1")), "b1 shared"},
		{"nobody who has one under way", limits(0, 0, 0), 2, crowd, ""},
		{"a user whose others were created", limits(0, 0, 0), 2, append(crowd, applied(taskKey("a1"), "u")), "a2"},
		{"within the total", limits(2, 0, 0), 2, append(crowd, submit("bob", "b1"), submit("cid", "c1")), "b1 shared"},
		{"nobody past a large task", limits(3, 0, 0), 2, append(crowd, submitNodes("bob", "b1", 3), submit("cid", "c1")), ""},
		{"within the user's limit", limits(0, 1, 0), 2, append(crowd, applied(taskKey("a1"), "u"), submit("bob", "b1")), "b1 shared"},
		{"nothing that waits for volumes", limits(0, 0, 0), 2, append(crowd, mounting("bob", "b1", "nowhere")), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := limited(t, tt.limits, tt.log...)
			if got := describeAdmission(p.FirstAdmission(tt.window)); got != tt.want {
				t.Errorf("admission %q, want %q", got, tt.want)
			}
		})
	}
}

func TestOrderOfAdmission(t *testing.T) {
	three := []task.Command{
		submit("ann", "a1"), submit("ann", "a2"), urgent("ann", "a3", 5), submit("bob", "b1"), submit("bob", "b2"), submit("cid", "c1"),
	}
	for _, tt := range []struct {
		name   string
		limits task.AdmissionLimits
		window int
		log    []task.Command
		want   string
	}{
		{"users take turns", limits(0, 0, 0), 10, three, "a3 b1 c1 a1 b2 a2 shared"},
		{"as many as the window has room for", limits(0, 0, 0), 2, three, "a3 b1 shared"},
		{"those that are not created yet fill the window", limits(0, 0, 0), 3, append(three, admitted("a3", "b1")), "c1 shared"},
		{"a turn that is over is the last", limits(0, 0, 0), 10, append(three, admitted("b1")), "a3 c1 b2 a1 a2 shared"},
		{
			"who comes to a full window is next when another's is created", limits(0, 0, 0), 1,
			[]task.Command{submit("ann", "a1"), submit("ann", "a2"), submit("ann", "a3"), admitted("a1"), submit("bob", "b1"), applied(taskKey("a1"), "u"), admitted("a2"), applied(taskKey("a2"), "u")},
			"b1 shared",
		},
		{"as many as the total has room for", limits(4, 0, 0), 10, three, "a3 b1 c1 a1 shared"},
		{"a user's limit holds back nobody else", limits(0, 1, 0), 10, three, "a3 b1 c1 shared"},
		{"what exists counts", limits(3, 0, 0), 10, append(three, admitted("a3", "b1")), "c1 shared"},
		{
			"a large task keeps its turn", limits(4, 0, 0), 10,
			[]task.Command{submit("bob", "b1"), admitted("b1"), submitNodes("ann", "a1", 4), submit("bob", "b2"), submit("ann", "a2")},
			"",
		},
		{
			"a large task does not fit its user's limit", limits(0, 4, 0), 10,
			[]task.Command{submit("ann", "a1"), admitted("a1"), submitNodes("ann", "a2", 4), submit("ann", "a3"), submit("bob", "b1")},
			"b1 shared",
		},
		{"too large for the total", limits(4, 0, 0), 10, []task.Command{submitNodes("ann", "a1", 5), submit("ann", "a2")}, "a2"},
		{"too large for its user", limits(4, 3, 0), 10, []task.Command{submitNodes("ann", "a1", 4), submit("ann", "a2")}, "a2"},
		{"what is delayed is no part of the window", limits(0, 0, 0), 1, []task.Command{submit("ann", "a1"), submit("ann", "a2"), admitted("a1"), delayed("a1")}, "a2"},
		{"what waits for volumes has no turn", limits(0, 0, 0), 10, []task.Command{mounting("ann", "a1", "nowhere"), submit("ann", "a2")}, "a2"},
		{"what was stopped has none", limits(0, 0, 0), 10, append(three, stop("ann", "a3"), stop("bob", "b1"), stop("bob", "b2")), "a1 c1 a2 shared"},

		{"a finished task makes room", limits(2, 0, 0), 10, slices.Concat(finish("ann", "a1", 1), finish("ann", "a2", 1), []task.Command{submit("bob", "b1")}), "evict:a1"},
		{
			"as many as are needed, the oldest first", limits(4, 0, 0), 10,
			slices.Concat(finish("ann", "a1", 1), finish("bob", "b1", 2), finish("ann", "a2", 1), []task.Command{submitNodes("cid", "c1", 2)}), "evict:a1 evict:b1",
		},
		{
			"for all that the window has room for", limits(3, 0, 0), 10,
			slices.Concat(finish("ann", "a1", 1), finish("ann", "a2", 1), finish("ann", "a3", 1), []task.Command{submit("bob", "b1"), submit("bob", "b2")}), "evict:a1 evict:a2",
		},
		{"nobody makes room that is there", limits(3, 0, 0), 10, slices.Concat(finish("ann", "a1", 1), []task.Command{submit("bob", "b1"), submit("bob", "b2")}), "b1 b2"},
		{
			"room that is there is used first", limits(3, 0, 0), 10,
			slices.Concat(finish("ann", "a1", 1), finish("ann", "a2", 1), []task.Command{submit("bob", "b1"), submit("bob", "b2")}), "b1 evict:a1",
		},
		{
			"nothing goes that would not be enough", limits(4, 0, 0), 10,
			slices.Concat(finish("ann", "a1", 1), []task.Command{submit("ann", "a2"), admitted("a2"), submitNodes("bob", "b1", 4)}), "",
		},
		{
			"at a user's limit his own go", limits(0, 2, 0), 10,
			slices.Concat(finish("bob", "b1", 1), finish("ann", "a1", 1), finish("ann", "a2", 1), []task.Command{submit("ann", "a3")}), "evict:a1",
		},
		{
			"at a user's limit nobody else's go", limits(0, 1, 0), 10,
			slices.Concat(finish("bob", "b1", 1), []task.Command{submit("ann", "a1"), admitted("a1"), submit("ann", "a2")}), "",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := limited(t, tt.limits, tt.log...)
			if got := describeAdmission(p.Admission(tt.window)); got != tt.want {
				t.Errorf("admission %q, want %q", got, tt.want)
			}
			p.Reset()
			if got := describeAdmission(p.Admission(tt.window)); got != "" {
				t.Errorf("without its log: %q", got)
			}
			p.replayLog()
			if got := describeAdmission(p.Admission(tt.window)); got != tt.want {
				t.Errorf("read anew: %q, want %q", got, tt.want)
			}
		})
	}
}

// The blocked tasks of one user are retried, but their number is bounded.
func TestBlockedTasksOfAUserAreBounded(t *testing.T) {
	p := limited(t, limits(0, 0, 0))
	for n := range maxBlocked + 1 {
		id := fmt.Sprint("a", n)
		p.apply(submit("ann", id))
		if a := p.Admission(10); len(a.Next.IDs) != 1 && n < maxBlocked || len(a.Next.IDs) != 0 && n == maxBlocked {
			t.Fatalf("with %d tasks delayed: %q", n, describeAdmission(a))
		}
		if n < maxBlocked {
			p.apply(admitted(id), delayed(id))
		}
	}
	if _, why := p.admission.whyWaiting(p.tasks[fmt.Sprint("a", maxBlocked)], 1); !strings.Contains(why, "64 of your earlier tasks cannot be created at present") {
		t.Errorf("it waits, %s", why)
	}
	p.apply(submit("bob", "b1"))
	if got := describeAdmission(p.Admission(10)); got != "b1 shared" {
		t.Errorf("another user: %q", got)
	}
	p.apply(applied(taskKey("a0"), "u"))
	if a := p.Admission(10); len(a.Next.IDs) != 2 {
		t.Errorf("after one of them: %q", describeAdmission(a))
	}
}

// withoutNode returns the pod of a Job for which the scheduler finds no node.
func withoutNode(j *task.Job) *task.Pod {
	x := pod(j, 0, task.Pending)
	x.Reason = corev1.PodReasonUnschedulable
	return x
}

func TestPodsWithoutANodeHoldBackTheirUserAlone(t *testing.T) {
	first := submitNodes("ann", "a1", 2)
	p := limited(t, limits(0, 0, 2), first, admitted("a1"), applied(taskKey("a1"), "a1/0", "a1/1"), submit("ann", "a2"), submit("bob", "b1"))
	jobs := []*task.Job{job(first, 0, task.Pending), job(first, 1, task.Pending)}
	next := func(what, want string) {
		t.Helper()
		if got := describeAdmission(p.Admission(10)); got != want {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
	for _, j := range jobs {
		p.putJob(j)
		p.putPod(pod(j, 0, task.Pending))
	}
	next("before the scheduler has looked", "a2 b1 shared")
	p.putPod(withoutNode(jobs[0]))
	next("below the limit", "a2 b1 shared")
	p.putPod(withoutNode(jobs[1]))
	next("at the limit", "b1 shared")
	if reason, why := p.admission.whyWaiting(p.tasks["a2"], 1); reason != task.ReasonMaxUnplaced || !strings.HasSuffix(why, "2 of your pods find no machine, and new pods wait until fewer than 2 do") {
		t.Errorf("%s, %s", reason, why)
	}
	placed := pod(jobs[0], 0, task.Pending)
	placed.Host = "node"
	p.putPod(placed)
	next("once one has a node", "a2 b1 shared")
	p.putPod(withoutNode(jobs[0]))
	p.dropPod("a1", withoutNode(jobs[1]).Name)
	next("once one is gone", "a2 b1 shared")
	p.putPod(withoutNode(jobs[1]))
	p.apply(stop("ann", "a1"))
	next("once their task is stopped", "a2 b1 shared")
	if len(p.admission.unschedulable) > 0 {
		t.Errorf("still counted: %v", p.admission.unschedulable)
	}
}

func TestReasonsOfWaitingTasks(t *testing.T) {
	for _, tt := range []struct {
		name    string
		limits  task.AdmissionLimits
		log     []task.Command
		reason  string
		message string
	}{
		{"none", limits(0, 0, 0), nil, task.ReasonBacklog, ""},
		{"none is reached", limits(9, 9, 9), nil, task.ReasonBacklog, ""},
		{"the total", limits(2, 0, 0), []task.Command{submit("bob", "b1"), submit("bob", "b2"), admitted("b1", "b2"), applied(taskKey("b1"), "u"), applied(taskKey("b2"), "u")}, task.ReasonMaxJobs, "; 2 of at most 2 Jobs exist"},
		{"a large task before it", limits(4, 0, 0), []task.Command{submitNodes("ann", "a0", 2), admitted("a0"), applied(taskKey("a0"), "u", "v"), submitNodes("ann", "a9", 3)}, task.ReasonMaxJobs, "; 2 of at most 4 Jobs exist"},
		{"its user's", limits(9, 1, 0), []task.Command{submit("ann", "a0"), admitted("a0"), applied(taskKey("a0"), "u")}, task.ReasonMaxUserJobs, "; you have 1 of at most 1 Jobs"},
		{"another user's", limits(9, 1, 0), []task.Command{submit("bob", "b1"), submit("bob", "b2"), admitted("b1"), applied(taskKey("b1"), "u")}, task.ReasonBacklog, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := limited(t, tt.limits, append(tt.log, submit("ann", "x"))...)
			d, _ := p.TaskAnswer("ann", "x", 0)
			if d.Reason != tt.reason || task.HintFor(d.Reason, "", nil) == "" {
				t.Errorf("reason %s, want %s", d.Reason, tt.reason)
			}
			text, found := strings.CutPrefix(d.Message, fmt.Sprintf("waiting for its Jobs: number %d of %d in the backlog", d.Position, p.admission.queue.length()))
			if diff := cmp.Diff(tt.message, text); !found || diff != "" {
				t.Errorf("message %q (-want +got):\n%s", d.Message, diff)
			}
		})
	}
}

// After any sequence of commands, each task is at the stage of the backlog that its record
// implies, and the finished tasks are those whose Jobs are retained.
func TestTheBacklogFollowsTheRecords(t *testing.T) {
	for seed := range seeds(20) {
		random := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // a seed is wanted
		p := limited(t, limits(20, 12, 0))
		one := func(of ...string) string { return of[random.IntN(len(of))] }
		for n := range 300 {
			id := fmt.Sprint("t", random.IntN(n+1))
			v := p.view(id)
			switch {
			case v.Record == nil:
				p.apply(submitNodes(one("ann", "bob", "cid"), id, 1+random.IntN(3)))
			case v.CleanedUp:
			case v.Phase.Over():
				p.apply(gone(taskKey(id)))
			case random.IntN(5) == 0:
				p.apply(stop(v.Submit.User, id))
			case !v.Admitted:
				p.apply(admitted(id))
			case v.UIDs == nil && v.Reason == "" && random.IntN(4) == 0:
				p.apply(delayed(id))
			case v.UIDs == nil:
				p.apply(applied(taskKey(id), make([]string, v.NumNodes())...))
			default:
				p.apply(ended(id))
			}
			p.check(seed)
		}
	}
}

// check compares the derived data of all tasks with their records.
func (p *testStore) check(seed uint64) {
	p.t.Helper()
	waiting, creating, jobs := 0, 0, 0
	var done []string
	for id, i := range p.tasks {
		v := p.view(id)
		switch r := v.Record; {
		case r.Phase == task.Completed && !r.CleanedUp:
			done = append(done, id)
			jobs += r.NumNodes()
		case r.Phase.Over(), r.UIDs != nil:
		case !r.Admitted:
			waiting++
		case r.Reason == "":
			creating++
		}
		if want := stageOf(&v, p.admission.limits); i.stage != want {
			p.t.Fatalf("seed %d: task %s is at place %d, want %d", seed, id, i.stage, want)
		}
	}
	users := map[string]bool{}
	for _, user := range p.admission.queue.order {
		users[user] = true
	}
	inLines := 0
	for user, line := range p.admission.queue.userQueues {
		if inLines += len(line); !users[user] {
			p.t.Fatalf("seed %d: user %s has a line and no turn", seed, user)
		}
	}
	if p.admission.queue.size != waiting || inLines != waiting || len(p.admission.queue.creating) != creating || len(users) != len(p.admission.queue.userQueues) || len(users) != len(p.admission.queue.order) {
		p.t.Fatalf("seed %d: %d wait, %d are to be created, want %d and %d; turns %q", seed, p.admission.queue.size, len(p.admission.queue.creating), waiting, creating, p.admission.queue.order)
	}
	var kept []string
	for _, t := range p.admission.finished.tasks {
		kept = append(kept, t.ID)
	}
	if !slices.IsSortedFunc(p.admission.finished.tasks, tasksByEnd) || p.admission.finished.jobs != jobs {
		p.t.Fatalf("seed %d: the finished %q have %d Jobs, want %d", seed, kept, p.admission.finished.jobs, jobs)
	}
	slices.Sort(kept)
	slices.Sort(done)
	if !slices.Equal(kept, done) {
		p.t.Fatalf("seed %d: finished are %q, want %q", seed, kept, done)
	}
}

func TestBacklogChangeIsNotified(t *testing.T) {
	p := limited(t, limits(1, 0, 0))
	told := func() bool {
		select {
		case <-p.BacklogChanged():
			return true
		default:
			return false
		}
	}
	for _, tt := range []struct {
		what string
		tell task.Command
		want bool
	}{
		{"a submission", submit("ann", "a"), true},
		{"an admission", admitted("a"), true},
		{"the next submission", submit("ann", "b"), true},
		{"a Job that exists", applied(taskKey("a"), "u"), true},
		{"the end of a task", ended("a"), true},
		{"a task of which nothing is left", gone(taskKey("a")), true},
		{"a stop", stop("ann", "b"), true},
		{"what is gone while nobody waits", gone(taskKey("b")), false},
	} {
		p.apply(tt.tell)
		if got := told(); got != tt.want {
			t.Errorf("%s: told %t, want %t", tt.what, got, tt.want)
		}
	}
}

func TestOldestFinishedMakeRoomForAQuota(t *testing.T) {
	p := newTestStore(t, slices.Concat(finish("ann", "a1", 2), finish("bob", "b1", 1), finish("ann", "a2", 1), finish("ann", "a3", 1))...)
	oldest := func(jobs int, want ...string) {
		t.Helper()
		var ids []string
		for _, k := range p.OldestFinished(jobs) {
			ids = append(ids, k.ID)
		}
		if !slices.Equal(ids, want) {
			t.Errorf("for %d Jobs: %q, want %q", jobs, ids, want)
		}
	}
	oldest(0)
	oldest(1, "a1")
	oldest(2, "a1")
	oldest(3, "a1", "b1")
	oldest(9, "a1", "b1", "a2", "a3")
	for _, id := range []string{"w1", "w2", "w3"} { // each of which a quota rejects
		p.apply(submit("cid", id), admitted(id), delayed(id))
	}
	oldest(1, "a1", "b1")
	p.apply(submit("ann", "w4"), admitted("w4"), delayed("w4"))
	oldest(1, "a1", "b1", "a2")
}

// A user whose next task exceeds the user's own limit does not wait for the total limit.
func TestTheTotalIsForWhoeverIsNotHeldBack(t *testing.T) {
	p := limited(t, limits(2, 1, 0), slices.Concat(
		[]task.Command{submit("ann", "a1"), admitted("a1"), applied(taskKey("a1"), "u"), submit("ann", "a2")},
		[]task.Command{submit("bob", "b1"), submit("bob", "b2")},
	)...)
	if d, _ := p.TaskAnswer("ann", "a2", 0); d.Reason != task.ReasonMaxUserJobs {
		t.Errorf("ann's second task waits for %s", d.Reason)
	}
	if d, _ := p.TaskAnswer("bob", "b2", 0); d.Reason != task.ReasonBacklog {
		t.Errorf("bob's second task waits for %s", d.Reason)
	}
}
