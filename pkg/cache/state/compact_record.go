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
func (c *CompactRecord) Record() *task.Record {
	if c == nil {
		return nil
	}
	if c.full != nil {
		return c.full
	}
	r := &task.Record{
		Hash: c.hash, Seq: c.seq, Order: c.Order, CreatedAt: c.CreatedAt, UpdatedAt: c.updatedAt, EndSeq: c.endSeq,
		Claims: c.claims, UIDs: c.uids, Phase: c.Phase(), Nodes: c.nodeStates, Reason: c.reason, Message: c.message, CleanedUp: c.cleanedUp, Admitted: c.admitted, Adopted: c.adopted,
	}
	r.Submit = task.Submit{ID: c.ID, User: c.User(), Image: c.image.Value(), Choice: c.choice, Key: c.key, Group: c.Group(), FailFast: c.listed.Value().failFast}
	r.Submit.Task.Name, r.Submit.Task.NumNodes, r.Submit.Task.Resources = c.name, c.nodes, c.listed.Value().resources()
	if c.extra != nil {
		r.Submit.Task.Resources.JobRecovery, r.Attempts = c.extra.recovery, c.extra.attempts
		r.Submit.Task.MaxDuration, r.StartedAt = c.extra.maxDuration, c.extra.startedAt
		r.Submit.Task.EventCallback = c.extra.callback.Value()
		r.Submit.JobGroup, r.StopAt = c.extra.jobGroup, c.extra.stopAt
		r.Submit.Task.Outputs, r.Outputs, r.Submit.Task.Annotations = c.extra.paths, c.extra.outputs, c.extra.annotations
	}
	return r
}

// Restarts returns how often the nodes of the task were restarted, of all nodes together.
func (c *CompactRecord) Restarts() (count int) {
	if c.extra == nil {
		return 0
	}
	latest := map[int]int{} // number of the latest ended attempt, by rank
	for _, a := range c.extra.attempts {
		count += max(a.Number-latest[a.Rank], 0)
		latest[a.Rank] = max(a.Number, latest[a.Rank])
	}
	return count
}

// User returns the user of the task.
func (c *CompactRecord) User() string { return c.user.Value() }

// Phase returns the latest phase in the log.
func (c *CompactRecord) Phase() task.Phase { return task.Phase(c.phase.Value()) }

// Name returns the display name of the task.
func (c *CompactRecord) Name() string { return task.DisplayName(c.name, c.ID) }

// Applied reports whether all Jobs of the task were created.
func (c *CompactRecord) Applied() bool { return c.uids != nil }

// Admitted reports whether the task may have Jobs.
func (c *CompactRecord) Admitted() bool { return c.admitted }

// NumNodes returns the number of nodes of the task.
func (c *CompactRecord) NumNodes() int { return max(c.nodes, 1) }

// Waits reports whether the task waits for other tasks, and therefore may not be admitted.
func (c *CompactRecord) Waits() bool {
	return c.full != nil && (len(c.full.WaitsFor) > 0 || c.full.Held)
}

// Held reports whether the task waits because its group has reached the max_parallel of the task.
func (c *CompactRecord) Held() bool { return c.full != nil && c.full.Held }

// WaitsSince returns when a task that is not admitted began to wait for its admission: the time
// of its submission, or, if later is true, of the end of the tasks that it waited for.
func (c *CompactRecord) WaitsSince() (since time.Time, later bool) {
	if c.full != nil && len(c.full.Submit.After)+len(c.full.Submit.AfterAny)+c.full.Submit.MaxParallel > 0 {
		return c.updatedAt, true
	}
	return c.CreatedAt, false
}

// Reason returns why the task failed or is blocked.
func (c *CompactRecord) Reason() string { return c.reason }

// UpdatedAt returns the log time of the last change of the task.
func (c *CompactRecord) UpdatedAt() time.Time { return c.updatedAt }

// EndSeq returns the sequence of the entry with which the task ended, 0 before.
func (c *CompactRecord) EndSeq() uint64 { return c.endSeq }

// Seq returns the sequence of the entry with the submission.
func (c *CompactRecord) Seq() uint64 { return c.seq }

// Hash returns the hash of the submission.
func (c *CompactRecord) Hash() string { return c.hash }

// Accelerators returns the GPUs that each node of the task requests, as submitted.
func (c *CompactRecord) Accelerators() string { return c.listed.Value().accelerators }

// Group returns the name of the group of the task, "" if it has none.
func (c *CompactRecord) Group() string { return c.listed.Value().group }

// Labels returns the labels that the user gave the task.
func (c *CompactRecord) Labels() LabelSet { return c.listed.Value().labels }

// Annotations returns the annotations of the task; callers must not change them.
func (c *CompactRecord) Annotations() map[string]string {
	if c.extra == nil {
		return nil
	}
	return c.extra.annotations
}

// Started returns when the first node began to run, the zero time if the log does not say so.
func (c *CompactRecord) Started() (first time.Time) {
	for i := range c.nodeStates {
		if at := c.nodeStates[i].StartedAt; at != nil && (first.IsZero() || at.Before(first)) {
			first = *at
		}
	}
	return first
}

// Ended returns the log time at which the task was over, the zero time before.
func (c *CompactRecord) Ended() time.Time {
	if !c.Phase().Over() {
		return time.Time{}
	}
	return c.updatedAt
}

// Claims returns the claims that the task mounts, by the names of its volumes; nil until they
// are resolved.
func (c *CompactRecord) Claims() map[string]string { return c.claims }

// Node returns the UID of the Job of a rank, and the state of that node in the log; either may
// be empty.
func (c *CompactRecord) Node(rank int) (uid string, n task.Node) {
	if rank < len(c.uids) {
		uid = c.uids[rank]
	}
	if rank < len(c.nodeStates) {
		n = c.nodeStates[rank]
	}
	return uid, n
}

// Nodes returns the nodes in the log by rank, nil before they are in the log; callers must not change
// them.
func (c *CompactRecord) Nodes() []task.Node { return c.nodeStates }

// CleanedUp reports whether the task is over and nothing of it is left in the cluster.
func (c *CompactRecord) CleanedUp() bool { return c.cleanedUp }

// updated returns a copy with another time of the last change. CreatedAt is lowered to at if
// it is later.
func (c *CompactRecord) updated(at time.Time) *CompactRecord {
	r := *c.Record()
	r.UpdatedAt = at
	if r.CreatedAt.After(at) {
		r.CreatedAt = at
	}
	return compact(&r)
}
