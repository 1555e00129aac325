package logs

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"time"
)

const bufferSize = 64 << 10

var newline = []byte{'\n'}

// A place is how far a log was read: the time of the last line, and how many
// lines had that same time.
type place struct {
	last time.Time
	same int

	resumed time.Time // lines up to here came before
	skip    int       // of those with just that time
}

// resume begins to read again from the last line's second on.
func (p *place) resume() { p.resumed, p.skip = p.last, p.same }

// isNew reports whether a line of this time has not come before, and moves on.
func (p *place) isNew(at time.Time) bool {
	if at.Before(p.resumed) {
		return false
	}
	if at.Equal(p.resumed) && p.skip > 0 {
		p.skip--
		return false
	}
	if at.Equal(p.last) {
		p.same++
	} else {
		p.last, p.same = at, 1
	}
	return true
}

// copyLines copies what the API server sends, lines that begin with the time at
// which they were written, to the output. Lines may be of any length.
func (s *stream) copyLines(r io.Reader) error {
	s.place.resume()
	in := bufio.NewReaderSize(r, bufferSize)
	for {
		stamp, err := in.ReadSlice(' ')
		if len(stamp) == 0 && errors.Is(err, io.EOF) {
			return s.out.flush()
		}
		if err != nil {
			return fmt.Errorf("read a line's time: %w", err)
		}
		at, err := time.Parse(time.RFC3339Nano, string(bytes.TrimSuffix(stamp, []byte(" "))))
		if err != nil {
			return fmt.Errorf("a line begins with %q instead of its time: %w", stamp, err)
		}
		if err := s.copyLine(in, at); err != nil {
			return err
		}
		if in.Buffered() == 0 {
			if err := s.out.flush(); err != nil {
				return err
			}
		}
	}
}

// copyLine copies the rest of a line. A last line without its end is given one.
func (s *stream) copyLine(in *bufio.Reader, at time.Time) error {
	line, err := in.ReadBytes('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read a line: %w", err)
	}
	if !s.place.isNew(at) {
		return nil
	}
	stamp := ""
	if s.options.Timestamps {
		stamp = at.Format(time.RFC3339Nano) + " "
	}
	end := newline
	if bytes.HasSuffix(line, newline) {
		end = nil
	}
	return s.out.write([]byte(s.prefix), []byte(stamp), line, end)
}
