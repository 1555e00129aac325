package state

import (
	"reflect"
	"strings"
	"time"
	"unique"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/outputs"
)

// A CompactRecord is a task.Record in a third of its size. Once its Jobs exist, most of a task
// is no longer needed, and there may be hundreds of thousands of tasks. A CompactRecord is
// immutable, like a Record.
type CompactRecord struct {
	ID        string
	Order     uint64 // position among all submissions
	CreatedAt time.Time

	user, image, phase  unique.Handle[string]
	listed              unique.Handle[listedSpec]
	name, hash, key     string
	reason, message     string
	nodes, choice       int
	cleanedUp, admitted bool
	adopted             bool
	seq, endSeq         uint64
	updatedAt           time.Time
	claims              map[string]string
	uids                []string
	nodeStates          []task.Node
	extra               *extra       // nil for most tasks
	full                *task.Record // set while the submission has further fields, until the Jobs exist
}

// extra holds what few tasks have: when their nodes are restarted, which attempts ended, for how
// long the task may run, since when the task runs, which URL gets its phase changes, its job group,
// when the task ends with it, its outputs, and its annotations.
type extra struct {
	recovery    task.Recovery
	attempts    []task.Attempt
	maxDuration string
	startedAt   time.Time
	callback    unique.Handle[string]
	jobGroup    *task.JobGroup
	stopAt      time.Time
	paths       []string // of the outputs
	outputs     []outputs.Record
	annotations map[string]string
}

// A listedSpec holds the parts of a submission that lists show or filter by, or that the usage
// depends on. Many tasks share one.
type listedSpec struct {
	accelerators string
	cpus, memory string // for the usage
	ports        string // separated by commas
	labels       LabelSet
	group        string
	failFast     bool
}

var nothingListed = unique.Make(listedSpec{})

func listedSpecOf(c *task.Submit) unique.Handle[listedSpec] {
	r, custom := &c.Task.Resources, c.Task.Config.Kubernetes.CustomMetadata.Labels
	if len(r.AnyOf)+len(r.Ordered) > 0 {
		r = new(c.Resources())
	}
	if r.Accelerators == "" && r.CPUs == "" && r.Memory == "" && len(r.Ports) == 0 && c.Group == "" && !c.FailFast && len(r.Labels)+len(custom) == 0 { // the most frequent case
		return nothingListed
	}
	return unique.Make(listedSpec{r.Accelerators, r.CPUs, r.Memory, strings.Join(r.Ports, ","), labelsOf(r.Labels, custom), c.Group, c.FailFast})
}

// resources returns the resources that dropSpec retains.
func (l listedSpec) resources() task.Resources {
	r := task.Resources{Accelerators: l.accelerators, CPUs: l.cpus, Memory: l.memory, Labels: l.labels.Map()}
	if l.ports != "" {
		r.Ports = strings.Split(l.ports, ",")
	}
	return r
}

// compact returns the compact form of a record; r must not change afterwards.
func compact(r *task.Record) *CompactRecord {
	c := &r.Submit
	t := &CompactRecord{
		ID: c.ID, Order: r.Order, CreatedAt: r.CreatedAt,
		user: unique.Make(c.User), image: unique.Make(c.Image), phase: unique.Make(string(r.Phase)), listed: listedSpecOf(c),
		name: c.Task.Name, hash: r.Hash, key: c.Key, reason: r.Reason, message: r.Message,
		nodes: c.Task.NumNodes, choice: c.Choice, cleanedUp: r.CleanedUp, admitted: r.Admitted, adopted: r.Adopted, seq: r.Seq, endSeq: r.EndSeq, updatedAt: r.UpdatedAt, claims: r.Claims, uids: r.UIDs, nodeStates: r.Nodes,
	}
	if recovery := c.Task.Resources.JobRecovery; recovery.MayRestart() || len(r.Attempts) > 0 || c.Task.MaxDuration != "" || c.Task.EventCallback != "" || c.JobGroup != nil || len(c.Task.Outputs)+len(c.Task.Annotations) > 0 {
		t.extra = &extra{recovery, r.Attempts, c.Task.MaxDuration, r.StartedAt, unique.Make(c.Task.EventCallback), c.JobGroup, r.StopAt, c.Task.Outputs, r.Outputs, c.Task.Annotations}
	}
	if !fitsCompact(c) || len(r.WaitsFor) > 0 || r.Held {
		t.full = r
	}
	return t
}

// fitsCompact reports whether a submission has only the fields that a CompactRecord stores.
func fitsCompact(c *task.Submit) bool {
	if c.Task.Run != "" {
		return false // the most frequent case, checked without reflection
	}
	rest := *c
	rest.ID, rest.User, rest.Image, rest.Choice, rest.Key, rest.Group, rest.FailFast = "", "", "", 0, "", "", false
	rest.Task.Name, rest.Task.NumNodes, rest.Task.MaxDuration, rest.Task.EventCallback, rest.JobGroup, rest.Task.Outputs = "", 0, "", "", nil, nil
	rest.Task.Resources.Accelerators, rest.Task.Resources.CPUs, rest.Task.Resources.Memory = "", "", ""
	if strings.Join(rest.Task.Resources.Ports, "") != "" {
		rest.Task.Resources.Ports = nil
	}
	if len(rest.Task.Annotations) > 0 {
		rest.Task.Annotations = nil
	}
	if len(rest.Task.Resources.Labels) > 0 {
		rest.Task.Resources.Labels = nil
	}
	if rest.Task.Resources.JobRecovery.MayRestart() {
		rest.Task.Resources.JobRecovery = task.Recovery{}
	}
	return reflect.ValueOf(&rest).Elem().IsZero()
}

// Record returns the record; callers must not change it.
func (t *CompactRecord) Record() *task.Record {
	if t == nil {
		return nil
	}
	if t.full != nil {
		return t.full
	}
	r := &task.Record{
		Hash: t.hash, Seq: t.seq, Order: t.Order, CreatedAt: t.CreatedAt, UpdatedAt: t.updatedAt, EndSeq: t.endSeq,
		Claims: t.claims, UIDs: t.uids, Phase: t.Phase(), Nodes: t.nodeStates, Reason: t.reason, Message: t.message, CleanedUp: t.cleanedUp, Admitted: t.admitted, Adopted: t.adopted,
	}
	r.Submit = task.Submit{ID: t.ID, User: t.User(), Image: t.image.Value(), Choice: t.choice, Key: t.key, Group: t.Group(), FailFast: t.listed.Value().failFast}
	r.Submit.Task.Name, r.Submit.Task.NumNodes, r.Submit.Task.Resources = t.name, t.nodes, t.listed.Value().resources()
	if t.extra != nil {
		r.Submit.Task.Resources.JobRecovery, r.Attempts = t.extra.recovery, t.extra.attempts
		r.Submit.Task.MaxDuration, r.StartedAt = t.extra.maxDuration, t.extra.startedAt
		r.Submit.Task.EventCallback = t.extra.callback.Value()
		r.Submit.JobGroup, r.StopAt = t.extra.jobGroup, t.extra.stopAt
		r.Submit.Task.Outputs, r.Outputs, r.Submit.Task.Annotations = t.extra.paths, t.extra.outputs, t.extra.annotations
	}
	return r
}

// Restarts returns how often the nodes of the task were restarted, of all nodes together.
func (t *CompactRecord) Restarts() (count int) {
	if t.extra == nil {
		return 0
	}
	latest := map[int]int{} // number of the latest ended attempt, by rank
	for _, a := range t.extra.attempts {
		count += max(a.Number-latest[a.Rank], 0)
		latest[a.Rank] = max(a.Number, latest[a.Rank])
	}
	return count
}

// User returns the user of the task.
func (t *CompactRecord) User() string { return t.user.Value() }

// Phase returns the latest phase in the log.
func (t *CompactRecord) Phase() task.Phase { return task.Phase(t.phase.Value()) }

// Name returns the display name of the task.
func (t *CompactRecord) Name() string { return task.DisplayName(t.name, t.ID) }

// Applied reports whether all Jobs of the task were created.
func (t *CompactRecord) Applied() bool { return t.uids != nil }

// Admitted reports whether the task may have Jobs.
func (t *CompactRecord) Admitted() bool { return t.admitted }

// NumNodes returns the number of nodes of the task.
func (t *CompactRecord) NumNodes() int { return max(t.nodes, 1) }

// Waits reports whether the task waits for other tasks, and therefore may not be admitted.
func (t *CompactRecord) Waits() bool {
	return t.full != nil && (len(t.full.WaitsFor) > 0 || t.full.Held)
}

// Held reports whether the task waits because its group has reached the max_parallel of the task.
func (t *CompactRecord) Held() bool { return t.full != nil && t.full.Held }

// WaitsSince returns when a task that is not admitted began to wait for its admission: the time
// of its submission, or, if later is true, of the end of the tasks that it waited for.
func (t *CompactRecord) WaitsSince() (since time.Time, later bool) {
	if t.full != nil && len(t.full.Submit.After)+len(t.full.Submit.AfterAny)+t.full.Submit.MaxParallel > 0 {
		return t.updatedAt, true
	}
	return t.CreatedAt, false
}

// Reason returns why the task failed or is blocked.
func (t *CompactRecord) Reason() string { return t.reason }

// UpdatedAt returns the log time of the last change of the task.
func (t *CompactRecord) UpdatedAt() time.Time { return t.updatedAt }

// EndSeq returns the sequence of the entry with which the task ended, 0 before.
func (t *CompactRecord) EndSeq() uint64 { return t.endSeq }

// Seq returns the sequence of the entry with the submission.
func (t *CompactRecord) Seq() uint64 { return t.seq }

// Hash returns the hash of the submission.
func (t *CompactRecord) Hash() string { return t.hash }

// Accelerators returns the GPUs that each node of the task requests, as submitted.
func (t *CompactRecord) Accelerators() string { return t.listed.Value().accelerators }

// Group returns the name of the group of the task, "" if it has none.
func (t *CompactRecord) Group() string { return t.listed.Value().group }

// Labels returns the labels that the user gave the task.
func (t *CompactRecord) Labels() LabelSet { return t.listed.Value().labels }

// Annotations returns the annotations of the task; callers must not change them.
func (t *CompactRecord) Annotations() map[string]string {
	if t.extra == nil {
		return nil
	}
	return t.extra.annotations
}

// Started returns when the first node began to run, the zero time if the log does not say so.
func (t *CompactRecord) Started() (first time.Time) {
	for i := range t.nodeStates {
		if at := t.nodeStates[i].StartedAt; at != nil && (first.IsZero() || at.Before(first)) {
			first = *at
		}
	}
	return first
}

// Ended returns the log time at which the task was over, the zero time before.
func (t *CompactRecord) Ended() time.Time {
	if !t.Phase().Over() {
		return time.Time{}
	}
	return t.updatedAt
}

// Claims returns the claims that the task mounts, by the names of its volumes; nil until they
// are resolved.
func (t *CompactRecord) Claims() map[string]string { return t.claims }

// Node returns the UID of the Job of a rank, and the state of that node in the log; either may
// be empty.
func (t *CompactRecord) Node(rank int) (uid string, n task.Node) {
	if rank < len(t.uids) {
		uid = t.uids[rank]
	}
	if rank < len(t.nodeStates) {
		n = t.nodeStates[rank]
	}
	return uid, n
}

// CleanedUp reports whether the task is over and nothing of it is left in the cluster.
func (t *CompactRecord) CleanedUp() bool { return t.cleanedUp }

// updated returns a copy with another time of the last change. CreatedAt is lowered to at if
// it is later.
func (t *CompactRecord) updated(at time.Time) *CompactRecord {
	r := *t.Record()
	r.UpdatedAt = at
	if r.CreatedAt.After(at) {
		r.CreatedAt = at
	}
	return compact(&r)
}
