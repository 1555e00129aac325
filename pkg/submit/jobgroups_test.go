package submit

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"k8s-cli/pkg/task"
)

// submitGroup submits a job group and admits it. The tasks have the nodes of the argument nodes. The
// first task is primary and the others are auxiliary, with a delay in seconds.
func (w *testCluster) submitGroup(name string, delay int, nodes ...int) (ids []string) {
	w.t.Helper()
	return w.submitGroupWith(name, delay, func(*task.Submit) {}, nodes...)
}

// submitGroupWith is submitGroup with a change of each submission.
func (w *testCluster) submitGroupWith(name string, delay int, change func(*task.Submit), nodes ...int) (ids []string) {
	w.t.Helper()
	jobs := 0
	for _, n := range nodes {
		jobs += n
	}
	var commands []task.Command
	for i, n := range nodes {
		ids = append(ids, fmt.Sprint(name, i))
		s := &task.Submit{
			ID: ids[i], User: "ann", Image: "python", Task: task.Spec{Name: fmt.Sprint("t", i), NumNodes: n, Run: "true"},
			JobGroup: &task.JobGroup{ID: ids[0], Name: name, Index: i, Tasks: len(nodes), Jobs: jobs, Primary: i == 0, Delay: delay},
		}
		if i == 0 {
			s.Together = len(nodes)
		}
		change(s)
		commands = append(commands, task.Command{Submit: s})
	}
	results, err := w.log.AppendTogether(commands...)
	if err != nil || results[0].Rejection != "" {
		w.t.Fatalf("submit a job group: %+v, %v", results, err)
	}
	w.appendAlone(task.Command{Admitted: &task.Admitted{IDs: ids[:1]}})
	return ids
}

// The first task creates all Jobs of a job group, and no Job is resumed before all exist.
func TestTheFirstTaskStartsItsJobGroup(t *testing.T) {
	w := newTestCluster(t)
	ids := w.submitGroup("g", 0, 1, 2, 1)
	w.watch()
	w.must(ids[1])
	if len(w.jobsByName()) != 0 {
		t.Fatal("a task that is not the first has created Jobs")
	}
	w.failing("create", "jobs", 1, errors.New("connection refused"))
	if _, err := w.step(ids[0]); err == nil {
		t.Fatal("no error")
	}
	for _, id := range ids {
		if r := w.record(id); r.Reason != "APIServerUnavailable" {
			t.Errorf("task %s says %q", id, r.Reason)
		}
	}
	w.must(ids[0], "applied", "applied", "applied")
	jobs := w.jobsByName()
	for name, job := range jobs {
		if !suspended(job) {
			t.Errorf("Job %s is created running", name)
		}
	}
	for _, id := range ids {
		v := w.await(id, "Jobs", func(v task.View) bool { return !slices.Contains(v.Jobs, nil) })
		w.must(id)
		for _, name := range v.JobNames() {
			if suspended(w.jobsByName()[name]) {
				t.Errorf("Job %s is not resumed", name)
			}
		}
	}
	if len(jobs) != 4 {
		t.Errorf("%d Jobs", len(jobs))
	}
}

// A controller that ends between two facts leaves tasks with and without Applied. No Job runs before
// the next controller has come to the first task.
func TestJobGroupAfterItsControllerEnded(t *testing.T) {
	w := newTestCluster(t)
	ids := w.submitGroup("g", 0, 1, 1)
	w.place(jobsOf(w.record(ids[0]))...)
	w.place(jobsOf(w.record(ids[1]))...)
	w.watch()
	name := w.record(ids[1]).JobNames()[0]
	w.appendAlone(task.Command{Applied: &task.Applied{Key: taskKey(ids[1]), UIDs: []string{"placed/" + name}}})
	w.await(ids[1], "Job", func(v task.View) bool { return v.Jobs[0] != nil })
	w.must(ids[1])
	if !suspended(w.jobsByName()[name]) {
		t.Error("a Job runs before all tasks of the job group have their Jobs")
	}
	w.must(ids[0], "applied")
	w.must(ids[1])
	if suspended(w.jobsByName()[name]) {
		t.Error("the Job is not resumed")
	}
}

// A quota that admits only some Jobs of two job groups starts one after the other, and each as a
// whole.
func TestJobGroupsShareAQuota(t *testing.T) {
	for name, message := range map[string]string{"with numbers": quotaWithNumbers, "without": quotaWithout} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newTestCluster(t)
				ids := slices.Concat(w.submitGroup("g", 0, 1, 4, 2), w.submitGroup("h", 0, 3, 3), []string{w.submit("single", 8).Submit.ID})
				w.place(jobsOf(w.record("g1"))[:3]...)
				w.place(jobsOf(w.record("h0"))[:2]...)
				w.quotaOf(10, message)
				w.watch()
				w.run()
				w.complete("g0", "h0", "single") // which ends the auxiliary tasks
				for _, id := range ids {
					w.await(id, "end", func(v task.View) bool { return v.Phase == task.Completed })
				}
			})
		})
	}
}

// A quota that is too small for the job group starts none of its tasks, and says so in all of them.
func TestAQuotaThatIsTooSmallForAJobGroup(t *testing.T) {
	w := newTestCluster(t)
	ids := w.submitGroup("g", 0, 2, 2)
	w.quotaOf(3, quotaWithNumbers)
	w.watch()
	for range 2 {
		if _, err := w.step(ids[0]); err == nil {
			t.Fatal("no error")
		}
	}
	w.must(ids[1])
	for name, job := range w.jobsByName() {
		if !suspended(job) {
			t.Errorf("Job %s runs", name)
		}
	}
	for _, id := range ids {
		if r := w.record(id); r.Reason != reasonQuota || !strings.Contains(r.Message, "count/jobs.batch=3") {
			t.Errorf("task %s says %s: %s", id, r.Reason, r.Message)
		}
	}
	w.stop(ids[1])
	for _, id := range ids {
		if r := w.record(id); r.Phase != task.Stopped {
			t.Errorf("after a stop of one task, %s is %s", id, r.Phase)
		}
	}
}

// Each pod gets the names of its own job group, once all pods have an address, and all pods get the
// new address of a node that starts again.
func TestNamesOfAJobGroupArePublished(t *testing.T) {
	w := newTestCluster(t)
	ids := w.submitGroup("rlhf", 0, 1, 2)
	w.watch()
	w.must(ids[0], "applied", "applied")
	jobs := slices.Concat(w.record(ids[0]).JobNames(), w.record(ids[1]).JobNames())
	for i, job := range jobs {
		w.change(job, func(j *batchv1.Job) { j.Spec.Suspend = new(false) })
		w.startPod(job)
		id, rank := ids[min(i, 1)], max(i-1, 0)
		w.await(id, "pod", func(v task.View) bool { return v.Pods[rank] != nil })
		w.addressOf(id, job, fmt.Sprint("10.0.0.", i+1))
		for _, id := range ids { // the task whose pod changed enqueues the others
			if _, err := w.step(id); err != nil {
				t.Fatal(err)
			}
		}
		if got := w.pod(jobs[0]).Annotations[task.AnnotationGroupHosts]; (got != "") != (i == 2) {
			t.Errorf("after %d pods, the first one was told %q", i+1, got)
		}
	}
	for _, job := range jobs {
		if got := w.pod(job).Annotations[task.AnnotationGroupHosts]; got != "10.0.0.1 t0-0.rlhf\n10.0.0.2 t1-0.rlhf\n10.0.0.3 t1-1.rlhf\n" {
			t.Errorf("the pod of %s was told %q", job, got)
		}
	}
}

// The controller ends an auxiliary task when its delay has passed, and deletes its Job at once.
func TestAnAuxiliaryTaskEnds(t *testing.T) {
	w := newTestCluster(t)
	ids := w.submitGroup("g", 30, 1, 1)
	w.watch()
	w.must(ids[0], "applied", "applied")
	w.await(ids[1], "Job", func(v task.View) bool { return v.Jobs[0] != nil })
	w.appendAlone(task.Command{Ended: &task.Ended{ID: ids[0], Phase: task.Completed}})
	w.log.Now = time.Now // the entries so far were stored a minute ago
	w.must(ids[1], "ended")
	if r := w.record(ids[1]); r.Phase != task.Completed || r.Reason != task.ReasonPrimariesDone || r.Message != "the primary tasks of job group g have completed, and the termination_delay of 30s has passed" {
		t.Errorf("%s, %s: %s", r.Phase, r.Reason, r.Message)
	}
	_, _ = w.step(ids[1])
	if _, left := w.jobsByName()[w.record(ids[1]).JobNames()[0]]; left {
		t.Error("the Job of the auxiliary task still exists")
	}
}

// startedGroup returns the ids of a job group whose tasks of one node have pods with addresses.
func (w *testCluster) startedGroup(tasks int) (ids []string) {
	w.t.Helper()
	ids = w.submitGroup("g", 0, slices.Repeat([]int{1}, tasks)...)
	w.watch()
	if _, err := w.step(ids[0]); err != nil {
		w.t.Fatal(err)
	}
	for i, id := range ids {
		job := w.record(id).JobNames()[0]
		w.change(job, func(j *batchv1.Job) { j.Spec.Suspend = new(false) })
		w.startPod(job)
		w.await(id, "pod", func(v task.View) bool { return v.Pods[0] != nil })
		w.addressOf(id, job, fmt.Sprint("10.0.0.", i+1))
	}
	return ids
}

// Each task writes to its own pods, so that n tasks send n patches, whatever order they are in.
func TestNamesOfAJobGroupArePublishedOnce(t *testing.T) {
	w := newTestCluster(t)
	ids := w.startedGroup(20)
	w.calls()
	var all sync.WaitGroup
	for range 3 {
		for _, id := range ids {
			all.Go(func() { _, _ = w.reconcile(t.Context(), taskKey(id)) })
		}
		all.Wait()
	}
	patches := 0
	for _, c := range w.calls() {
		if strings.HasPrefix(c, "patch ") && strings.HasSuffix(c, "-pod") {
			patches++
		}
	}
	if patches < len(ids) || patches > 2*len(ids) {
		t.Errorf("%d patches for %d tasks", patches, len(ids))
	}
}

// Addresses that a former leader has written late are written again.
func TestLateNamesOfAJobGroupAreReplaced(t *testing.T) {
	w := newTestCluster(t)
	ids := w.startedGroup(2)
	const want = "10.0.0.1 t0-0.g\n10.0.0.2 t1-0.g\n"
	job := w.record(ids[0]).JobNames()[0]
	for _, late := range []string{"", "10.0.0.9 t0-0.g\n10.0.0.2 t1-0.g\n"} {
		w.changePod(job, func(p *corev1.Pod) { p.Annotations = map[string]string{task.AnnotationGroupHosts: late} })
		w.await(ids[0], "annotation", func(v task.View) bool { return v.Pods[0].GroupHosts == task.HashOf(late) })
		w.publications.all = nil // written long ago
		if _, err := w.step(ids[0]); err != nil {
			t.Fatal(err)
		}
		if got := w.pod(job).Annotations[task.AnnotationGroupHosts]; got != want {
			t.Errorf("after %q: %q", late, got)
		}
	}
}

// Tasks of a job group cannot share a volume that only one pod can mount.
func TestAJobGroupThatSharesAVolume(t *testing.T) {
	w := newTestCluster(t)
	w.appendAlone(task.Command{Create: &task.Create{ID: "v", User: "ann", Volume: task.Volume{Name: "data", Size: "1Gi", AccessModes: []string{"ReadWriteOncePod"}}}})
	w.appendAlone(task.Command{Applied: &task.Applied{Key: task.Key{Kind: task.KindVolume, ID: "v"}, UIDs: []string{"c"}}})
	ids := w.submitGroupWith("g", 0, func(s *task.Submit) { s.Task.Volumes = map[string]string{"/data": "data"} }, 1, 1)
	w.watch()
	w.must(ids[0], "rejected")
	if r := w.record(ids[0]); r.Phase != task.Failed || r.Reason != task.ReasonUnshared || !strings.Contains(r.Message, "the job group has 2 nodes that mount it") {
		t.Errorf("%s, %s: %s", r.Phase, r.Reason, r.Message)
	}
	if r := w.record(ids[1]); r.Phase != task.Stopped {
		t.Errorf("the other task is %s", r.Phase)
	}
}

// A task whose Jobs have their facts needs no Service any more.
func TestAJobGroupGoesOnAfterACrash(t *testing.T) {
	w := newTestCluster(t)
	ids := w.submitGroup("g", 0, 1, 2)
	w.place(jobsOf(w.record(ids[0]))...)
	w.place(jobsOf(w.record(ids[1]))...)
	w.watch()
	names := w.record(ids[1]).JobNames()
	w.appendAlone(task.Command{Applied: &task.Applied{Key: taskKey(ids[1]), UIDs: []string{"placed/" + names[0], "placed/" + names[1]}}})
	w.failing("create", "services", -1, apierrors.NewForbidden(services, "s", errors.New("denied by a webhook")))
	w.must(ids[0], "applied")
}

// A server whose log was lost adopts a job group as a job group, and starts it as a whole.
func TestAJobGroupIsAdopted(t *testing.T) {
	for _, missing := range []bool{false, true} {
		old := newTestCluster(t)
		ids := old.submitGroup("g", 0, 1, 1)
		w := newTestCluster(t)
		for i, id := range ids {
			if i == 0 || !missing {
				w.place(jobsOf(old.record(id))...)
			}
		}
		w.watch()
		for range 3 {
			for _, id := range ids {
				if _, err := w.step(id); err != nil {
					t.Fatal(err)
				}
			}
		}
		r := w.record(ids[0])
		if r == nil || r.Submit.JobGroup == nil || r.Submit.JobGroup.Tasks != 2 {
			t.Fatalf("the first task: %+v", r)
		}
		for name, j := range w.jobsByName() {
			if suspended(j) != missing {
				t.Errorf("Job %s is suspended: %t, and a Job is missing: %t", name, suspended(j), missing)
			}
		}
	}
}

// An adopted task that never started ends if the Jobs of its job group are not all there. A task that
// has started goes on, because the other tasks may have left the history.
func TestAnAdoptedTaskWithoutItsJobGroup(t *testing.T) {
	for _, started := range []bool{false, true} {
		old := newTestCluster(t)
		ids := old.submitGroup("g", 0, 1, 1)
		w := newTestCluster(t)
		w.log.Now = func() time.Time { return time.Now().Add(-2 * adoptionWait) }
		job := jobsOf(old.record(ids[0]))[0]
		job.Spec.Suspend = new(!started)
		w.place(job)
		w.watch()
		w.must(ids[0], "adopted")
		w.await(ids[0], "Job", func(v task.View) bool { return v.Jobs[0] != nil })
		if _, err := w.step(ids[0]); err != nil {
			t.Fatal(err)
		}
		if r := w.record(ids[0]); r.Phase.Over() == started {
			t.Errorf("started %t: the task is %s, %s: %s", started, r.Phase, r.Reason, r.Message)
		}
	}
}
