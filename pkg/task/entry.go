package task

import (
	"encoding/json"
	"errors"
	"io"
	"time"
)

// An Entry is what the log stores at once: the commands of requests that came
// together, in order.
type Entry struct {
	Version   int               `json:"v"`                // EntryVersion
	Log       string            `json:"log"`              // the random id of the log it was written for
	Writer    string            `json:"writer"`           // the random id of the process that wrote it; empty in the entry that names the log
	Number    uint64            `json:"n"`                // of this entry among the writer's, from 1: a repeated entry has the same one
	StartsLog bool              `json:"begin,omitempty"`  // the entry names the log: nothing of the log is missing before it
	Until     int64             `json:"until,omitempty"`  // Unix time in milliseconds, by the clock of NATS, up to which NATS may store the entry with effect; 0 means no limit
	Written   time.Time         `json:"at,omitzero"`      // when, by its writer's clock
	Traces    []Trace           `json:"traces,omitempty"` // of commands that are traced; releases that do not know them pass them over
	Commands  []json.RawMessage `json:"commands,omitempty"`

	Seq  uint64    `json:"-"` // its place in the log, from 1
	Time time.Time `json:"-"` // when it was stored
}

// IsExpired reports whether NATS stored e later than its writer allowed. The
// callers have been told then that their commands may not have been stored: an
// expired entry has no effect on any pod.
func (e Entry) IsExpired() bool { return e.Until != 0 && e.Time.UnixMilli() > e.Until }

// A Trace says what asked for some commands of an entry that follow each other.
type Trace struct {
	First  int    `json:"first"` // of the commands, from 0
	Count  int    `json:"count"`
	Parent string `json:"parent"` // a W3C traceparent
}

// EntryVersion is the version of entries that this release writes and reads.
const EntryVersion = 1

// A Snapshot is what a pod made of the log up to one entry. Equal states have
// equal bytes.
type Snapshot interface {
	Log() string  // id of the log
	Seq() uint64  // sequence of the last entry in it
	Hash() string // SHA-256 of its bytes, hexadecimal
	Encode(w io.Writer) error
}

// Submissions returns which of the entries from first to last are those in which
// tasks were submitted that are still answered for.
type Submissions func(first, last uint64) map[uint64]bool

// ErrDiverged is returned for an entry that shows that this pod's state is not
// the one that the others have.
var ErrDiverged = errors.New("the state of this pod diverged from the state of the other pods")

// ErrUnknownCommand is returned for a command of a newer version.
var ErrUnknownCommand = errors.New("unknown command")
