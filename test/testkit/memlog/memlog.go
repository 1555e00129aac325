// Package memlog contains a log in memory, for tests of what appends to the log of a server.
package memlog

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s-cli/pkg/cache"
	"k8s-cli/pkg/task"
)

// A Log is a log in memory, and the stores into which it is folded.
type Log struct {
	Store   *cache.Store
	Now     func() time.Time // time at which entries are stored
	Unknown bool             // the end of the log is unknown

	mu        sync.Mutex
	followers []*cache.Store // further stores that fold the log
	entries   []task.Entry
	told      []string // kinds of the facts and commands, in order
}

// New returns a log whose entries were stored a minute ago.
func New() *Log {
	return &Log{Store: cache.New(), Now: func() time.Time { return time.Now().Add(-time.Minute) }}
}

// Append appends a command.
func (l *Log) Append(_ context.Context, c task.Command) (task.Result, error) {
	results, err := l.AppendTogether(c)
	if err != nil {
		return task.Result{}, err
	}
	return results[0], nil
}

// AppendTogether appends commands as one entry.
func (l *Log) AppendTogether(commands ...task.Command) ([]task.Result, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := uint64(len(l.entries)) + 1
	e := task.Entry{Version: task.EntryVersion, Log: "log", Writer: "writer", Number: n, Seq: n, Time: l.Now()}
	for _, c := range commands {
		raw, err := c.Encode()
		if err != nil {
			return nil, err
		}
		e.Commands = append(e.Commands, raw)
	}
	l.entries = append(l.entries, e)
	results, err := l.Store.Fold(e)
	for _, f := range l.followers {
		_, wrong := f.Fold(e)
		err = errors.Join(err, wrong)
	}
	if err != nil {
		return nil, err
	}
	for i, r := range results {
		kind, _, _ := strings.Cut(strings.TrimPrefix(string(e.Commands[i]), `{"`), `"`)
		if r.Rejection != "" {
			kind += ": " + string(r.Rejection)
		}
		l.told = append(l.told, kind)
	}
	return results, nil
}

// Add appends commands that must be accepted, each as an entry, and forgets their kinds.
func (l *Log) Add(t testing.TB, commands ...task.Command) {
	t.Helper()
	for _, c := range commands {
		if r, err := l.Append(t.Context(), c); err != nil || r.Rejection != "" {
			t.Fatalf("append %+v: %+v, %v", c, r, err)
		}
	}
	l.Facts()
}

// Join adds a store that folds all entries, including those that are stored already.
func (l *Log) Join(s *cache.Store) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.entries {
		if _, err := s.Fold(e); err != nil {
			return err
		}
	}
	l.followers = append(l.followers, s)
	return nil
}

// WaitReadIndex returns at once.
func (l *Log) WaitReadIndex(context.Context) (time.Duration, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return 0, !l.Unknown
}

// Entries returns all entries.
func (l *Log) Entries() []task.Entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.entries)
}

// Facts returns the kinds of the facts and commands that were appended since the last call.
func (l *Log) Facts() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	told := l.told
	l.told = nil
	return told
}
