package cache

import (
	"bytes"
	"slices"
	"sync"

	"k8s-cli/pkg/task"
)

// An answer for a task is encoded when it is asked for, and kept for whoever asks
// again before the task changes. Most tasks are asked for rarely, and answers for
// all of them would be a large part of the picture.

// A draft is what an answer is made from.
type draft struct {
	id      string
	version uint64     // of the picture when the task changed last
	body    []byte     // nil if it is not kept
	view    *task.View // nil if the body is
	place   int        // in the backlog, from 1; 0 if it is not in it
	reason  string     // why it is there
	note    string     // how long it takes from there
}

// draft returns what the answer for a task is made from. Its place in the backlog
// changes with every other's and is not of its version.
func (p *Picture) draft(i *taskItem) draft {
	d := draft{id: i.id, version: i.version, body: p.answers.get(i.id, i.version)}
	if d.body == nil {
		d.view = new(i.view())
	}
	if (i.place == placeWaiting || i.place == placeCreating) && len(i.jobs) == 0 { // else it has its turn already
		d.place = p.backlog.position(i)
		d.reason, d.note = p.whyWaiting(i, d.place)
	}
	return d
}

// encode returns the answer, encoding one that is not kept. It is called without
// the lock of the picture.
func (p *Picture) encode(d draft) []byte {
	if d.body == nil {
		d.body = p.render.Task(*d.view)
		p.answers.put(d)
	}
	if d.place > 0 {
		return waiting(d)
	}
	return d.body
}

// metadata is where an answer begins to say more than the phase. No string of an
// answer holds it, since there its quotes are escaped.
var metadata = []byte(`,"metadata":{`)

// waiting returns the answer, which says where in the backlog its task is.
func waiting(d draft) []byte {
	head, rest, found := bytes.Cut(d.body, metadata)
	if !found {
		return d.body
	}
	waits := struct {
		Position int    `json:"position"`
		Reason   string `json:"reason"`
		Message  string `json:"message"`
		Hint     string `json:"hint"`
	}{d.place, d.reason, d.note, task.Hint(d.reason)}
	more, _ := task.Marshal(waits) // plain numbers and strings: cannot fail
	return slices.Concat(head, metadata, more[1:len(more)-1], []byte{','}, rest)
}

// maxAnswers bounds the bytes of the answers that are kept, with answerOverhead
// for each beside its text. An answer for a task of many nodes is large.
const (
	maxAnswers     = 16 << 20
	answerOverhead = 256
)

// Answers are those that were asked for of late, by the task's id.
type answers struct {
	mu   sync.Mutex
	all  map[string]keptAnswer
	size int // bytes
}

type keptAnswer struct {
	version uint64
	body    []byte
}

func (k keptAnswer) size() int {
	if k.body == nil {
		return 0
	}
	return len(k.body) + answerOverhead
}

// get returns the answer for a task of a version, nil if it is not kept.
func (a *answers) get(id string, version uint64) []byte {
	a.mu.Lock()
	defer a.mu.Unlock()
	if kept := a.all[id]; kept.version == version {
		return kept.body
	}
	return nil
}

func (a *answers) put(d draft) {
	a.mu.Lock()
	defer a.mu.Unlock()
	kept := keptAnswer{d.version, d.body}
	a.size += kept.size() - a.all[d.id].size()
	if a.size > maxAnswers || a.all == nil {
		a.all, a.size = map[string]keptAnswer{}, kept.size()
	}
	a.all[d.id] = kept
}
