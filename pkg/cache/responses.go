package cache

import (
	"bytes"
	"slices"
	"sync"

	"k8s-cli/pkg/task"
)

// An answer for a task is encoded when it is asked for, and kept for whoever asks
// again before the task changes. Most tasks are asked for rarely, and answers for
// all of them would be a large part of the store.

// A renderInput is what an answer is made from.
type renderInput struct {
	id       string
	version  uint64     // of the store when the task changed last
	body     []byte     // nil if it is not kept
	view     *task.View // nil if the body is
	position int        // in the backlog, from 1; 0 if it is not in it
	reason   string     // why it is there
	note     string     // how long it takes from there
}

// renderInput returns what the answer for a task is made from. Its place in the backlog
// changes with every other's and is not of its version.
func (a Answers) renderInput(i *taskItem) renderInput {
	d := renderInput{id: i.id, version: i.version, body: a.cache.get(i.id, i.version)}
	if d.body == nil {
		d.view = new(i.view())
	}
	if (i.stage == stageWaiting || i.stage == stageCreating) && len(i.jobs) == 0 { // else it has its turn already
		d.position = a.model.admission.queue.position(i)
		d.reason, d.note = a.model.admission.whyWaiting(i, d.position)
	}
	return d
}

// encode returns the answer, encoding one that is not kept. It is called without
// the lock of the store.
func (a Answers) encode(d renderInput) []byte {
	if d.body == nil {
		d.body = a.render.Task(*d.view)
		a.cache.put(d)
	}
	if d.position > 0 {
		return withBacklogPosition(d)
	}
	return d.body
}

// metadata is where an answer begins to say more than the phase. No string of an
// answer holds it, since there its quotes are escaped.
var metadata = []byte(`,"metadata":{`)

// withBacklogPosition returns the answer, which says where in the backlog its task is.
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
	}{d.position, d.reason, d.note, task.Hint(d.reason)}
	more, _ := task.Marshal(position) // plain numbers and strings: cannot fail
	return slices.Concat(head, metadata, more[1:len(more)-1], []byte{','}, tail)
}

// maxCachedBytes bounds the bytes of the answers that are kept, with responseOverhead
// for each beside its text. An answer for a task of many nodes is large.
const (
	maxCachedBytes   = 16 << 20
	responseOverhead = 256
)

// Answers are those that were asked for of late, by the task's id.
type responseCache struct {
	mu   sync.Mutex
	all  map[string]cachedResponse
	size int // bytes
}

type cachedResponse struct {
	version uint64
	body    []byte
}

func (k cachedResponse) size() int {
	if k.body == nil {
		return 0
	}
	return len(k.body) + responseOverhead
}

// get returns the answer for a task of a version, nil if it is not kept.
func (a *responseCache) get(id string, version uint64) []byte {
	a.mu.Lock()
	defer a.mu.Unlock()
	if response := a.all[id]; response.version == version {
		return response.body
	}
	return nil
}

func (a *responseCache) put(d renderInput) {
	a.mu.Lock()
	defer a.mu.Unlock()
	response := cachedResponse{d.version, d.body}
	a.size += response.size() - a.all[d.id].size()
	if a.size > maxCachedBytes || a.all == nil {
		a.all, a.size = map[string]cachedResponse{}, response.size()
	}
	a.all[d.id] = response
}
