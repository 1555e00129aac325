// Package crash names the places where a process may end with its work half
// done: before and after every call that changes the cluster or the log. Built
// with the tag crashpoints, a process ends or stops itself at the one that its
// environment names; a normal build knows nothing of that.
package crash

// A Step is a call that changes the cluster or the log. There is a point before
// it, when nothing has happened yet, and one after it, when nobody has been told.
type Step string

// The steps of a command or fact, from the decision to append it until its
// verdict is known. What is done in the cluster lies between two of them.
const (
	AppendSubmit         Step = "append-submit"   // before: the caller knows nothing and repeats; after: so he does, under the key of a task that exists
	AppendStop           Step = "append-stop"     // after: the task is stopped and its Jobs are all there
	AppendStopAll        Step = "append-stop-all" // after: so are many
	AppendCreate         Step = "append-create"   // as AppendSubmit
	AppendDelete         Step = "append-delete"   // after: the volume is deleted and its claim is there
	AppendAdmitted       Step = "append-admitted" // before: the next tasks are chosen; after: they may have Jobs, and have none
	AppendResolved       Step = "append-resolved" // after: the claims of a task are fixed, and it has no Job yet
	AppendBlocked        Step = "append-delayed"  // after: the reason is noted, and nobody tries again
	AppendApplied        Step = "append-applied"  // before: all objects exist and the log does not know; after: those of several nodes may run
	AppendStarted        Step = "append-started"  // before: a container runs and the log does not know
	AppendEnded          Step = "append-ended"    // before: the nodes have ended and the log does not know; after: their siblings still run
	AppendRejected       Step = "append-refused"  // before: some nodes exist, one never will; after: they have to go
	AppendCleanedUp      Step = "append-gone"     // before: nothing is left in the cluster and the log does not know
	AppendAdopted        Step = "append-adopted"  // before: objects exist that no log knows
	AppendClaimed        Step = "append-claimed"  // before: a claim is bound or lost and the log does not know
	AppendExpireHistory  Step = "append-forget"   // before: the history has no room; after: nobody answers for what it names
	AppendUpload         Step = "append-upload"   // before: an archive is stored that no user has; after: its sender knows nothing and repeats
	AppendDeleteUploads  Step = "append-discard"  // after: nobody has an archive any more that is still stored
	AppendSnapshotMarker Step = "append-mark"     // after: every pod has a snapshot, and none is stored
	AppendSnapshotStored Step = "append-kept"     // before: a snapshot is stored that nobody knows of; after: the log is not cut yet
)

// The calls themselves.
const (
	StoreEntry   Step = "store-entry"   // publishing an entry to JetStream; after: it will last, and its writer has not heard so
	PublishEvent Step = "publish-event" // publishing an event, which is not stored yet when that is over
	CreateJob    Step = "create-job"    // of one node: from the second passing on it lies between two of them
	ResumeJob    Step = "resume-job"    // of one of several nodes: after the first one, that one runs alone
	DeleteJob    Step = "delete-job"    // of one node

	CreateService Step = "create-service" // of several nodes: before, all Jobs exist; after, the log does not know
	CreateSecret  Step = "create-secret"  // of a task that has secrets: before, its Jobs exist and no container starts
	PublishPeers  Step = "publish-peers"  // of one of several nodes: after the first one, that one begins alone

	CreateClaim Step = "create-claim" //
	DeleteClaim Step = "delete-claim" //
)

// The steps of a leader, where there is a Lease.
const (
	RenewLease Step = "renew-lease" // before: it may be another's when it is written; after: its holder does not know for how long
	Lead       Step = "lead"        // all work of a leader. Before: it has done nothing; after: nothing any more, and holds the Lease still
)

// Steps are all of them.
var Steps = []Step{
	AppendSubmit, AppendStop, AppendStopAll, AppendCreate, AppendDelete,
	AppendAdmitted, AppendResolved, AppendBlocked, AppendApplied, AppendStarted, AppendEnded,
	AppendRejected, AppendCleanedUp, AppendAdopted, AppendClaimed, AppendExpireHistory,
	AppendUpload, AppendDeleteUploads, AppendSnapshotMarker, AppendSnapshotStored,
	StoreEntry, PublishEvent, CreateJob, ResumeJob, DeleteJob, CreateService, CreateSecret, PublishPeers, CreateClaim, DeleteClaim,
	RenewLease, Lead,
}
