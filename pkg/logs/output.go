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

// An output lets the streams of several pods write to one writer, one line at a time.
type output struct {
	mu     sync.Mutex
	w      *bufio.Writer
	err    error
	within string                  // prefix of the stream whose line is incomplete
	open   bool                    // the last line is incomplete
	failed context.CancelCauseFunc // ends all streams after a failed write
}

// write writes lines of one pod and flushes them. The pieces of a long line stay together
// unless another pod writes in between.
func (o *output) write(lines []line, prefix string, timestamps bool) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, l := range lines {
		if o.err != nil {
			break
		}
		o.fail(o.writeLine(l, prefix, timestamps))
	}
	if o.err == nil {
		o.fail(o.w.Flush())
	}
	if o.err != nil {
		return fmt.Errorf("%w: %w", errNoReader, o.err)
	}
	return nil
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
	}
}
