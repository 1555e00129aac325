package attempt

import (
	"slices"
	"time"

	"k8s-cli/pkg/task"
)

// A Run is one attempt of a node, as far as a view shows it.
type Run struct {
	Number int
	Ended  *task.Attempt // as recorded; nil for an attempt that the log does not contain
	Pod    *task.Pod     // nil if the view does not show the pod
	Gone   bool          // the pod was deleted
}

// UID returns the UID of the pod of an attempt, "" if it is unknown.
func (r Run) UID() string {
	switch {
	case r.Ended != nil:
		return r.Ended.UID
	case r.Pod != nil:
		return r.Pod.UID
	}
	return ""
}

// Runs returns the attempts of a node, oldest first: the recorded attempts, then the other
// pods of the node. The last one is not necessarily running.
func Runs(v task.View, rank int) (all []Run) {
	last := Last(v.Attempts, rank)
	known := pods(v, rank)
	recorded := Of(v.Attempts, rank)
	for i := range recorded {
		pod := podOf(known, recorded[i].UID)
		all = append(all, Run{recorded[i].Number, &recorded[i], pod, isGone(v, rank, pod)})
	}
	number := last.Number
	for _, pod := range known {
		if isRecorded(all, last, pod) {
			continue
		}
		number++
		all = append(all, Run{Number: number, Pod: pod, Gone: isGone(v, rank, pod)})
	}
	return all
}

// isGone reports whether a pod was deleted.
func isGone(v task.View, rank int, pod *task.Pod) bool {
	return pod != nil && rank < len(v.Former) && v.Former[rank] == pod
}

// isRecorded reports whether the log contains a pod as an attempt. A pod that is older than
// the last recorded attempt is one of the attempts that the record no longer holds.
func isRecorded(runs []Run, last task.Attempt, pod *task.Pod) bool {
	return pod.Created.Before(last.CreatedAt) || slices.ContainsFunc(runs, func(r Run) bool {
		return r.Ended != nil && r.Ended.UID == pod.UID
	})
}

func podOf(pods []*task.Pod, uid string) *task.Pod {
	if i := slices.IndexFunc(pods, func(p *task.Pod) bool { return p.UID == uid }); i >= 0 {
		return pods[i]
	}
	return nil
}

// pods returns the pods of a node that the view shows, oldest first.
func pods(v task.View, rank int) (all []*task.Pod) {
	if rank < len(v.Earlier) {
		all = append(all, v.Earlier[rank]...)
	}
	if rank < len(v.Pods) && v.Pods[rank] != nil {
		all = append(all, v.Pods[rank])
	}
	if rank >= len(v.Former) || v.Former[rank] == nil || podOf(all, v.Former[rank].UID) != nil {
		return all
	}
	at := len(all)
	for at > 0 && v.Former[rank].Created.Before(all[at-1].Created) {
		at--
	}
	return slices.Insert(all, at, v.Former[rank])
}

// Current returns the number of the present attempt of a node, from 1: the attempt that
// runs, that is about to begin, or that was the last one.
func Current(v task.View, rank int) int {
	runs := Runs(v, rank)
	if len(runs) == 0 {
		return 1
	}
	last := runs[len(runs)-1]
	if last.Ended != nil || startsAgain(v, rank, runs) {
		return last.Number + 1
	}
	return last.Number
}

// MaxAttempts returns the largest number of attempts of a node that was possible before the
// attempt of a number; 0 means unknown or unlimited.
func MaxAttempts(v task.View, rank, number int) int {
	runs := Runs(v, rank)
	end := slices.IndexFunc(runs, func(r Run) bool { return r.Number >= number })
	if end < 0 {
		end = len(runs)
	}
	return maxAttempts(v, rank, runs[:end])
}

// Ended returns the attempts that ended and that the log does not contain yet, at most
// limit. The nodes of these attempts have started again or will.
func Ended(v task.View, limit int) (all []task.Attempt) {
	for rank := range v.Pods {
		runs := Runs(v, rank)
		for i, r := range runs {
			if r.Ended != nil || i == len(runs)-1 && !startsAgain(v, rank, runs) {
				continue
			}
			if len(all) == limit {
				return all
			}
			all = append(all, attemptOf(v, rank, runs, i))
		}
	}
	return all
}

func attemptOf(v task.View, rank int, runs []Run, i int) task.Attempt {
	pod := runs[i].Pod
	n := task.Node{Message: pod.Message}.Split()
	return task.Attempt{
		Rank: rank, Number: runs[i].Number, MaxAttempts: maxAttempts(v, rank, runs[:i+1]),
		Pod: pod.Name, UID: pod.UID, Host: pod.Host, ExitCode: pod.ExitCode, Reason: pod.Reason, Message: n.Message, LastLines: n.LastLines,
		Free: isFree(v, pod), CreatedAt: pod.Created, StartedAt: moment(pod.StartedAt), FinishedAt: moment(pod.FinishedAt),
	}
}

func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// startsAgain reports whether the last attempt of a node has ended and its Job will replace
// the pod. The Job controller decides before it removes its finalizer from the pod.
func startsAgain(v task.View, rank int, runs []Run) bool {
	if rank >= len(v.Jobs) || v.Phase.Over() || len(runs) == 0 {
		return false
	}
	job := v.Jobs[rank]
	if job == nil || job.Phase.Over() || job.Failing || job.Suspended || job.Deleting {
		return false
	}
	last := runs[len(runs)-1]
	if last.Ended != nil {
		return true
	}
	if last.Pod.Phase == task.Completed || !last.Gone && (last.Pod.Phase != task.Failed || last.Pod.Uncounted) {
		return false
	}
	return last.isFree(v) || last.Number < maxAttempts(v, rank, runs) && job.Failures <= job.BackoffLimit
}

func (r Run) isFree(v task.View) bool {
	if r.Ended != nil {
		return r.Ended.Free
	}
	return isFree(v, r.Pod)
}

// isFree reports whether the podFailurePolicy of the Job ignores the failure of a pod.
func isFree(v task.View, pod *task.Pod) bool {
	recovery := v.Submit.Resources().JobRecovery
	return recovery.RestartsOnEviction() && pod.Disrupted || pod.ExitCode != nil && slices.Contains(recovery.ExitCodes, *pod.ExitCode)
}

// maxAttempts returns the largest possible number of attempts of a node after some
// attempts; 0 means unknown or unlimited.
func maxAttempts(v task.View, rank int, runs []Run) int {
	most := MaxRestarts(v, rank)
	if most == 0 {
		return 0
	}
	most++
	for _, r := range runs {
		switch {
		case r.Ended != nil && r.Ended.MaxAttempts > 0: // the record may not hold all attempts before
			most = r.Ended.MaxAttempts
		case r.isFree(v):
			most++
		}
	}
	return most
}

// MaxRestarts returns how often a node may start again after failures.
func MaxRestarts(v task.View, rank int) int {
	if most := v.Submit.Resources().JobRecovery.Restarts; most > 0 {
		return most
	}
	if rank < len(v.Jobs) && v.Jobs[rank] != nil {
		return v.Jobs[rank].BackoffLimit
	}
	return 0
}
