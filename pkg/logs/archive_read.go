package logs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s-cli/pkg/task/problem"
)

// A Store stores blobs under names, each with a few attributes.
type Store interface {
	// Store stores a blob and replaces an earlier blob of the same name. If the store is
	// full, Store removes the oldest blobs.
	Store(ctx context.Context, name string, about map[string]string, blob []byte) error
	// Get returns a blob. The error is of kind problem.NotFound if there is none.
	Get(ctx context.Context, name string) (about map[string]string, blob []byte, err error)
	// List returns the attributes of each blob, by name.
	List(ctx context.Context) (map[string]map[string]string, error)
	// Remove removes a blob.
	Remove(ctx context.Context, name string) error
}

// The attributes of an archived log.
const (
	aboutPod      = "Pod"      // UID of the pod
	aboutStart    = "Start"    // when the pod started
	aboutCut      = "Cut"      // bytes of text before the first line that are not archived
	aboutCutLines = "CutLines" // lines before the first line that are not archived; absent in archives of earlier releases
	aboutShort    = "Short"    // present if the dropped text was dropped because many logs ended at once
)

// archiveName returns the name of the archived log of one attempt of a node.
func archiveName(id string, rank, number int) string {
	name := id + "/" + strconv.Itoa(rank)
	if number > 1 {
		name += "/" + strconv.Itoa(number)
	}
	return name
}

// archiveAttempt returns the rank and the number of the attempt of an archived log.
func archiveAttempt(name string) (rank, number int) {
	parts := append(strings.Split(name, "/"), "", "1")
	rank, _ = strconv.Atoi(parts[1])
	number, _ = strconv.Atoi(parts[2])
	return rank, max(number, 1)
}

// archiveTask returns the id of the task of an archived log.
func archiveTask(name string) string {
	id, _, _ := strings.Cut(name, "/")
	return id
}

// copyArchived copies the archived log if the pod no longer exists, without the lines that
// the reader already has. found means that the store contains the log.
func (s *stream) copyArchived(ctx context.Context) (found bool) {
	if s.tailer.store == nil {
		return false
	}
	about, blob, err := s.tailer.store.Get(ctx, archiveName(s.task, s.rank, s.number))
	if err != nil || s.uid != "" && about[aboutPod] != s.uid {
		if err != nil && !errors.Is(err, problem.NotFound) && ctx.Err() == nil {
			s.tailer.log.Warn("reading an archived log failed", "task", s.task, "err", err)
		}
		return false
	}
	s.silent = false
	if started, err := time.Parse(time.RFC3339, about[aboutStart]); err == nil && s.begin(started) != nil {
		return true
	}
	if err := s.writeArchived(blob, about); err != nil && !errors.Is(err, errNoReader) {
		s.tailer.log.Warn("reading an archived log failed", "task", s.task, "err", err)
	}
	return true
}

// writeArchived writes the requested lines of an archived log that the reader does not have
// yet. If the archive lacks earlier lines, a note comes first.
func (s *stream) writeArchived(blob []byte, about map[string]string) error {
	lines, first, all := 0, time.Time{}, true
	err := s.freshLines(blob, func(fresh []line, isAll bool) error {
		if first.IsZero() && len(fresh) > 0 {
			first = fresh[0].at
		}
		lines, all = lines+countLines(fresh), all && isAll
		return nil
	})
	if err != nil || first.IsZero() {
		return err
	}
	begin, tailed := s.tailBegin(lines)
	if !tailed && all && about[aboutCut] != "0" {
		if err := s.write([]line{{at: first, text: cutNote(about)}}); err != nil {
			return err
		}
	}
	return s.freshLines(blob, func(fresh []line, _ bool) error {
		fresh, begin = fromLine(fresh, begin)
		return s.write(fresh)
	})
}

// tailBegin returns the number, from 1, of the first line of the requested tail. tailed is
// false if all lines are requested.
func (s *stream) tailBegin(lines int) (n int, tailed bool) {
	_, resumes := s.options.Resume[s.rank]
	if s.options.Tail == nil || !s.cursor.Empty() || resumes || *s.options.Tail > int64(lines) {
		return 0, false
	}
	return lines - int(*s.options.Tail) + 1, true
}

// freshLines passes the requested lines of an archived log that the reader does not have
// yet. isAll reports whether a batch of lines was passed without omissions.
func (s *stream) freshLines(blob []byte, pass func(fresh []line, isAll bool) error) error {
	from, again := s.from(), s.cursor.Deduper()
	_, err := scan(bytes.NewReader(blob), func(lines []line) error {
		n := len(lines)
		fresh := slices.DeleteFunc(lines, func(l line) bool { return l.at.Before(from) || again.Has(l.at, l.sum) })
		return pass(fresh, len(fresh) == n)
	})
	return err
}

// cutNote returns the note about the part of a log that was not archived.
func cutNote(about map[string]string) []byte {
	why := ""
	if about[aboutShort] != "" {
		why = ", because many logs ended at once"
	}
	what := about[aboutCut] + " bytes"
	if lines := about[aboutCutLines]; lines != "" && lines != "0" {
		what += " in " + lines + " lines"
	}
	return fmt.Appendf(nil, "[k8s-cli: %s before this line were not archived%s]\n", what, why)
}

// from returns the earliest time of the requested lines.
func (s *stream) from() time.Time {
	switch from, resumes := s.options.Resume[s.rank]; {
	case !s.cursor.Empty():
		return s.cursor.Since()
	case resumes:
		return from
	case s.options.Since > 0:
		return s.began.Add(-s.options.Since)
	}
	return time.Time{}
}
