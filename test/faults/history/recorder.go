package history

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// A Recorder collects a history and writes it to files as it grows, one line of JSON for
// each record. A Recorder is safe for concurrent use.
type Recorder struct {
	start time.Time
	dir   string

	mu      sync.Mutex
	history History
	files   map[string]*file
	err     error // the first error of a write
	closed  bool  // later events of the watch are ignored
}

type file struct {
	*os.File
	buffer  *bufio.Writer
	encoder *json.Encoder
}

// NewRecorder returns a recorder that writes to dir.
func NewRecorder(dir string) *Recorder {
	return &Recorder{start: time.Now(), dir: dir, files: map[string]*file{}}
}

// Now returns the current time by the history's clock.
func (r *Recorder) Now() time.Duration { return time.Since(r.start) }

// Since converts a time of the machine's clock to the history's clock.
func (r *Recorder) Since(t time.Time) time.Duration { return t.Sub(r.start) }

// Op records an operation.
func (r *Recorder) Op(o Op) { record(r, "operations", &r.history.Ops, o) }

// Object records an event of the watch.
func (r *Recorder) Object(o Object) { record(r, "objects", &r.history.Objects, o) }

// Audit records a request of the audit log.
func (r *Recorder) Audit(a Audit) { record(r, "audit", &r.history.Audits, a) }

// Left records an object that is left at the end.
func (r *Recorder) Left(l Left) { record(r, "left", &r.history.Left, l) }

// Entry records an entry of the log.
func (r *Recorder) Entry(e Entry) { record(r, "entries", &r.history.Entries, e) }

// Event records an event that a listener received.
func (r *Recorder) Event(e Event) { record(r, "events", &r.history.Events, e) }

// Snapshots records the snapshots at one time.
func (r *Recorder) Snapshots(s Snapshots) { record(r, "snapshots", &r.history.Snapshots, s) }

// Close closes the files and returns the history.
func (r *Recorder) Close() (*History, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	err := r.err
	for _, f := range r.files {
		err = errors.Join(err, f.buffer.Flush(), f.Close())
	}
	r.files, r.closed = map[string]*file{}, true
	if err != nil {
		return nil, fmt.Errorf("write the history: %w", err)
	}
	return &r.history, nil
}

func record[T any](r *Recorder, name string, all *[]T, one T) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	*all = append(*all, one)
	f, err := r.file(name)
	if err == nil {
		err = f.encoder.Encode(one)
	}
	if r.err == nil {
		r.err = err
	}
}

func (r *Recorder) file(name string) (*file, error) {
	if f := r.files[name]; f != nil {
		return f, nil
	}
	opened, err := os.Create(filepath.Join(r.dir, name+".jsonl"))
	if err != nil {
		return nil, err
	}
	f := &file{File: opened, buffer: bufio.NewWriter(opened)}
	f.encoder = json.NewEncoder(f.buffer)
	r.files[name] = f
	return f, nil
}
