package logs

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// errNoReader ends the reading of a log because its reader disconnected.
var errNoReader = errors.New("the reader of the log is gone")

// lineWait is the longest time that a stream waits until the line of another stream is
// complete. The end of a long line is usually already in the log. A program that prints no
// newline must not delay the other nodes for longer.
const lineWait = 5 * time.Second

// An output lets the streams of several pods write to one writer, one line at a time.
type output struct {
	mu     sync.Mutex
	w      *bufio.Writer
	err    error
	within string                  // prefix of the stream whose line is incomplete
	open   bool                    // the last line is incomplete
	closed chan struct{}           // closed when the line is complete; nil if no stream waits
	wrote  bool                    // something was written since the last ping, or since the beginning
	done   <-chan struct{}         // closed when the reader needs no more lines; nil means never
	failed context.CancelCauseFunc // ends all streams after a failed write
}

// write writes lines of one pod and flushes them. The pieces of a long line stay together
// unless the next piece does not arrive within lineWait and another pod writes.
func (o *output) write(lines []line, prefix string, timestamps bool) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.awaitLine(prefix)
	for _, l := range lines {
		if o.err != nil {
			break
		}
		o.fail(o.writeLine(l, prefix, timestamps))
	}
	if o.err == nil {
		o.fail(o.w.Flush())
	}
	o.wrote = true
	if !o.open {
		o.notify()
	}
	if o.err != nil {
		return fmt.Errorf("%w: %w", errNoReader, o.err)
	}
	return nil
}

// ping writes an empty line whenever nothing was written for interval, until the caller calls stop. An
// incomplete line stays as it is.
func (o *output) ping(interval time.Duration) (stop func()) {
	over, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				o.pingNow()
			case <-over:
				return
			}
		}
	}()
	return func() {
		close(over)
		<-stopped
	}
}

func (o *output) pingNow() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.wrote && !o.open && o.err == nil {
		err := o.w.WriteByte('\n')
		if err == nil {
			err = o.w.Flush()
		}
		o.fail(err)
	}
	o.wrote = false
}

// awaitLine waits until the incomplete line of another stream is complete, for at most
// lineWait. The caller holds the lock.
func (o *output) awaitLine(prefix string) {
	var late <-chan time.Time
	for o.open && o.within != prefix && o.err == nil {
		if late == nil {
			late = time.After(lineWait)
		}
		if o.closed == nil {
			o.closed = make(chan struct{})
		}
		closed := o.closed
		o.mu.Unlock()
		over := false
		select {
		case <-closed:
		case <-late:
			over = true
		case <-o.done:
			over = true
		}
		o.mu.Lock()
		if over {
			return
		}
	}
}

// notify wakes the streams that wait. The caller holds the lock.
func (o *output) notify() {
	if o.closed != nil {
		close(o.closed)
		o.closed = nil
	}
}

func (o *output) writeLine(l line, prefix string, timestamps bool) error {
	continues := o.open && l.isMore && o.within == prefix
	if o.open && !continues {
		if err := o.w.WriteByte('\n'); err != nil {
			return err
		}
	}
	o.open, o.within = !bytes.HasSuffix(l.text, []byte("\n")), prefix
	if !continues {
		if _, err := o.w.WriteString(prefix); err != nil {
			return err
		}
	}
	if timestamps && !continues {
		if _, err := o.w.Write(append(l.at.AppendFormat(o.w.AvailableBuffer(), time.RFC3339Nano), ' ')); err != nil {
			return err
		}
	}
	_, err := o.w.Write(l.text)
	return err
}

func (o *output) failure() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// fail records an error and ends all streams. The caller holds the lock.
func (o *output) fail(err error) {
	if err != nil {
		o.err = err
		o.failed(err)
		o.notify()
	}
}
