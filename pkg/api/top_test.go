package api

import (
	"testing"

	"k8s-cli/pkg/task"
)

// While a task runs, the samples of the leader answer GET /tasks/{id}/top. After the end, the record
// answers, and the status of the task shows the maxima too.
func TestTopOfATask(t *testing.T) {
	t.Parallel()
	f := &fake{}
	submission := submitted("bob", "hungry")
	submission.Submit.Task.NumNodes, submission.Submit.Task.Resources = 2, task.Resources{CPUs: "2", Memory: "1"}
	f.fold(t, submission, task.Command{Admitted: &task.Admitted{IDs: []string{"hungry"}}},
		task.Command{Applied: &task.Applied{Key: task.Key{Kind: task.KindTask, ID: "hungry"}, UIDs: []string{"u", "v"}}},
		task.Command{Started: &task.Started{ID: "hungry", Nodes: make([]task.Node, 2)}})
	s := serveWith(t, f, withAuthenticator)
	const head = `{"task_id":"hungry","name":"hungry","status":`
	const asked = `,"requested":{"cpus":2,"memory_bytes":1073741824},`
	s.wantAnswer("/tasks/hungry/top", "bobs", head+`"running"`+asked+`"problem":"This server has received no samples yet; the leader takes samples every 30s","nodes":[{"rank":0,"status":"pending"},{"rank":1,"status":"pending"}]}`)
	f.store.Samples.Receive([]byte(`{"samples":[{"task":"hungry","rank":1,"at":"2026-11-23T10:00:00Z","used":{"cpus":1,"memory_bytes":7},"max":{"cpus":1.5,"memory_bytes":8}},{"task":"hungry","rank":2}]}`))
	s.wantAnswer("/tasks/hungry/top", "bobs", head+`"running"`+asked+`"sampled_at":"2026-11-23T10:00:00Z","nodes":[{"rank":0,"status":"pending"},{"rank":1,"status":"pending","max_used":{"cpus":1.5,"memory_bytes":8},"sampled_at":"2026-11-23T10:00:00Z"}]}`)

	end := &task.Ended{ID: "hungry", Phase: task.Completed, Nodes: []task.Node{{Rank: 0, Phase: task.Completed}, {Rank: 1, Phase: task.Completed}}}
	f.store.Samples.AddMax(end)
	f.fold(t, task.Command{Ended: end})
	const most = `"max_used":{"cpus":1.5,"memory_bytes":8}}]`
	s.wantAnswer("/tasks/hungry/top", "bobs", head+`"completed"`+asked+`"nodes":[{"rank":0,"status":"completed"},{"rank":1,"status":"completed",`+most+`}`)
	s.wantAnswer("/tasks/hungry", "bobs", most)
}
