package cache

import (
	"bytes"
	"slices"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/hint"
)

// An answer for a task is encoded on request and cached until the task changes. Most tasks are
// requested rarely, and the answers for all tasks would be a large part of the store.

// A renderInput is the input from which an answer is encoded.
type renderInput struct {
	id       string
	version  uint64     // of the store at the last change of the task
	body     []byte     // nil if the answer is not cached
	view     *task.View // nil if body is set
	position int        // in the backlog, from 1; 0 if the task is not in the backlog
	reason   string     // why the task is in the backlog
	note     string     // position and waiting time as a sentence
}

// renderInput returns the input for the answer of a task. The position in the backlog is not
// part of the cached body, because the position changes with every other task in the backlog.
func (a Answers) renderInput(i *taskItem) renderInput {
	d := renderInput{id: i.id, version: i.version, body: a.cache.Get(i.id, i.version)}
	if d.body == nil {
		d.view = new(i.view())
	}
	if (i.stage == stageWaiting || i.stage == stageCreating) && len(i.jobs) == 0 { // a task with Jobs waits no longer
		d.position = a.model.admission.queue.position(i)
		d.reason, d.note = a.model.admission.whyWaiting(i, d.position)
	}
	return d
}

// encode returns the answer, and encodes it if it is not cached. The caller does not hold the
// lock of the store.
func (a Answers) encode(d renderInput) []byte {
	if d.body == nil {
		d.body = a.render.Task(*d.view)
		a.cache.Add(d.id, d.version, d.body)
	}
	if d.position > 0 {
		return withBacklogPosition(d)
	}
	return d.body
}

// metadata is the place in an answer at which the position is inserted. No string in an answer
// contains it, because the quotes of strings are escaped.
var metadata = []byte(`,"metadata":{`)

// withBacklogPosition returns the answer with the position of its task in the backlog.
func withBacklogPosition(d renderInput) []byte {
	head, tail, found := bytes.Cut(d.body, metadata)
	if !found {
		return d.body
	}
	position := struct {
		Position int    `json:"position"`
		Reason   string `json:"reason"`
		Message  string `json:"message"`
		Hint     string `json:"hint"`
	}{d.position, d.reason, d.note, hint.For(d.reason, "", nil)}
	more, _ := task.Marshal(position) // numbers and strings cannot fail
	return slices.Concat(head, metadata, more[1:len(more)-1], []byte{','}, tail)
}
