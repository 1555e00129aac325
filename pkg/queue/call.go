package queue

import (
	"sync/atomic"
	"time"

	"k8s-cli/pkg/task"
)

// A call is commands on their way that stay together.
type call struct {
	raws     [][]byte
	size     int          // bytes of them in an entry
	trace    string       // span that asks for them, as task.Submit has it; empty if none
	done     chan outcome // has room for the one outcome
	deadline time.Time    // when the caller leaves
	state    atomic.Int32 // a callState
}

// A callState says whether a call can still be taken back.
type callState = int32

const (
	callWaiting   callState = iota // nothing of it was sent
	callSent                       // it may have been stored
	callAbandoned                  // the caller left before anything was sent
)

// An outcome is a verdict for each command, or why there is none.
type outcome struct {
	results []task.Result
	err     error
}

func newCall(raws ...[]byte) *call {
	k := &call{raws: raws, done: make(chan outcome, 1), deadline: time.Now().Add(appendTimeout)}
	for _, raw := range raws {
		k.size += len(raw) + len(",")
	}
	return k
}

// traceSize is what a task.Trace takes in an entry, but for its parent.
const traceSize = len(`{"first":100000,"count":100000,"parent":""},`)

// withTrace notes what asks for a submission, which the entry will say.
func (k *call) withTrace(c task.Command) *call {
	if c.Submit != nil && c.Submit.Trace != "" {
		k.trace = c.Submit.Trace
		k.size += traceSize + len(k.trace)
	}
	return k
}
