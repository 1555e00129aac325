package check

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"k8s-cli/test/faults/history"
)

const (
	markedBound = 10 * time.Second // bound for the time in which reads on the majority side are marked as stale
	jobBound    = 30 * time.Second // bound for the time in which a new task gets its Job from the majority side
)

// PartitionFigures are the effects of one partition on the clients.
type PartitionFigures struct {
	Partition
	Marked   time.Duration // how long reads on the majority side were marked as stale; the server with the longest time
	Refused  time.Duration // from the first refused submission on the majority side until submissions were accepted again
	FirstJob time.Duration // from the beginning until a task that the majority side accepted since had a Job; 0 if none had
	Old, New int           // reads on the minority side that were marked as stale, and that were not
}

// Partitions returns the figures of each partition.
func Partitions(h *history.History, c Config) []PartitionFigures { return newIndex(h, c).partitions() }

func (x *index) partitions() (all []PartitionFigures) {
	if len(x.Partitions) == 0 {
		return nil
	}
	lives := x.lives()
	created := x.creations(lives)
	jobs := map[string]time.Duration{} // the first Job of each task
	for _, l := range lives {
		if first, ok := jobs[l.ID]; !ok || created[l.UID] < first {
			jobs[l.ID] = created[l.UID]
		}
	}
	byPod := map[string][]*history.Op{}
	for i := range x.Ops {
		byPod[x.Ops[i].Pod] = append(byPod[x.Ops[i].Pod], &x.Ops[i])
	}
	for _, p := range x.Partitions {
		f := PartitionFigures{Partition: p}
		var submits []*history.Op
		for _, pod := range p.Majority {
			ops := within(byPod[pod], p.Span)
			f.Marked = max(f.Marked, marked(ops, p.To))
			submits = append(submits, only(ops, history.Submit)...)
		}
		f.Refused = refused(submits, p.To)
		for _, o := range submits {
			if job, ok := jobs[o.Got]; o.OK() && ok && (f.FirstJob == 0 || job-p.From < f.FirstJob) {
				f.FirstJob = job - p.From
			}
		}
		for _, pod := range p.Minority {
			for _, o := range only(within(byPod[pod], p.Span), history.Status, history.List) {
				switch {
				case !o.OK():
				case o.Current():
					f.New++
				default:
					f.Old++
				}
			}
		}
		all = append(all, f)
	}
	return all
}

// within returns the operations that began within a span.
func within(ops []*history.Op, s Span) (all []*history.Op) {
	for _, o := range ops {
		if s.From <= o.Begin && o.Begin <= s.To {
			all = append(all, o)
		}
	}
	return all
}

func only(ops []*history.Op, kinds ...history.Kind) (all []*history.Op) {
	for _, o := range ops {
		if slices.Contains(kinds, o.Kind) {
			all = append(all, o)
		}
	}
	return all
}

// marked returns how long reads of one server were marked as stale: from the beginning of
// the first marked read to the end of the next unmarked read.
func marked(ops []*history.Op, end time.Duration) (sum time.Duration) {
	reads := only(ops, history.Status, history.List, history.Volume, history.Volumes)
	slices.SortFunc(reads, func(a, b *history.Op) int { return cmp.Compare(a.End, b.End) })
	since := time.Duration(-1)
	for _, o := range reads {
		switch {
		case strings.HasPrefix(o.Stale, "log"):
			if since < 0 {
				since = o.Begin
			}
		case o.Code != 0 && since >= 0:
			sum += max(o.End-since, 0)
			since = -1
		}
	}
	if since >= 0 {
		sum += max(end-since, 0)
	}
	return sum
}

// refused returns the time from the beginning of the first refused submission to the end of
// the first accepted submission that began after the last refused submission.
func refused(submits []*history.Op, end time.Duration) time.Duration {
	var first, last *history.Op
	for _, o := range submits {
		if !o.Doubtful() {
			continue
		}
		if first == nil || o.Begin < first.Begin {
			first = o
		}
		if last == nil || o.Begin > last.Begin {
			last = o
		}
	}
	if first == nil {
		return 0
	}
	until := max(end, last.End)
	for _, o := range submits {
		if o.OK() && o.Begin >= last.Begin {
			until = min(until, o.End)
		}
	}
	return max(until-first.Begin, 0)
}

// cutoffs: the side of a partition that has a quorum of NATS continues in time.
func cutoffs(x *index) {
	for _, f := range x.partitions() {
		if !f.Apart || f.Shaken {
			continue
		}
		if f.Marked > markedBound {
			x.report(Cutoff, f.Mode, "reads of the majority were marked as old for %s in the partition at %s", at(f.Marked), at(f.From))
		}
		if f.FirstJob > jobBound || f.FirstJob == 0 && f.To-f.From > markedBound {
			x.report(Cutoff, f.Mode, "a task that the majority accepted in the partition at %s had its first Job after %s (0s: none had)", at(f.From), at(f.FirstJob))
		}
	}
}
