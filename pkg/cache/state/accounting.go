package state

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"time"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/usage"
)

// maxGroupsPerDay bounds the groups of one user whose usage of one day is counted separately. The
// usage of further groups counts like the usage of tasks without a group.
const maxGroupsPerDay = 250

// A ledger holds the usage of each day.
type ledger map[usage.Day]*usageDay

// A usageDay is the usage of one day.
type usageDay struct {
	sums   map[usage.Key]usage.Sum
	groups map[string]int // number of groups in sums, by user
}

// A usageLine is a line of a snapshot: the usage of one day, user and group.
type usageLine struct {
	Day usage.Day `json:"day"`
	usage.Key
	usage.Sum
}

// Usage returns the usage of one day, in no particular order.
func (s *State) Usage(d usage.Day) iter.Seq2[usage.Key, usage.Sum] {
	day := s.ledger[d]
	if day == nil {
		day = &usageDay{}
	}
	return maps.All(day.sums)
}

// account adds the usage of a task that ends to the ledger. nodes holds the final state of its
// nodes.
func (s *State) account(r *task.Record, nodes []task.Node) {
	who, today := usage.Key{User: r.Submit.User, Group: r.Submit.Group}, usage.DayOf(s.Time)
	if s.ledger[today] == nil {
		s.ledger.expire(today - usage.MaxDays)
		s.ledger.mergeGroups(today - usage.GroupDays)
	}
	s.ledger.add(today, who, usage.Sum{Tasks: 1})
	of := requestOf(r.Submit.Resources())
	attempted := map[int]time.Time{} // when the last attempt of a node ended that has its own span, by rank
	for _, a := range r.Attempts {
		s.accountSpan(who, of, r.CreatedAt, a.StartedAt, a.FinishedAt)
		if a.FinishedAt != nil {
			attempted[a.Rank] = later(attempted[a.Rank], *a.FinishedAt)
		}
	}
	for rank, n := range nodes {
		s.accountSpan(who, of, later(r.CreatedAt, attempted[rank]), n.StartedAt, n.FinishedAt)
	}
}

// requestOf returns what a node requests, as the usage of one second.
func requestOf(r task.Resources) usage.Sum {
	_, gpus, _ := r.GPUs() // the error means that the task has no GPUs
	const gib = 1 << 30
	return usage.Sum{Nodes: 1, CPU: r.Cores(), GPU: float64(gpus), Memory: r.MemoryBytes() / gib}
}

// accountSpan adds the usage of one run of a node. The clocks of the machines may be wrong: a run
// lasts at most from earliest to the log time.
func (s *State) accountSpan(who usage.Key, of usage.Sum, earliest time.Time, started, finished *time.Time) {
	if started == nil {
		return
	}
	from, to := later(later(*started, earliest), s.Time.Add(-usage.MaxDays*usage.DayLength)), s.Time
	if finished != nil && finished.Before(to) {
		to = *finished
	}
	for from.Before(to) {
		day := usage.DayOf(from)
		end := (day + 1).Start()
		if end.After(to) {
			end = to
		}
		if day <= usage.DayOf(s.Time)-usage.GroupDays {
			s.ledger.add(day, usage.Key{User: who.User}, times(of, end.Sub(from).Seconds()))
		} else {
			s.ledger.add(day, who, times(of, end.Sub(from).Seconds()))
		}
		from = end
	}
}

// times multiplies the usage of one second. The conversions keep the compiler from fusing the
// products with the additions that follow, so that the sums are equal on every processor.
func times(of usage.Sum, seconds float64) usage.Sum {
	return usage.Sum{
		Nodes: float64(of.Nodes * seconds), CPU: float64(of.CPU * seconds), GPU: float64(of.GPU * seconds), Memory: float64(of.Memory * seconds),
	}
}

func (l ledger) add(d usage.Day, k usage.Key, sum usage.Sum) {
	day := l[d]
	if day == nil {
		day = &usageDay{map[usage.Key]usage.Sum{}, map[string]int{}}
		l[d] = day
	}
	if _, known := day.sums[k]; !known && k.Group != "" {
		if day.groups[k.User] >= maxGroupsPerDay {
			k.Group = ""
		} else {
			day.groups[k.User]++
		}
	}
	day.sums[k] = day.sums[k].Plus(sum)
}

// expire removes the days before first.
func (l ledger) expire(first usage.Day) {
	maps.DeleteFunc(l, func(d usage.Day, _ *usageDay) bool { return d < first })
}

// mergeGroups adds the usage of the groups to the usage of tasks without a group, for the days up to
// last. A CI system makes a group with a new name for each run, so the ledger would grow without end.
func (l ledger) mergeGroups(last usage.Day) {
	for d, day := range l {
		if d > last || len(day.groups) == 0 {
			continue
		}
		merged := &usageDay{map[usage.Key]usage.Sum{}, map[string]int{}}
		byKey := func(a, b usage.Key) int { return cmp.Or(cmp.Compare(a.User, b.User), cmp.Compare(a.Group, b.Group)) }
		for _, k := range slices.SortedFunc(maps.Keys(day.sums), byKey) { // in order, because sums of floating-point numbers depend on it
			to := usage.Key{User: k.User}
			merged.sums[to] = merged.sums[to].Plus(day.sums[k])
		}
		l[d] = merged
	}
}

// clone returns a copy for a snapshot. The copy has no counts of groups.
func (l ledger) clone() ledger {
	c := make(ledger, len(l))
	for d, day := range l {
		c[d] = &usageDay{sums: maps.Clone(day.sums)}
	}
	return c
}

// lines returns the lines of a snapshot, in order.
func (l ledger) lines() []usageLine {
	var all []usageLine
	for d, day := range l {
		for k, sum := range day.sums {
			all = append(all, usageLine{d, k, sum})
		}
	}
	slices.SortFunc(all, func(a, b usageLine) int {
		return cmp.Or(cmp.Compare(a.Day, b.Day), cmp.Compare(a.User, b.User), cmp.Compare(a.Group, b.Group))
	})
	return all
}
