package logs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"k8s-cli/pkg/task"
)

// A Store keeps blobs under names, with a few words about each.
type Store interface {
	// Keep stores a blob in the place of another of its name. The oldest ones go
	// if there is no room.
	Keep(ctx context.Context, name string, about map[string]string, blob []byte) error
	// Kept returns a blob. The error is of kind task.ErrNotFound if there is none.
	Kept(ctx context.Context, name string) (about map[string]string, blob []byte, err error)
	// List returns what is said about each blob, by name.
	List(ctx context.Context) (map[string]map[string]string, error)
	// Drop removes a blob.
	Drop(ctx context.Context, name string) error
}

// What is said about a kept log.
const (
	aboutPod = "Pod" // UID of the pod
	aboutCut = "Cut" // bytes of text before its first line that were not kept
)

// keptName returns the name of the log of one node.
func keptName(id string, rank int) string { return id + "/" + strconv.Itoa(rank) }

// keptTask returns the task of a kept log.
func keptTask(name string) string {
	id, _, _ := strings.Cut(name, "/")
	return id
}

// An end is the last part of a log: whole lines, as the API server sent them.
type end struct {
	limit int // bytes
	lines []line
	size  int
	cut   int64 // bytes of text before them
}

func (e *end) add(lines []line) error {
	for _, l := range lines {
		e.lines, e.size = append(e.lines, l), e.size+len(l.raw)
	}
	n := 0
	for ; e.size > e.limit; n++ {
		e.size -= len(e.lines[n].raw)
		e.cut += int64(len(e.lines[n].text))
		e.lines[n] = line{}
	}
	e.lines = e.lines[n:]
	return nil
}

func (e *end) blob() []byte {
	b := make([]byte, 0, e.size)
	for _, l := range e.lines {
		b = append(b, l.raw...)
	}
	return b
}

// copyKept copies what was kept of a log whose pod is gone, and of that what did
// not come before.
func (s *stream) copyKept(ctx context.Context) {
	if s.tailer.store == nil {
		return
	}
	about, blob, err := s.tailer.store.Kept(ctx, keptName(s.task, s.rank))
	if err != nil || s.pod != nil && about[aboutPod] != s.pod.UID {
		if err != nil && !errors.Is(err, task.ErrNotFound) && ctx.Err() == nil {
			s.tailer.log.Warn("read a kept log", "task", s.task, "err", err)
		}
		return
	}
	var lines []line
	if _, err := scan(bytes.NewReader(blob), func(batch []line) error {
		lines = append(lines, batch...)
		return nil
	}); err != nil {
		s.tailer.log.Warn("read a kept log", "task", s.task, "err", err)
		return
	}
	s.silent = false
	_ = s.write(s.chosen(lines, about[aboutCut]))
}

// chosen returns those of the kept lines that are asked for, and did not come
// before, with a word of what is missing before the first.
func (s *stream) chosen(lines []line, cut string) []line {
	from, again := s.from(), s.place.Repeats()
	fresh := make([]line, 0, len(lines)+1)
	for _, l := range lines {
		if !l.at.Before(from) && !again.Has(l.at, l.sum) {
			fresh = append(fresh, l)
		}
	}
	_, resumes := s.options.Resume[s.rank]
	if s.options.Tail != nil && s.place.Empty() && !resumes {
		if most := *s.options.Tail; most <= int64(len(fresh)) {
			return fresh[len(fresh)-int(most):]
		}
	}
	if len(fresh) == 0 || len(fresh) < len(lines) || cut == "0" {
		return fresh
	}
	note := fmt.Sprintf("[k8s-cli: %s bytes before this were not kept]\n", cut)
	return append([]line{{at: fresh[0].at, text: []byte(note)}}, fresh...)
}

// from returns when the first line may have been written that is asked for.
func (s *stream) from() time.Time {
	switch from, resumes := s.options.Resume[s.rank]; {
	case !s.place.Empty():
		return s.place.Since()
	case resumes:
		return from
	case s.options.Since > 0:
		return s.began.Add(-s.options.Since)
	}
	return time.Time{}
}
