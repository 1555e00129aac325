package logs

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// errNoReader ends the reading of a log: whoever it was for is gone.
var errNoReader = errors.New("nobody reads the log any more")

// An output lets the streams of several pods write to one writer, a line at a
// time.
type output struct {
	mu     sync.Mutex
	w      *bufio.Writer
	err    error
	failed context.CancelCauseFunc // ends all streams, since nobody reads them
}

// write writes lines of one pod and flushes them.
func (o *output) write(lines []line, prefix string, timestamps bool) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, l := range lines {
		if o.err != nil {
			break
		}
		_, err := o.w.WriteString(prefix)
		if timestamps && err == nil {
			_, err = o.w.Write(append(l.at.AppendFormat(o.w.AvailableBuffer(), time.RFC3339Nano), ' '))
		}
		if err == nil {
			_, err = o.w.Write(l.text)
		}
		o.fail(err)
	}
	if o.err == nil {
		o.fail(o.w.Flush())
	}
	if o.err != nil {
		return fmt.Errorf("%w: %w", errNoReader, o.err)
	}
	return nil
}

func (o *output) failure() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// fail is called with the lock held.
func (o *output) fail(err error) {
	if err != nil {
		o.err = err
		o.failed(err)
	}
}
