package task

import "time"

// Amounts are amounts of processors and memory.
type Amounts struct {
	CPUs   float64 `json:"cpus"` // cores
	Memory int64   `json:"memory_bytes"`
}

// Plus returns the sum of both amounts of each resource.
func (a Amounts) Plus(b Amounts) Amounts { return Amounts{a.CPUs + b.CPUs, a.Memory + b.Memory} }

// Max returns the larger amount of each resource.
func (a Amounts) Max(b Amounts) Amounts { return Amounts{max(a.CPUs, b.CPUs), max(a.Memory, b.Memory)} }

// Amounts returns the CPUs and the memory that r requests, nil if r requests neither.
func (r Resources) Amounts() *Amounts {
	a := Amounts{r.Cores(), int64(r.MemoryBytes())}
	if a == (Amounts{}) {
		return nil
	}
	return &a
}

// A TopTask is the body of GET /tasks/{id}/top: the CPUs and the memory that the nodes of a task use.
type TopTask struct {
	ID        string     `json:"task_id"`
	Name      string     `json:"name"`
	Phase     Phase      `json:"status"`
	Requested *Amounts   `json:"requested,omitempty"`  // of each node; 0 for a resource that the task does not request
	SampledAt *time.Time `json:"sampled_at,omitempty"` // latest sample of a node
	Problem   string     `json:"problem,omitempty"`    // why there are no new samples, and what to do
	Nodes     []TopNode  `json:"nodes"`                // by rank
}

// A TopNode is one node of a TopTask.
type TopNode struct {
	Rank      int        `json:"rank"`
	Phase     Phase      `json:"status"`
	Pod       string     `json:"pod,omitempty"`
	Host      string     `json:"host,omitempty"`
	Used      *Amounts   `json:"used,omitempty"`       // in the last sample; only while the node runs
	MaxUsed   *Amounts   `json:"max_used,omitempty"`   // maximum of the samples of all attempts
	SampledAt *time.Time `json:"sampled_at,omitempty"` // only until the task ends
}
