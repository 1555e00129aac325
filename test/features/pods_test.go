package features

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s-cli/pkg/client"
	"k8s-cli/pkg/task"
	"k8s-cli/test/testkit"
)

// external starts an external NATS with JetStream and returns its address.
func external(t *testing.T) string {
	t.Helper()
	need(t)
	return testkit.RunNATS(t, t.TempDir(), 0).ClientURL()
}

// startTwo runs two servers on one namespace and one log.
func startTwo(t *testing.T) (a, b *server) {
	t.Helper()
	a = start(t, "--nats-url", external(t))
	return a, a.again(t)
}

// idle is a task that never gets a Job: it waits for a volume.
const idle = "run: true\nvolumes: {/data: nowhere}"

// Every server shows what another server has accepted, in the next read.
func TestReadYourWritesAcrossPods(t *testing.T) {
	t.Parallel()
	a, b := startTwo(t)
	const name, pairs = "ann@example.com", 200
	here, there := a.as(t, name), b.as(t, name)
	shows := func(what, path, want string) {
		t.Helper()
		var got answer
		testkit.Eventually(t, time.Minute, there.url+" answers with what is current", func() (string, bool) {
			got = there.get(t, name, path)
			stale := got.header.Get("X-Stale") // while the machine is too slow for the pod to confirm the end of the log
			return stale, stale == ""
		})
		if !strings.Contains(string(got.body), want) {
			t.Fatalf("%s is accepted here, there %s lacks %s: %d %.500s", what, path, want, got.code, got.body)
		}
		here, there = there, here
	}
	var ids []string
	for i := range pairs {
		id := here.submit(t, idle)
		ids = append(ids, id)
		shows(fmt.Sprint("task ", i), "/tasks/"+id+[]string{"", "/events"}[i%2], `"task_id":"`+id+`"`)
	}
	for i := range pairs {
		id := here.submit(t, idle)
		ids = append(ids, id)
		what := fmt.Sprint("task ", pairs+i)
		switch i % 3 {
		case 0:
			shows(what, "/tasks?limit=1", `"task_id":"`+id+`"`)
		case 1:
			shows(what, "/tasks?view=row&sort=-created&limit=1", id)
		case 2:
			shows(what, "/summary", fmt.Sprintf(`"total":%d`, len(ids)))
		}
	}
	slices.Reverse(ids)
	for _, u := range []*user{here, there} {
		if got := u.tasks(t); !slices.Equal(got, ids) {
			t.Errorf("of %d tasks in order, %s lists %v", len(ids), u.url, got)
		}
	}
	for i, id := range ids[:pairs] {
		here.stop(t, id)
		shows(fmt.Sprint("stop ", i), "/tasks/"+id+[]string{"", "/events"}[i%2], `"status":"stopped"`)
	}
	for i := range pairs {
		v, err := here.CreateVolume(t.Context(), task.Volume{Name: "v", Size: "1Gi", StorageClass: new("nobody-provides")})
		if err != nil {
			t.Fatalf("create volume %d: %v", i, err)
		}
		shows(fmt.Sprint("volume ", i), "/volumes/"+v.ID, `"volume_id":"`+v.ID+`"`)
		if _, err := here.DeleteVolume(t.Context(), v.ID); err != nil {
			t.Fatalf("delete volume %d: %v", i, err)
		}
		shows(fmt.Sprint("deletion ", i), "/volumes/"+v.ID, "Volume "+v.ID+" not found")
	}
}

func TestAnyPodStopsAnyTask(t *testing.T) {
	t.Parallel()
	a, b := startTwo(t)
	here, there := a.as(t, "ann"), b.as(t, "ann")
	first, second := here.submit(t, "num_nodes: 2\n"+yaml("run", endless)), there.submit(t, yaml("run", endless))
	log := there.follow(t, first, client.LogOptions{})
	log.awaitText(t, "node-0 | begun\n")
	log.awaitText(t, "node-1 | begun\n")
	there.stop(t, first)
	here.wantPhase(t, first, task.Stopped, "here, after a stop there")
	log.rest(t)
	if got, err := here.StopAll(t.Context(), false); err != nil || got.Count != 1 {
		t.Errorf("stop all: %+v, %v, want one task", got, err)
	}
	there.wantPhase(t, second, task.Stopped, "there, after a stop here")
	here.awaitNothing(t, first)
	here.awaitNothing(t, second)
}

// leads waits until one of the servers leads. leads returns the leader and the other
// servers.
func leads(t *testing.T, servers ...*server) (leader *server, others []*server) {
	t.Helper()
	eventually(t, "one server leads", func() (string, bool) {
		leader, others = nil, nil
		for _, s := range servers {
			if decode[struct{ Leading bool }](t, s.get(t, "", "/readyz")).Leading {
				leader = s
			} else {
				others = append(others, s)
			}
		}
		return fmt.Sprintf("%d do not", len(others)), len(others) == len(servers)-1
	})
	return leader, others
}

func TestTakeoverAfterLeaderDies(t *testing.T) {
	t.Parallel()
	a, b := startTwo(t)
	leader, others := leads(t, a, b)
	gate := newGate(t, a.cluster)
	ann := others[0].as(t, "ann")
	before := ann.submit(t, "envs: {GATE: "+gate.url+"}\nrun: wget -qO- $GATE/before")
	gate.await(t, "/before", 1)
	waits := ann.submit(t, idle)

	leader.process.Kill()
	id := ann.submit(t, "run: echo after")
	begin := time.Now()
	ann.awaitJobs(t, id, 1)
	if took := time.Since(begin); took > 15*time.Second {
		t.Errorf("the next task was applied %s after the leader had died", took)
	}
	ann.await(t, id, task.Completed)
	gate.opens()
	ann.await(t, before, task.Completed)
	if n := gate.count("/before"); n != 1 {
		t.Errorf("the task that ran when the leader died ran %d times", n)
	}
	ann.stop(t, waits)

	third := leader.again(t)
	if got, want := third.as(t, "ann").tasks(t), ann.tasks(t); !slices.Equal(got, want) {
		t.Errorf("a server that comes later lists %v, want %v", got, want)
	}
}

// A leader that receives SIGTERM releases its Lease, so that another server leads before the
// Lease expires.
func TestTakeoverAfterLeaderEnds(t *testing.T) {
	t.Parallel()
	a, b := startTwo(t)
	leader, others := leads(t, a, b)
	leader.process.terminate(t)
	if code := leader.process.exit(t); code != 0 {
		t.Errorf("after SIGTERM the exit code is %d", code)
	}
	ann := others[0].as(t, "ann")
	ann.run(t, "run: echo after")
	leads(t, others...)
}
