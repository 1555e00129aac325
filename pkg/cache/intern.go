package cache

import (
	"unique"

	"k8s-cli/pkg/task"
)

// Most strings of a Job and its pod are also in the record of their task. Interning makes them
// share memory; each string that is decoded from the network has its own copy.

// internJob returns an equal Job that shares strings with the record.
func (i *taskItem) internJob(job *task.Job) *task.Job {
	if i.record == nil {
		return job
	}
	next := *job
	next.TaskID, next.User, next.Hash = i.id, canonical(job.User, i.record.User()), canonical(job.Hash, i.record.Hash())
	uid, node := i.record.Node(job.Rank)
	next.UID, next.Name = canonical(job.UID, uid), canonical(job.Name, node.Job)
	return &next
}

// internPod returns an equal pod that shares strings with the record.
func (i *taskItem) internPod(pod *task.Pod) *task.Pod {
	next := *pod
	next.Host, next.Reason = unique.Make(pod.Host).Value(), unique.Make(pod.Reason).Value()
	if i.record != nil {
		uid, node := i.record.Node(pod.Rank)
		next.TaskID, next.JobUID, next.Name = i.id, canonical(pod.JobUID, uid), canonical(pod.Name, node.Pod)
	}
	return &next
}

// canonical returns b if a and b are equal, and a otherwise.
func canonical(a, b string) string {
	if a == b {
		return b
	}
	return a
}
