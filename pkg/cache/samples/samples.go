// Package samples holds the CPUs and the memory that nodes of tasks use. The metrics API of
// Kubernetes measures them. The leader takes the samples and sends them to all servers, which
// hold them in memory. The log has only the maximum of each node, in the fact that its task
// ended.
package samples

import (
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s-cli/pkg/task"
)

// Interval is the time between two samples of a node.
const Interval = 30 * time.Second

// maxSilence is the time without a message after which the samples are old.
const maxSilence = 4 * Interval

// A Sample is what one node used at one moment.
type Sample struct {
	TaskID string       `json:"task"`
	Rank   int          `json:"rank"`
	At     time.Time    `json:"at"`
	Used   task.Amounts `json:"used"`
	Max    task.Amounts `json:"max"` // of all samples of the node so far, this one included
}

// A message carries samples from the leader to all servers. It contains Max, so that a server that
// starts later, and may become the leader, continues with the maximum.
type message struct {
	Samples []Sample `json:"samples,omitempty"`
	Problem string   `json:"problem,omitempty"` // why there are no samples, and what to do
}

// Samples holds the last sample of each node of the running tasks. Samples is safe for concurrent use.
type Samples struct {
	view func(id string) task.View

	mu       sync.Mutex
	tasks    map[string][]Sample // by the id of the task
	received time.Time           // when the last message arrived
	problem  string
}

// New returns Samples without samples. view returns the view of a task, the zero View if the task is
// unknown.
func New(view func(id string) task.View) *Samples {
	return &Samples{view: view, tasks: map[string][]Sample{}}
}

// Receive adds the samples of a message, and removes the samples of tasks that are over. Receive
// ignores a message that it cannot read, because the leader may be of another release.
func (s *Samples) Receive(raw []byte) {
	var m message
	if json.Unmarshal(raw, &m) != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.received, s.problem = time.Now(), m.Problem
	for _, one := range m.Samples {
		s.put(one)
	}
	maps.DeleteFunc(s.tasks, func(id string, _ []Sample) bool {
		v := s.view(id)
		return v.Record == nil || v.Phase.Over()
	})
}

// put replaces the sample of a node. The maximum does not fall, even if the leader knows less than
// this server.
func (s *Samples) put(one Sample) {
	all := s.tasks[one.TaskID]
	i := slices.IndexFunc(all, func(known Sample) bool { return known.Rank == one.Rank })
	if i < 0 {
		s.tasks[one.TaskID] = append(all, one)
		return
	}
	one.Max = one.Max.Max(all[i].Max)
	all[i] = one
}

// Of returns the last samples of the nodes of a task, in no particular order.
func (s *Samples) Of(id string) []Sample {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.tasks[id])
}

// Problem returns why there are no new samples, and what to do, in a sentence. Problem returns "" if
// there are new samples.
func (s *Samples) Problem() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.received.IsZero():
		return "This server has received no samples yet; the leader takes samples every " + Interval.String()
	case time.Since(s.received) > maxSilence:
		return "The samples are old: the leader has sent none since " + s.received.UTC().Format(time.RFC3339)
	}
	return s.problem
}

// AddMax adds the maximum of each node to the fact that its task ended.
func (s *Samples) AddMax(end *task.Ended) {
	for _, one := range s.Of(end.ID) {
		if one.Rank < len(end.Nodes) {
			end.Nodes[one.Rank].MaxUsed = new(one.Max)
		}
	}
}
