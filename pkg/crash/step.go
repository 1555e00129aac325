// Package crash defines the crash points. These are the places before and after each mutation
// of the cluster or the log, at which a process may end with its work half done. In a build
// with the tag crashpoints, the process ends, stops or panics at the crash point that the
// environment names. In a normal build, the crash points do nothing.
package crash

// A Step is a mutation of the cluster or the log. The crash point before a step lies before
// its effect. The crash point after a step lies after its effect, before anybody learns of
// the effect.
type Step string

// The steps that append a command or a fact, from the decision to append until the result
// is known. The comments say what is true at the crash point.
const (
	// before: nothing is stored, and the caller retries; after: the task exists, and the
	// caller retries under the same key
	AppendSubmit Step = "append-submit"
	// after: the task is stopped, and all its Jobs exist
	AppendStop Step = "append-stop"
	// after: many tasks are stopped, and all their Jobs exist
	AppendStopAll Step = "append-stop-all"
	// see AppendSubmit
	AppendCreate Step = "append-create"
	// after: the volume is deleted, and its claim exists
	AppendDelete Step = "append-delete"
	// before: the session is valid on all pods; after: it is valid on none
	AppendEndSessions Step = "append-end-sessions"
	// before: the next tasks are chosen; after: they may have Jobs, and have none
	AppendAdmitted Step = "append-admitted"
	// after: the claims of a task are fixed, and the task has no Job yet
	AppendResolved Step = "append-resolved"
	// after: the reason is stored, and no retry is scheduled
	AppendBlocked Step = "append-blocked"
	// before: all objects exist, and the log has no fact of them; after: a task of several
	// nodes may start
	AppendApplied Step = "append-applied"
	// before: a container runs, and the log has no fact of it
	AppendStarted Step = "append-started"
	// before: a node has failed and starts again, and the log has no fact of its attempt
	AppendRestarted Step = "append-restarted"
	// before: nodes have ended, and the log has no fact of them; after: the other nodes of
	// the task still run
	AppendEnded Step = "append-ended"
	// before: some nodes exist, and one will never exist; after: the existing nodes must be
	// deleted
	AppendRejected Step = "append-rejected"
	// before: the cluster has no object of the task left, and the log has no fact of it
	AppendCleanedUp Step = "append-cleaned-up"
	// before: the cluster has objects that no record names
	AppendAdopted Step = "append-adopted"
	// before: a claim is bound or lost, and the log has no fact of it
	AppendClaimed Step = "append-claimed"
	// before: the history is full; after: the named objects are no longer in the history
	AppendExpireHistory Step = "append-expire-history"
	// before: an archive is stored that no user has; after: the archive belongs to the
	// user, and the sender retries
	AppendUpload Step = "append-upload"
	// before: the outputs of a node are stored, and the task has none; after: the task has
	// outputs, and the node retries
	AppendOutputsStored Step = "append-outputs-stored"
	// after: no user has an archive that is still stored
	AppendDeleteUploads Step = "append-delete-uploads"
	// after: every pod has taken a snapshot, and no snapshot is stored
	AppendSnapshotMarker Step = "append-snapshot-marker"
	// before: a snapshot is stored that no pod knows of; after: the log is not compacted yet
	AppendSnapshotStored Step = "append-snapshot-stored"
)

// The steps that change the cluster or JetStream.
const (
	StoreEntry   Step = "store-entry"   // publish an entry to JetStream; after: the entry is stored, and its writer does not know
	PublishEvent Step = "publish-event" // publish an event; after: JetStream may not have stored the event yet
	CreateJob    Step = "create-job"    // create the Job of one node; from the second call on, some Jobs of the task exist
	ResumeJob    Step = "resume-job"    // resume the Job of one of several nodes; after the first call, one node runs alone
	DeleteJob    Step = "delete-job"    // delete the Job of one node

	CreateService Step = "create-service" // for a task of several nodes; before: all Jobs exist; after: the log has no fact of them
	CreateSecret  Step = "create-secret"  // for a task with secrets; before: its Jobs exist, and no container starts
	PublishPeers  Step = "publish-peers"  // for one of several nodes; after the first call, one node starts alone

	CreateClaim Step = "create-claim"
	DeleteClaim Step = "delete-claim"
)

// The steps of a leader. Only a server with a Lease has these steps.
const (
	// before: another pod may take the Lease first; after: the holder does not know until
	// when the Lease is valid
	RenewLease Step = "renew-lease"
	// all work of a leader; before: the leader has done nothing; after: the leader has
	// stopped and still holds the Lease
	Lead Step = "lead"
)

// Steps lists every step.
var Steps = []Step{
	AppendSubmit, AppendStop, AppendStopAll, AppendCreate, AppendDelete,
	AppendAdmitted, AppendResolved, AppendBlocked, AppendApplied, AppendStarted, AppendRestarted, AppendEnded,
	AppendRejected, AppendCleanedUp, AppendAdopted, AppendClaimed, AppendExpireHistory,
	AppendUpload, AppendOutputsStored, AppendEndSessions, AppendDeleteUploads, AppendSnapshotMarker, AppendSnapshotStored,
	StoreEntry, PublishEvent, CreateJob, ResumeJob, DeleteJob, CreateService, CreateSecret, PublishPeers, CreateClaim, DeleteClaim,
	RenewLease, Lead,
}
