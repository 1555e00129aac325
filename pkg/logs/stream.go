package logs

import (
	"context"
	"errors"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/attempt"
)

// A stream copies the log of one node to one reader: the log of the pod, or the archived
// log if the pod no longer exists.
type stream struct {
	reader
	rank    int
	number  int    // of the attempt
	most    int    // largest number of an attempt that was possible before this attempt; 0 if unknown
	uid     string // of the pod; "" if unknown
	options task.LogOptions
	prefix  string
	out     *output
	slots   chan struct{} // limits concurrent reads; see readAtOnce
	source  *source       // place of the node in the order of the lines; nil if the task has one node
	began   time.Time
	hub     *hub // hub of the pod while the stream follows
	joined  *cursor
	silent  bool // lines only advance the cursor and are not written
	marked  bool // the line between the attempts was written, or is not wanted
}

// stream returns a stream of an attempt of a node.
func (t *Tailer) stream(v task.View, rank int, r attempt.Run, o task.LogOptions, out *output) *stream {
	s := &stream{
		reader: reader{tailer: t, task: v.Submit.ID}, number: r.Number, most: attempt.MaxAttempts(v, rank, r.Number),
		rank: rank, options: o, out: out, prefix: prefix(v, rank), began: time.Now(), marked: r.Number == 1 || o.Attempt > 0,
	}
	if r.Pod != nil && r.Pod.Readable && !r.Gone {
		s.pod = r.Pod
	}
	if s.pod != nil || r.Ended != nil {
		s.uid = r.UID()
	}
	s.first, s.pass = s.beginning, s.write
	s.setTail(o.Tail)
	return s
}

// setTail sets how many of the present lines the stream copies; nil means all.
func (s *stream) setTail(lines *int64) {
	s.options.Tail, s.tail = lines, nil
	if _, resumes := s.options.Resume[s.rank]; lines != nil && !resumes {
		s.tail = new(max(*lines, 1)) // at least one line, because the stream needs a position
	}
	if !s.whole() {
		s.cursor.SkipPrefix()
	}
}

// beginning returns the options of the request before the first line has arrived.
func (s *stream) beginning() (o corev1.PodLogOptions) {
	if from, ok := s.options.Resume[s.rank]; ok {
		o.SinceTime = metaTime(from)
		return o
	}
	if s.options.Since > 0 {
		o.SinceSeconds = new(int64(max((s.options.Since + time.Since(s.began)).Seconds(), 1)))
	}
	return o
}

// whole reports whether the request is for the log from its beginning.
func (s *stream) whole() bool {
	_, resumes := s.options.Resume[s.rank]
	return !resumes && s.options.Tail == nil && s.options.Since == 0
}

func (s *stream) write(lines []line) error {
	if from, resumes := s.options.Resume[s.rank]; resumes {
		lines = youngerThan(lines, from)
	}
	if s.silent || len(lines) == 0 {
		return nil
	}
	for len(lines) > 0 {
		n := s.source.turn(lines)
		if err := s.out.write(lines[:n], s.prefix, s.options.Timestamps); err != nil {
			return err
		}
		lines = lines[n:]
	}
	return nil
}

// youngerThan returns the lines that are not older than from.
func youngerThan(lines []line, from time.Time) []line {
	old := func(l line) bool { return l.at.Before(from) }
	if !slices.ContainsFunc(lines, old) {
		return lines
	}
	return slices.DeleteFunc(slices.Clone(lines), old)
}

// run copies the log until the pod has ended and its log is at the end. Without Follow, run
// copies only the present lines.
func (s *stream) run(ctx context.Context) {
	if s.options.Tail != nil && *s.options.Tail == 0 {
		s.silent = true
		if !s.options.Follow {
			return
		}
	}
	complete := false
	if s.pod != nil && s.begin(s.pod.StartedAt) != nil {
		return
	}
	if s.pod != nil {
		if s.options.Follow && !s.ended(ctx, false) {
			complete = s.follow(ctx)
		}
		if ctx.Err() != nil || s.out.failure() != nil {
			return
		}
	}
	until := time.Now().Add(archiveDelay)
	for !complete && !s.copyEnded(ctx) && time.Now().Before(until) && s.isArchivedSoon() && pause(ctx) {
	}
}

// copyEnded copies the log of an ended pod, or the archived log if the pod no longer exists. over is
// false if there is neither, or if the log of the pod broke off.
func (s *stream) copyEnded(ctx context.Context) (over bool) {
	if !s.enter(ctx) {
		return false
	}
	defer s.exit()
	if s.pod != nil && s.finish(ctx, nil, false) || ctx.Err() != nil || s.out.failure() != nil {
		return true
	}
	return s.copyArchived(ctx)
}

// archiveDelay is how long a stream waits for the archive of a log whose pod no longer exists. The
// archiver stores a log a moment after the pod is gone.
const archiveDelay = 10 * time.Second

// isArchivedSoon reports whether the task ended so recently that the archiver may still be storing the
// log of its last attempt.
func (s *stream) isArchivedSoon() bool {
	v := s.tailer.projection.TaskView(s.task)
	return s.tailer.archives && s.out.failure() == nil && v.Record != nil && v.Phase.Over() && !v.StartedAt.IsZero() &&
		time.Since(v.UpdatedAt) < 6*archiveDelay && s.number == attempt.Current(v, s.rank)
}

// enter waits for a slot and reports whether it got one. exit returns the slot.
func (s *stream) enter(ctx context.Context) bool {
	select {
	case s.slots <- struct{}{}:
		return true
	default:
	}
	s.source.setAbsent(true)
	defer s.source.setAbsent(false)
	select {
	case s.slots <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

func (s *stream) exit() { <-s.slots }

// follow copies the log of a running pod, and reports whether it reached the end of the
// log.
func (s *stream) follow(ctx context.Context) bool {
	from, since, ok := s.start(ctx)
	if !ok {
		return false
	}
	s.source.setLive(true)
	defer s.source.setLive(false)
	s.hub = s.tailer.hubs.enter(reader{tailer: s.tailer, task: s.task, pod: s.pod}, since)
	defer s.tailer.hubs.leave(s.hub)
	for ctx.Err() == nil && s.out.failure() == nil {
		s.join(ctx, from)
		if s.joined != nil {
			if ended, all := s.copyShared(ctx); ended {
				return all
			}
			continue
		}
		if s.hub.over() {
			return false
		}
		if !s.copyAlone(ctx) {
			return false
		}
	}
	return false
}

// start brings the stream to a position at which it can join a hub. If no line has arrived,
// from is the time from which lines are requested, or nil if unknown. since is the time
// from which a new hub must read.
func (s *stream) start(ctx context.Context) (from *time.Time, since time.Time, ok bool) {
	if s.whole() {
		return &time.Time{}, since, true
	}
	if from, resumes := s.options.Resume[s.rank]; resumes {
		return &from, from.Add(-hubMargin), true
	}
	if !s.catchUp(ctx) {
		return nil, since, false
	}
	// The log had no line yet, so every line is requested.
	if s.cursor.Empty() && s.tail != nil && s.options.Since == 0 {
		from = &time.Time{}
	}
	s.tail = nil
	return from, s.cursor.Since(), true
}

// catchUp copies the present lines of the log.
func (s *stream) catchUp(ctx context.Context) bool {
	for {
		if !s.enter(ctx) {
			return false
		}
		_, err := s.read(ctx, false)
		s.exit()
		if err == nil {
			s.silent = false
			return true
		}
		if ctx.Err() != nil || errors.Is(err, errNoReader) || s.ended(ctx, false) {
			return false
		}
		s.broke(err)
		if !pause(ctx) {
			return false
		}
	}
}

func (s *stream) join(ctx context.Context, from *time.Time) {
	if s.joined == nil {
		s.joined = s.hub.join(ctx, &s.cursor, from)
	}
}

// copyShared copies from the hub until the hub ends, the stream is detached from the hub,
// or the stream has no reader.
func (s *stream) copyShared(ctx context.Context) (ended, all bool) {
	defer func() {
		s.hub.detach(s.joined)
		s.joined = nil
	}()
	for {
		got := s.hub.next(s.joined)
		switch {
		case got.isTooOld:
			return false, false
		case len(got.lines) == 0 && got.over:
			return true, got.whole
		case len(got.lines) == 0:
			select {
			case <-got.more:
			case <-ctx.Done():
				return false, false
			}
			continue
		}
		for _, l := range got.lines {
			s.cursor.Advance(l.at, l.sum)
		}
		if s.write(got.lines) != nil {
			return false, false
		}
	}
}

var errJoined = errors.New("the hub has what comes next")

// copyAlone copies from a connection of its own until the hub holds the next line.
// copyAlone reports whether to continue: after a broken connection the stream continues;
// after the end of the pod the caller reads the rest.
func (s *stream) copyAlone(ctx context.Context) bool {
	s.pass = func(lines []line) error {
		if err := s.write(lines); err != nil {
			return err
		}
		if s.join(ctx, nil); s.joined != nil {
			return errJoined
		}
		return ctx.Err()
	}
	defer func() { s.pass = s.write }()
	_, err := s.read(ctx, true)
	switch {
	case errors.Is(err, errJoined):
		return true
	case ctx.Err() != nil || errors.Is(err, errNoReader) || s.ended(ctx, err == nil):
		return false
	case err != nil:
		s.broke(err)
	}
	return pause(ctx)
}
