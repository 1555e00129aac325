package cache

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s-cli/pkg/cache/convert"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/attempt"
	"k8s-cli/pkg/task/gpu"
	"k8s-cli/pkg/task/query"
	"k8s-cli/test/testkit"
	"k8s-cli/test/testkit/must"
)

// seeds returns the number of seeds of a test, which is a tenth of all under -short.
func seeds(all uint64) uint64 {
	if testing.Short() {
		return max(all/10, 1)
	}
	return all
}

const testTimeout = 20 * time.Second // limit of one wait, as in testkit.WithPatience

var noon = time.Date(2025, 10, 5, 12, 0, 0, 0, time.UTC)

// taskText returns the few fields that the tests compare.
func taskText(v task.View) string {
	text := fmt.Sprintf("%s of %s: %s", v.Submit.ID, v.Submit.User, v.CurrentPhase())
	if len(v.Missing) > 0 {
		text += " without " + strings.Join(v.Missing, ", ")
	}
	return text
}

func volumeText(v task.VolumeView) string {
	text := fmt.Sprintf("%s of %s", v.Create.ID, v.Create.User)
	if v.Claim != nil {
		text += ": " + v.Claim.Phase
	}
	return text
}

// A testStore is a store together with the log that it folds.
type testStore struct {
	*Store
	t   *testing.T
	seq uint64
	log []task.Command
}

func newTestStore(t *testing.T, commands ...task.Command) *testStore {
	t.Helper()
	p := &testStore{Store: New(), t: t}
	p.apply(commands...)
	return p
}

// apply folds commands, a second apart.
func (p *testStore) apply(commands ...task.Command) {
	p.t.Helper()
	for _, c := range commands {
		p.log = append(p.log, c)
		p.fold(c)
	}
}

func (p *testStore) fold(c task.Command) {
	p.t.Helper()
	p.foldAt(noon.Add(time.Duration(p.seq+1)*time.Second), c)
}

// foldAt folds a command that was stored at a given time.
func (p *testStore) foldAt(at time.Time, c task.Command) {
	p.t.Helper()
	if results := p.foldTogether(at, c); len(results) != 1 || results[0].Rejection != "" {
		p.t.Fatalf("fold %+v: %+v", c, results)
	}
}

// foldTogether folds commands as one entry that was stored at a given time.
func (p *testStore) foldTogether(at time.Time, commands ...task.Command) []task.Result {
	p.t.Helper()
	p.seq++
	e := task.Entry{Version: task.EntryVersion, Log: "log", Writer: "writer", Number: p.seq, Seq: p.seq, Time: at}
	for _, c := range commands {
		raw, err := c.Encode()
		must.Succeed(p.t, err)
		e.Commands = append(e.Commands, raw)
	}
	results, err := p.Fold(e)
	must.Succeed(p.t, err)
	return results
}

// The objects of the cluster, as the informers put them into the store.

func (p *testStore) putJob(j *task.Job)              { jobSink{p.Store}.Put(j) }
func (p *testStore) putPod(x *task.Pod)              { p.putObservedPod(&convert.Pod{Pod: x}) }
func (p *testStore) putObservedPod(x *convert.Pod)   { podSink{p.Store}.Put(x) }
func (p *testStore) putClaim(c *task.Claim)          { claimSink{p.Store}.Put(c) }
func (p *testStore) putK8sEvent(e *convert.K8sEvent) { k8sEventSink{p.Store, e.Kind}.Put(e) }

func (p *testStore) dropJob(id, name string) {
	jobSink{p.Store}.Drop(&task.Job{TaskID: id, Name: name})
}

func (p *testStore) dropPod(id, name string) {
	podSink{p.Store}.Drop(&convert.Pod{Pod: &task.Pod{TaskID: id, Name: name}})
}

func (p *testStore) dropClaim(name, id string) {
	claimSink{p.Store}.Drop(&task.Claim{Name: name, VolumeID: id})
}
func (p *testStore) dropK8sEvent(e *convert.K8sEvent) { k8sEventSink{p.Store, e.Kind}.Drop(e) }

// replayLog folds the log from its first entry, as after a reset.
func (p *testStore) replayLog() {
	p.t.Helper()
	p.seq = 0
	for _, c := range p.log {
		p.fold(c)
	}
}

func (p *testStore) view(id string) task.View { return p.TaskView(id) }

func noneEncoded(string, uint64) []byte { return nil }

// task returns the text of a task, "" if user has no such task.
func (p *testStore) task(user, id string) string {
	a, ok := p.TaskAnswer(user, id, 0)
	if !ok {
		return ""
	}
	return taskText(*a.View)
}

// volume returns the text of a volume, "" if user has no such volume.
func (p *testStore) volume(user, id string) string {
	v, ok := p.VolumeAnswer(user, id)
	if !ok {
		return ""
	}
	return volumeText(v)
}

// statusOf returns what users see of a task, as far as the tests compare it.
func statusOf(a Answer) task.Status {
	v := *a.View
	s := task.Status{ID: a.ID, Name: v.Name(), Phase: v.CurrentPhase(), CreatedAt: v.CreatedAt, UpdatedAt: v.Changed(), Username: task.Sanitized(v.Submit.User)}
	s.Metadata = task.Metadata{User: v.Submit.User, Group: v.Submit.Group, Nodes: v.NodeList(), Position: a.Position, Annotations: v.Submit.Task.Annotations}
	s.Metadata.NumNodes = len(s.Metadata.Nodes)
	why := v.Explain(s.Metadata.Nodes)
	s.Metadata.Reason, s.Metadata.Message = why.Reason, why.Message
	if a.Position > 0 {
		s.Metadata.Reason, s.Metadata.Message = a.Reason, a.Message
	}
	attempt.Describe(v, &s.Metadata)
	return s
}

// list returns the ids of the tasks that match q.
func (p *testStore) list(q task.Query) (ids []string, next uint64) {
	l := listOf(q)
	page := p.TaskAnswers(l, noneEncoded, func(a Answer) { ids = append(ids, a.ID) })
	if page.Next == "" {
		return ids, 0
	}
	l.Cursor = page.Next
	after, err := l.List(q.User, noon)
	must.Succeed(p.t, err)
	return ids, after.After.Order
}

// listOf returns the list of tasks with the filters of q.
func listOf(q task.Query) query.List {
	l := query.List{Caller: q.User, Tasks: query.Tasks{AllUsers: q.AllUsers, Name: q.Name, Limit: q.Limit}}
	if q.Phase != "" {
		l.Phases = []task.Phase{q.Phase}
	}
	if q.Before > 0 {
		l.After = &query.Position{Order: q.Before}
	}
	return l
}

func (p *testStore) volumes(user string, all bool) (ids []string) {
	ids, _ = p.listVolumes(task.Query{User: user, AllUsers: all})
	return ids
}

// listVolumes returns the ids of the volumes that match q.
func (p *testStore) listVolumes(q task.Query) (ids []string, next uint64) {
	views, next := p.VolumeAnswers(q)
	for _, v := range views {
		ids = append(ids, v.Create.ID)
	}
	return ids, next
}

// await blocks until reached returns true for the view of a task.
func (p *testStore) await(id, what string, reached func(task.View) bool) {
	p.t.Helper()
	ctx, cancel := testkit.WithPatience(p.t.Context(), testTimeout)
	defer cancel()
	for {
		v, changed := p.WatchTask(id)
		if reached(v) {
			return
		}
		if changed == nil {
			p.t.Fatalf("task %s is not in the store: no %s", id, what)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			p.t.Fatalf("task %s: no %s", id, what)
		}
	}
}

func at(second int) metav1.Time {
	return metav1.NewTime(noon.Add(time.Duration(second) * time.Second).In(time.FixedZone("east", 7200)))
}

// Short forms of the commands in these tests.

func taskKey(id string) task.Key   { return task.Key{Kind: task.KindTask, ID: id} }
func volumeKey(id string) task.Key { return task.Key{Kind: task.KindVolume, ID: id} }

func submit(user, id string) task.Command { return submitNodes(user, id, 1) }

func submitNodes(user, id string, nodes int) task.Command {
	return task.Command{Submit: &task.Submit{ID: id, User: user, Task: task.Spec{Name: "train", NumNodes: nodes, Run: "true"}}}
}

func mounting(user, id string, volumes ...string) task.Command {
	c := submit(user, id)
	c.Submit.Task.Volumes = map[string]string{}
	for i, v := range volumes {
		c.Submit.Task.Volumes[fmt.Sprintf("/mnt/%d", i)] = v
	}
	return c
}

func stop(user, id string) task.Command {
	return task.Command{Stop: &task.Stop{User: user, ID: id}}
}

func admitted(ids ...string) task.Command {
	return task.Command{Admitted: &task.Admitted{IDs: ids}}
}

func applied(k task.Key, uids ...string) task.Command {
	return task.Command{Applied: &task.Applied{Key: k, UIDs: uids}}
}

func create(user, id, name string) task.Command {
	return task.Command{Create: &task.Create{ID: id, User: user, Volume: task.Volume{Name: name, Size: "1Gi"}}}
}

func remove(user, id string) task.Command {
	return task.Command{Delete: &task.Delete{User: user, ID: id}}
}

func refused(k task.Key) task.Command {
	return task.Command{Rejected: &task.Rejected{Key: k, Reason: "Invalid"}}
}

func gone(k task.Key) task.Command { return task.Command{CleanedUp: &task.CleanedUp{Key: k}} }

// job returns the Job of a node, as the informers record it.
func job(c task.Command, rank int, phase task.Phase) *task.Job {
	s := c.Submit
	return &task.Job{
		Name: task.JobName(s.Task.Name, s.ID, rank, s.Task.Nodes()), UID: fmt.Sprintf("%s/%d", s.ID, rank),
		TaskID: s.ID, Rank: rank, User: s.User, Hash: s.Hash(), Phase: phase,
	}
}

// pod returns a pod of a Job, created the given number of seconds after noon.
func pod(j *task.Job, second int, phase task.Phase) *task.Pod {
	return &task.Pod{
		Name: fmt.Sprintf("%s-%d", j.Name, second), UID: fmt.Sprintf("%s/pod/%d", j.UID, second),
		TaskID: j.TaskID, Rank: j.Rank, JobUID: j.UID, Phase: phase, Created: noon.Add(time.Duration(second) * time.Second),
	}
}

// claim returns the claim of a volume.
func claim(c task.Command, phase string) *task.Claim {
	return &task.Claim{
		Name: task.ClaimName(c.Create.Volume.Name, c.Create.ID), UID: "uid", VolumeID: c.Create.ID, Ours: true,
		User: c.Create.User, Hash: c.Create.Hash(), Phase: phase,
	}
}

// changesOf collects the keys that a store reports as changed.
func changesOf(p *Store) func() []task.Key {
	var keys []task.Key
	p.OnChange(func(k task.Key) { keys = append(keys, k) })
	return func() []task.Key {
		sorted := keys
		keys = nil
		slices.SortFunc(sorted, func(a, b task.Key) int { return strings.Compare(a.String(), b.String()) })
		return sorted
	}
}

// newNode returns a machine with these allocatable resources.
func newNode(name, cpu, memory, gpus string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	n.Status.Allocatable = corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory), gpu.Nvidia: resource.MustParse(gpus),
	}
	return n
}
