package cluster

import (
	"context"
	"sync"
)

// A journal records the messages of the start of a cluster. Clients can read the messages
// during and after the start. The zero journal is ready to use.
type journal struct {
	mu      sync.Mutex
	lines   []string
	closed  bool
	err     error
	changed chan struct{}
}

// add appends a line.
func (j *journal) add(line string) {
	j.update(func() { j.lines = append(j.lines, line) })
}

// end ends the journal. err is nil if the cluster started.
func (j *journal) end(err error) {
	j.update(func() { j.closed, j.err = true, err })
}

func (j *journal) update(change func()) {
	j.mu.Lock()
	defer j.mu.Unlock()
	change()
	if j.changed != nil {
		close(j.changed)
		j.changed = nil
	}
}

// follow passes all lines to the caller until the journal ends, and returns the error of
// the end.
func (j *journal) follow(ctx context.Context, each func(line string) error) error {
	for seen := 0; ; {
		lines, changed, closed, err := j.after(seen)
		for _, line := range lines {
			if err := each(line); err != nil {
				return err
			}
		}
		seen += len(lines)
		if closed {
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// after returns the lines after the first n, a channel that is closed at the next change,
// and whether and with which error the journal ended.
func (j *journal) after(n int) (lines []string, changed <-chan struct{}, closed bool, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.changed == nil {
		j.changed = make(chan struct{})
	}
	return j.lines[n:len(j.lines):len(j.lines)], j.changed, j.closed, j.err
}
