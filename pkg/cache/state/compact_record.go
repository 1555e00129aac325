package state

import (
	"reflect"
	"time"
	"unique"

	"k8s-cli/pkg/task"
)

// A CompactRecord is a task.Record in a third of its size: of most tasks little is left to
// know once their Jobs exist, and there may be hundreds of thousands. It is
// immutable, as a Record is.
type CompactRecord struct {
	ID        string
	Order     uint64 // place among all submissions
	CreatedAt time.Time

	user, image, phase  unique.Handle[string]
	name, hash, key     string
	reason, message     string
	nodes, choice       int
	cleanedUp, admitted bool
	seq, endSeq         uint64
	updatedAt           time.Time
	claims              map[string]string
	uids                []string
	nodeStates          []task.Node
	full                *task.Record // if there is more in the submission than the above: until its Jobs exist
}

// compact returns what is kept of a record, which is not changed any more.
func compact(r *task.Record) *CompactRecord {
	c := &r.Submit
	t := &CompactRecord{
		ID: c.ID, Order: r.Order, CreatedAt: r.CreatedAt,
		user: unique.Make(c.User), image: unique.Make(c.Image), phase: unique.Make(string(r.Phase)),
		name: c.Task.Name, hash: r.Hash, key: c.Key, reason: r.Reason, message: r.Message,
		nodes: c.Task.NumNodes, choice: c.Choice, cleanedUp: r.CleanedUp, admitted: r.Admitted, seq: r.Seq, endSeq: r.EndSeq, updatedAt: r.UpdatedAt, claims: r.Claims, uids: r.UIDs, nodeStates: r.Nodes,
	}
	if !fitsCompact(c) {
		t.full = r
	}
	return t
}

// fitsCompact reports whether there is nothing in a submission but what a CompactRecord has room
// for.
func fitsCompact(c *task.Submit) bool {
	if c.Task.Run != "" {
		return false // as of most that are not
	}
	rest := *c
	rest.ID, rest.User, rest.Image, rest.Choice, rest.Key = "", "", "", 0, ""
	rest.Task.Name, rest.Task.NumNodes = "", 0
	return reflect.ValueOf(&rest).Elem().IsZero()
}

// Record returns the record, which is not to be changed.
func (t *CompactRecord) Record() *task.Record {
	if t == nil {
		return nil
	}
	if t.full != nil {
		return t.full
	}
	r := &task.Record{
		Hash: t.hash, Seq: t.seq, Order: t.Order, CreatedAt: t.CreatedAt, UpdatedAt: t.updatedAt, EndSeq: t.endSeq,
		Claims: t.claims, UIDs: t.uids, Phase: t.Phase(), Nodes: t.nodeStates, Reason: t.reason, Message: t.message, CleanedUp: t.cleanedUp, Admitted: t.admitted,
	}
	r.Submit = task.Submit{ID: t.ID, User: t.User(), Image: t.image.Value(), Choice: t.choice, Key: t.key}
	r.Submit.Task.Name, r.Submit.Task.NumNodes = t.name, t.nodes
	return r
}

// User returns whose task it is.
func (t *CompactRecord) User() string { return t.user.Value() }

// Phase returns the furthest phase that the log knows.
func (t *CompactRecord) Phase() task.Phase { return task.Phase(t.phase.Value()) }

// Name returns the name of the task as shown.
func (t *CompactRecord) Name() string { return task.DisplayName(t.name, t.ID) }

// Applied reports whether all Jobs of the task were created.
func (t *CompactRecord) Applied() bool { return t.uids != nil }

// Admitted reports whether the task may have Jobs.
func (t *CompactRecord) Admitted() bool { return t.admitted }

// NumNodes returns the number of nodes of the task.
func (t *CompactRecord) NumNodes() int { return max(t.nodes, 1) }

// Reason returns why it failed, or why it is delayed.
func (t *CompactRecord) Reason() string { return t.reason }

// UpdatedAt returns when the last command or fact about it was stored.
func (t *CompactRecord) UpdatedAt() time.Time { return t.updatedAt }

// EndSeq returns the place in the log at which it was over, 0 before.
func (t *CompactRecord) EndSeq() uint64 { return t.endSeq }

// Seq returns the place of the submission in the log.
func (t *CompactRecord) Seq() uint64 { return t.seq }

// Hash returns the hash of the submission.
func (t *CompactRecord) Hash() string { return t.hash }

// Claims returns the claims that it mounts, by the names that it gave; nil until
// they are resolved.
func (t *CompactRecord) Claims() map[string]string { return t.claims }

// Node returns the UID of the Job of a rank, and what the log says of that node;
// either may be empty.
func (t *CompactRecord) Node(rank int) (uid string, n task.Node) {
	if rank < len(t.uids) {
		uid = t.uids[rank]
	}
	if rank < len(t.nodeStates) {
		n = t.nodeStates[rank]
	}
	return uid, n
}

// CleanedUp reports whether it is over and nothing is left of it in the cluster.
func (t *CompactRecord) CleanedUp() bool { return t.cleanedUp }

// updated returns the task with another time of its last change, which is not
// before that of its submission.
func (t *CompactRecord) updated(at time.Time) *CompactRecord {
	r := *t.Record()
	r.UpdatedAt = at
	if r.CreatedAt.After(at) {
		r.CreatedAt = at
	}
	return compact(&r)
}
