package cache

import (
	"math"
	"sort"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/overview"
	"k8s-cli/pkg/task/query"
)

// Summary returns counts of the tasks of a user, or of all users.
func (a Answers) Summary(user string, all bool) overview.Summary {
	a.model.mu.RLock()
	defer a.model.mu.RUnlock()
	m, s := a.model.model, overview.Summary{ByStatus: overview.Counts{}, ByReason: map[string]int{}}
	for _, p := range query.Phases {
		s.ByStatus[p] = 0
	}
	m.eachCount(user, all, "", func(p task.Phase, reason string, n int) {
		s.Total += n
		s.ByStatus[p] += n
		if reason != "" {
			s.ByReason[reason] += n
		}
	})
	if all {
		s.ByUser = m.index.countsByUser()
	}
	s.Backlog = m.admission.queue.summary(user, all)
	return s
}

// SummaryVersion returns numbers that change whenever the summary may change.
func (a Answers) SummaryVersion(user string, all bool) [2]uint64 {
	a.model.mu.RLock()
	defer a.model.mu.RUnlock()
	return [2]uint64{a.model.index.of(user, all).version, a.model.admission.queue.revision}
}

// countsByUser returns the number of tasks of each user in each phase.
func (x *index) countsByUser() map[string]overview.Counts {
	all := make(map[string]overview.Counts, len(x.byUser))
	for user, u := range x.byUser {
		if len(u.tasks) == 0 { // the user has only volumes
			continue
		}
		all[user] = overview.Counts{}
		for class, n := range u.counts {
			all[user][class.Phase()] += n
		}
	}
	return all
}

// summary describes the part of the backlog that belongs to a user, or the whole backlog.
func (q *fairQueue) summary(user string, all bool) (s overview.Backlog) {
	earliest := func(i *taskItem) {
		if at := i.record.CreatedAt; s.Oldest == nil || at.Before(*s.Oldest) {
			s.Oldest = &at
		}
	}
	for _, i := range q.creating {
		if all || i.record.User() == user {
			s.Tasks++
			earliest(i)
		}
	}
	lines := map[string][]*taskItem{user: q.userQueues[user]}
	if all {
		lines = q.userQueues
	}
	for _, line := range lines {
		s.Tasks += len(line)
		for i := 0; i < len(line); { // the tasks of one priority are in the order of submission
			earliest(line[i])
			priority := line[i].priority
			i += sort.Search(len(line)-i, func(n int) bool { return line[i+n].priority < priority })
		}
	}
	s.Rate = math.Round(10*q.rate()) / 10
	return s
}
