package task

import "time"

// What the cluster shows, cut down to what answers and decisions need. Values
// are immutable once published.

// A Job is what is known of a Kubernetes Job of ours.
type Job struct {
	Name       string
	UID        string
	TaskID     string // from the label
	Rank       int
	User       string // exact, from the annotation; empty on objects of others
	Hash       string // of the submission, from the annotation
	Legacy     bool   // both are from labels; see LegacySubmit
	Suspended  bool
	Resumed    bool   // we let it run once; a suspend after that is somebody else's
	Queue      string // that admits it, from the label; empty if none does
	Deleting   bool
	Phase      Phase // Completed or Failed on the Job's terminal condition, else Pending
	Reason     string
	Message    string
	FinishedAt time.Time // of the terminal condition
}

// A Pod is what is known of a pod of one of our Jobs.
type Pod struct {
	Name               string
	UID                string
	TaskID             string // from the label
	Rank               int
	JobUID             string // of the Job that controls it
	Host               string // node it is bound to
	Address            string // empty until it has one; it keeps it when it has ended
	AddressesPublished bool   // it was told the addresses of all nodes
	Phase              Phase  // Running once its container has started, Completed or Failed once it has ended
	Readable           bool   // its container has started, so that there is a log
	Created            time.Time
	StartedAt          time.Time
	FinishedAt         time.Time
	ExitCode           *int
	Reason             string // why it waits or ended, in the words of Kubernetes
	Message            string // the lines behind the first one are the last ones that it wrote
	Prepared           bool   // its volumes are mounted and its network is there
}

// A Note explains why a node or a task waits or how it ended: in a word, in a
// sentence, and with what to do. Any of them may be missing.
type Note struct{ Reason, Message, Hint string }

// A Claim is what is known of a PersistentVolumeClaim.
type Claim struct {
	Name         string
	UID          string
	VolumeID     string // from the label, of ours only
	Ours         bool   // it carries the label of a volume
	OfPod        bool   // a pod owns it: the claim of a per-node volume
	OfRelease    bool   // the chart made it, for the log
	Shared       bool   // it carries LabelShared
	User         string // exact, from the annotation
	Hash         string
	Legacy       bool // as of a Job
	Deleting     bool
	Phase        string
	StorageClass *string
	Modes        []string // access modes that it asks for
}

// A View is one task at one moment: what the log says and what the cluster shows.
type View struct {
	*Record                      // nil for Jobs without a record
	Jobs     []*Job              // of the record's submission, by rank; nil where absent
	Pods     []*Pod              // the newest of each rank's Job; nil where absent
	Former   []*Pod              // the last that is gone of each rank's Job; nil where there was none
	Notes    []Note              // what else is known of why a node that is not over does not run, by rank; zero where nothing is
	Orphans  []*Job              // Jobs with the task's id that are not of its submission
	Resolved map[string]string   // claims by the names the task gave, while the record has none
	Modes    map[string][]string // access modes of those claims, by the same names
	Missing  []string            // the names for which there is no claim yet
	Released bool                // a volume that it mounts was deleted: its finished pods must not hold it
}

// Owns reports whether a Job with these annotations is of the record's submission.
func (v View) Owns(user, hash string) bool {
	return v.Record != nil && user == v.Submit.User && hash == v.Hash
}

// OwnsPod reports whether pod belongs to the Job of its rank, present or past.
func (v View) OwnsPod(pod *Pod) bool {
	if job := v.Jobs[pod.Rank]; job != nil && job.UID == pod.JobUID {
		return true
	}
	return v.Record != nil && pod.Rank < len(v.UIDs) && v.UIDs[pod.Rank] == pod.JobUID
}

// A VolumeView is one volume at one moment.
type VolumeView struct {
	*VolumeRecord        // nil if there is no such volume
	Claim         *Claim // nil if the cluster shows none of this record
	Seen          bool   // the cluster has shown its claim before
	Note          Note   // why its claim is not bound, as far as Kubernetes says
}

// CurrentPhase returns the phase of the volume as shown: the claim's, or what the
// log says of one that is not seen. A claim that was seen here and is gone
// without a deletion of ours is lost.
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

// A Query narrows a list of tasks, or one of volumes.
type Query struct {
	User     string
	AllUsers bool
	Phase    Phase  // empty means any; of a volume, one of its own
	Name     string // empty means any
	Limit    int    // at most so many; 0 means all
	Before   uint64 // only what is older than this place in the order; 0 means all
}
