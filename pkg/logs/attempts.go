package logs

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/attempt"
	"k8s-cli/pkg/task/problem"
)

// A copier copies the attempts of the nodes of a task for one call of Tail: the nodes at
// once, and the attempts of each node one after the other.
type copier struct {
	tailer  *Tailer
	options task.LogOptions
	out     *output
	slots   chan struct{}
	streams sync.WaitGroup
	nodes   map[int]*copiedNode
	order   *order // of the lines of several nodes
	isLater bool   // the first view was handled, so further attempts have begun since
}

// A copiedNode is a node with attempts that are being copied.
type copiedNode struct {
	begun  map[string]bool // UIDs of the pods
	number int             // of the last attempt
	done   chan struct{}   // closed when these attempts are copied; nil at first
}

// copyNew begins to copy the attempts that a view shows and that are not being copied yet.
func (c *copier) copyNew(ctx context.Context, v task.View) {
	var starts []func() // every node has its place in the order before one of them writes
	for rank := range v.Pods {
		if c.options.Node != nil && *c.options.Node != rank {
			continue
		}
		if c.nodes[rank] == nil {
			c.nodes[rank] = &copiedNode{begun: map[string]bool{}}
		}
		if due := c.due(v, rank); len(due) > 0 {
			n, source := c.nodes[rank], c.sourceOf(v, rank)
			starts = append(starts, func() { c.start(ctx, n, due, source) })
		}
	}
	for _, start := range starts {
		start()
	}
	c.isLater = true
}

// due returns streams of the attempts of a node that are to be copied next.
func (c *copier) due(v task.View, rank int) (due []*stream) {
	n, o := c.nodes[rank], c.options
	if c.isLater {
		o.Tail = nil // these lines come after the last lines
	}
	for _, r := range attempts(v, rank) {
		if !c.isDue(v, n, r) {
			continue
		}
		n.begun[r.UID()], n.number = true, r.Number
		if !isOld(r, o.Resume[rank]) {
			s := c.tailer.stream(v, rank, r, o, c.out)
			s.slots = c.slots
			due = append(due, s)
		}
	}
	return due
}

// attempts returns the attempts of a node. The last attempt of a task that is over is among
// them even if its pod no longer exists.
func attempts(v task.View, rank int) []attempt.Run {
	runs := attempt.Runs(v, rank)
	if v.Phase.Over() && (len(runs) == 0 || runs[len(runs)-1].Ended != nil) {
		runs = append(runs, attempt.Run{Number: attempt.Current(v, rank)})
	}
	return runs
}

func (c *copier) isDue(v task.View, n *copiedNode, r attempt.Run) bool {
	switch uid := r.UID(); {
	case c.options.Attempt > 0 && r.Number != c.options.Attempt, r.Number < n.number, uid != "" && n.begun[uid]:
		return false
	case r.Pod != nil && r.Pod.Readable && !r.Gone, r.Ended != nil:
		return true
	}
	return v.Phase.Over() && r.Number > n.number
}

// isOld reports whether an attempt ended before the time from which a client resumes.
func isOld(r attempt.Run, from time.Time) bool {
	const margin = 10 * time.Second // the last lines may be younger than the end
	return r.Ended != nil && r.Ended.FinishedAt != nil && r.Ended.FinishedAt.Add(margin).Before(from)
}

// sourceOf returns a new source for a node, or nil if the lines are those of one node.
func (c *copier) sourceOf(v task.View, rank int) *source {
	if v.NumNodes() == 1 || c.options.Node != nil {
		return nil
	}
	return c.order.add(rank)
}

// start copies attempts of a node after the attempts before them.
func (c *copier) start(ctx context.Context, n *copiedNode, due []*stream, source *source) {
	before, done := n.done, make(chan struct{})
	n.done = done
	isFirst := !c.isLater
	c.streams.Go(func() {
		defer close(done)
		defer source.remove()
		if before != nil {
			source.setAbsent(true)
			<-before
			source.setAbsent(false)
		}
		if isFirst {
			due = shareTail(ctx, due)
		}
		for _, s := range due {
			s.source = source
			s.run(ctx)
		}
	})
}

// isPast reports whether the requested attempt of every requested node has ended.
func (c *copier) isPast(v task.View) bool {
	if c.options.Attempt == 0 {
		return false
	}
	for rank := range v.Pods {
		if (c.options.Node == nil || *c.options.Node == rank) && attempt.Current(v, rank) <= c.options.Attempt {
			return false
		}
	}
	return true
}

// checkAttempt reports whether the requested attempt exists.
func checkAttempt(v task.View, o task.LogOptions) error {
	if o.Attempt == 0 {
		return nil
	}
	most, known := 0, false
	for rank := range v.Pods {
		if o.Node != nil && *o.Node != rank {
			continue
		}
		most = max(most, attempt.Current(v, rank))
		known = known || slices.ContainsFunc(attempts(v, rank), func(r attempt.Run) bool { return r.Number == o.Attempt })
	}
	switch {
	case o.Attempt > most:
		return problem.New(problem.Invalid, fmt.Sprintf("attempt: %d is out of range; the number of the last attempt is %d", o.Attempt, most))
	case !known && o.Attempt < most:
		return problem.New(problem.LogNotFound, fmt.Sprintf("the log of attempt %d was not kept; the logs of the first %d and the last %d attempts are", o.Attempt, attempt.KeepFirst, attempt.KeepLast))
	}
	return nil
}

// begin writes the line between an attempt and the attempt before. The line is the same for
// every reader, so that a client that resumes a log recognises it.
func (s *stream) begin(started time.Time) error {
	if s.marked || started.IsZero() || started.Before(s.from()) {
		return nil
	}
	s.marked = true
	text := fmt.Appendf(nil, "--- %s, started %s ---\n", attempt.Ordinal(s.number, s.most), started.UTC().Format(time.RFC3339))
	return s.write([]line{{at: started, text: text}})
}

// shareTail shares the number of requested last lines among the attempts of a node: the last
// attempts come first. shareTail returns the attempts that have some of these lines.
func shareTail(ctx context.Context, due []*stream) []*stream {
	last := len(due) - 1
	if last <= 0 || due[last].tail == nil {
		return due
	}
	left := *due[last].options.Tail
	for i := last; i >= 0 && left > 0; i-- {
		lines := due[i].countLast(ctx, left)
		if i < last {
			due[i].setTail(&lines)
		}
		if left -= lines; left <= 0 || i == 0 {
			due[i].marked = true
			return due[i:]
		}
	}
	return due[last:]
}

// countLast returns how many lines an attempt has, at most limit.
func (s *stream) countLast(ctx context.Context, limit int64) int64 {
	if !s.enter(ctx) {
		return 0
	}
	defer s.exit()
	if s.pod != nil {
		o := s.beginning()
		o.TailLines = new(limit)
		last := lineRing{most: int(limit)}
		rest, err := s.readInto(ctx, o, &last)
		if rest != nil && !rest.isMore {
			last.whole++
		}
		if err == nil {
			return min(int64(last.whole), limit)
		}
	}
	if s.tailer.store == nil {
		return 0
	}
	_, blob, err := s.tailer.store.Get(ctx, archiveName(s.task, s.rank, s.number))
	if err != nil {
		return 0
	}
	lines := 0
	_ = s.freshLines(blob, func(fresh []line, _ bool) error { // reading from memory does not fail
		lines += countLines(fresh)
		return nil
	})
	return min(int64(lines), limit)
}
