package cache

import (
	"unique"

	"k8s-cli/pkg/task"
)

// Most of what a Job and its pod are called stands in the record of their task
// too. Here they come to share it: strings that are read from the wire are each
// on their own.

// thrifty returns a Job that takes less memory and is equal.
func (i *taskItem) thrifty(job *task.Job) *task.Job {
	if i.kept == nil {
		return job
	}
	next := *job
	next.TaskID, next.User, next.Hash = i.id, same(job.User, i.kept.User()), same(job.Hash, i.kept.Hash())
	uid, node := i.kept.Node(job.Rank)
	next.UID, next.Name = same(job.UID, uid), same(job.Name, node.Job)
	return &next
}

// thriftyPod returns a pod that takes less memory and is equal.
func (i *taskItem) thriftyPod(pod *task.Pod) *task.Pod {
	next := *pod
	next.Host, next.Reason = unique.Make(pod.Host).Value(), unique.Make(pod.Reason).Value()
	if i.kept != nil {
		uid, node := i.kept.Node(pod.Rank)
		next.TaskID, next.JobUID, next.Name = i.id, same(pod.JobUID, uid), same(pod.Name, node.Pod)
	}
	return &next
}

// same returns b in place of an equal a.
func same(a, b string) string {
	if a == b {
		return b
	}
	return a
}
