package task

import (
	"encoding/json"
	"errors"
	"io"
	"time"
)

// An Entry is one message of the log: the commands of requests that arrived together, in
// order.
type Entry struct {
	Version int    `json:"v"`   // EntryVersion
	Log     string `json:"log"` // random id of the log for which the entry was written
	// random id of the process that wrote the entry; empty in the first entry of a log
	Writer string `json:"writer"`
	// number of the entry among the writer's entries, from 1; a repeated entry keeps its
	// number
	Number    uint64 `json:"n"`
	StartsLog bool   `json:"begin,omitempty"` // the first entry of a log: the log has no earlier entries
	// Unix time in milliseconds by the clock of NATS; an entry that NATS stores later has
	// no effect; 0 means no limit
	Until    int64             `json:"until,omitempty"`
	Written  time.Time         `json:"at,omitzero"`      // time at which the writer wrote the entry, by its clock
	Traces   []Trace           `json:"traces,omitempty"` // traces of the commands; older releases ignore this field
	Commands []json.RawMessage `json:"commands,omitempty"`

	Seq  uint64    `json:"-"` // position in the log, from 1
	Time time.Time `json:"-"` // time at which NATS stored the entry
}

// IsExpired reports whether NATS stored e later than its writer allowed. The writer has by
// then answered that the commands may not have been stored, so an expired entry has no
// effect on any pod.
func (e Entry) IsExpired() bool { return e.Until != 0 && e.Time.UnixMilli() > e.Until }

// A Trace names the span that requested some consecutive commands of an entry.
type Trace struct {
	First  int    `json:"first"` // index of the first command, from 0
	Count  int    `json:"count"`
	Parent string `json:"parent"` // a W3C traceparent
}

// EntryVersion is the version of entries that this release writes and reads.
const EntryVersion = 1

// A Snapshot is the state of a pod after one entry of the log. Equal states have equal
// bytes.
type Snapshot interface {
	Log() string  // id of the log
	Seq() uint64  // position of the last entry in the snapshot
	Hash() string // SHA-256 of the encoded snapshot, hexadecimal
	Encode(w io.Writer) error
}

// Submissions returns which of the entries from first to last contain submissions of tasks
// that the server still shows.
type Submissions func(first, last uint64) map[uint64]bool

// ErrDiverged is the error of an entry that shows that the state of this pod differs from
// the state of the other pods.
var ErrDiverged = errors.New("the state of this pod diverged from the state of the other pods")

// ErrUnknownCommand is the error of a command of a newer release.
var ErrUnknownCommand = errors.New("unknown command")
