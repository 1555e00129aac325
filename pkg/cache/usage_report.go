package cache

import "k8s-cli/pkg/task/usage"

// UsageReport returns the report of a query about the resources that ended tasks used. The days
// may be of different moments.
func (a Answers) UsageReport(q usage.Query) usage.Report {
	c := usage.NewCollector(q)
	a.model.mu.RLock()
	last := usage.DayOf(a.model.state.Time)
	a.model.mu.RUnlock()
	for d := max(q.Since, last-usage.MaxDays); d <= last; d++ {
		a.model.mu.RLock()
		for k, s := range a.model.state.Usage(d) {
			c.Add(d, k, s)
		}
		a.model.mu.RUnlock()
	}
	return c.Report()
}
