package queue

import (
	"sync/atomic"
	"time"

	"k8s-cli/pkg/task"
)

// A call is a group of commands of one caller that are stored in the same entry.
type call struct {
	raws     [][]byte
	size     int          // bytes of the commands in an entry
	share    float64      // portion of a full log up to which the log accepts the call
	trace    string       // span of the request, in the format of task.Submit.Trace; may be empty
	done     chan outcome // buffered for the one outcome
	deadline time.Time    // when the caller stops waiting
	state    atomic.Int32 // a callState
}

// A callState says whether a call can still be withdrawn.
type callState = int32

const (
	callWaiting   callState = iota // no command of the call was sent
	callSent                       // the commands may have been stored
	callAbandoned                  // the caller left before a command was sent
)

// An outcome holds one result for each command, or the error that all commands share.
type outcome struct {
	results []task.Result
	err     error
}

// traceSize is the size of a task.Trace in an entry, without the length of its parent.
const traceSize = len(`{"first":100000,"count":100000,"parent":""},`)

// newCall returns a call of encoded commands. The portion of the log and the span of first, which
// is the first of the commands, count for all of them.
func (w *writer) newCall(first task.Command, raws ...[]byte) *call {
	k := &call{raws: raws, share: shareOf(first), done: make(chan outcome, 1), deadline: time.Now().Add(w.timeout)}
	for _, raw := range raws {
		k.size += len(raw) + len(",")
	}
	if first.Submit != nil && first.Submit.Trace != "" {
		k.trace = first.Submit.Trace
		k.size += traceSize + len(k.trace)
	}
	return k
}
