package task

import (
	"hash/fnv"
	"time"
)

// The types below describe the cluster, reduced to what responses and decisions need.
// Values are immutable once published.

// A Job describes a Kubernetes Job that k8s-cli created.
type Job struct {
	Name       string
	UID        string
	TaskID     string // from the label
	Rank       int
	User       string // exact name, from the annotation; empty on objects that k8s-cli did not create
	Hash       string // hash of the submission, from the annotation
	Legacy     bool   // User and Hash come from labels; see LegacySubmit
	Suspended  bool
	Resumed    bool   // the controller has resumed the Job; if the Job is suspended now, another program did it
	Queue      string // queue that admits the Job, from the label; may be empty
	Deleting   bool
	Phase      Phase // Completed or Failed after the Job's terminal condition, otherwise Pending
	Reason     string
	Message    string
	FinishedAt time.Time // time of the terminal condition

	BackoffLimit int  // failures after which the Job does not replace its pod
	Failures     int  // failures that count towards BackoffLimit
	Failing      bool // Kubernetes has decided that the Job fails
}

// A Pod describes a pod of a Job that k8s-cli created.
type Pod struct {
	Name       string
	UID        string
	TaskID     string // from the label
	Rank       int
	JobUID     string // UID of the Job that controls the pod
	Host       string // machine to which the pod is bound
	Address    string // IP address; empty until assigned, kept after the pod has ended
	Addresses  uint64 // HashOf the annotation with the addresses of all nodes
	GroupHosts uint64 // HashOf the annotation with the names of its job group
	Phase      Phase  // Running once the container has started, Completed or Failed once the container has ended
	Readable   bool   // the container has started, so the pod has a log
	Created    time.Time
	StartedAt  time.Time
	FinishedAt time.Time
	ExitCode   *int
	Reason     string // why the pod waits or ended, as Kubernetes reports it
	Message    string // the lines after the first are the last lines of the pod's output
	Prepared   bool   // the volumes are mounted and the network is ready
	Deleting   bool
	Disrupted  bool // the cluster evicted or preempted the pod
	Uncounted  bool // the pod failed, and the Job controller has not counted it yet
}

// HashOf returns a hash of a text, 0 for "".
func HashOf(text string) uint64 {
	if text == "" {
		return 0
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(text)) // cannot fail
	return h.Sum64()
}

// A Note explains why a node or a task waits, or how it ended: one word, one sentence, and
// what to do. Each field may be empty.
type Note struct{ Reason, Message, Hint string }

// A Claim describes a PersistentVolumeClaim.
type Claim struct {
	Name         string
	UID          string
	VolumeID     string // from the label; only for claims that k8s-cli created
	Ours         bool   // the claim has the label of a volume
	OfPod        bool   // a pod owns the claim, which is of a per-node volume
	OfRelease    bool   // the Helm chart created the claim for the log
	Shared       bool   // the claim has LabelShared
	User         string // exact name, from the annotation
	Hash         string
	Legacy       bool // as in Job
	Deleting     bool
	Phase        string
	StorageClass *string
	Modes        []string // access modes in the spec of the claim
}

// A View describes one task at one moment: its record in the log and its objects in the
// cluster.
type View struct {
	*Record                      // nil for Jobs without a record
	Jobs     []*Job              // Jobs of the record's submission, by rank; nil where absent
	Pods     []*Pod              // newest pod of each rank's Job, by rank; nil where absent
	Earlier  [][]*Pod            // other pods of each rank's Job, by rank, oldest first; may be nil
	Former   []*Pod              // last deleted pod of each rank's Job, by rank; nil where absent
	Notes    []Note              // more about why a node does not run, by rank; zero where nothing is known
	Orphans  []*Job              // Jobs with the task's id that belong to another submission
	Resolved map[string]string   // claims by the names in the task, until the record has claims
	Modes    map[string][]string // access modes of these claims, by the same names
	Missing  []string            // names in the task for which there is no claim yet
	Released bool                // a mounted volume was deleted, so finished pods of the task must be deleted
}

// Owns reports whether a Job with these annotations belongs to the record's submission.
func (v View) Owns(user, hash string) bool {
	return v.Record != nil && user == v.Submit.User && hash == v.Hash
}

// OwnsPod reports whether the present or a former Job of the pod's rank controls the pod.
func (v View) OwnsPod(pod *Pod) bool {
	if job := v.Jobs[pod.Rank]; job != nil && job.UID == pod.JobUID {
		return true
	}
	return v.Record != nil && pod.Rank < len(v.UIDs) && v.UIDs[pod.Rank] == pod.JobUID
}

// A VolumeView describes one volume at one moment.
type VolumeView struct {
	*VolumeRecord        // nil if there is no such volume
	Claim         *Claim // nil if the cluster has no claim of this record
	Seen          bool   // the cluster had the claim before
	Note          Note   // why the claim is not bound, if Kubernetes reports it
}

// CurrentPhase returns the phase of the volume: the phase of the claim, or the phase in the
// log if the claim was never seen. A claim that disappears without a deletion by k8s-cli is
// lost.
func (v VolumeView) CurrentPhase() string {
	switch {
	case v.Rejected:
		return VolumeFailed
	case v.Claim != nil:
		return v.Claim.Phase
	case v.UID != "" && v.Seen:
		return VolumeLost
	}
	return v.VolumeRecord.CurrentPhase()
}

// A Query filters a list of tasks or volumes.
type Query struct {
	User     string
	AllUsers bool
	Phase    Phase  // empty means any; for volumes, a phase of volumes
	Name     string // empty means any
	Limit    int    // largest number of results; 0 means all
	Before   uint64 // only objects with a smaller Order; 0 means all
}
