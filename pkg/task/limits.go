package task

import (
	"fmt"
	"strconv"
	"strings"
)

// Limits are the most that one task may ask for on a server; 0 means no limit.
// What a task does not ask for is not limited by them: that is for a LimitRange
// of the cluster.
type Limits struct {
	Nodes  int
	CPUs   float64 // cores of each node
	Memory int64   // bytes of each node
	GPUs   int     // of each node
}

// Check reports the first thing of which a valid task asks for too much, in any of
// its alternatives. The error is of kind ErrInvalid.
func (l Limits) Check(t Spec) error {
	if l.Nodes > 0 && t.Nodes() > l.Nodes {
		return Error(ErrInvalid, fmt.Sprintf("num_nodes: %d is more than the %d nodes that this server allows", t.Nodes(), l.Nodes))
	}
	for _, r := range t.Resources.Alternatives() {
		if err := l.check(r); err != nil {
			return Error(ErrInvalid, "resources."+err.Error()+" per node that this server allows")
		}
	}
	return nil
}

func (l Limits) check(r Resources) error {
	if cpus := r.cores(); l.CPUs > 0 && cpus > l.CPUs {
		return fmt.Errorf("cpus: %s is more than the %g", r.CPUs, l.CPUs)
	}
	if memory := r.memoryBytes(); l.Memory > 0 && memory > float64(l.Memory) {
		return fmt.Errorf("memory: %s is more than the %s", r.Memory, sizeText(l.Memory))
	}
	if _, count, _ := r.GPUs(); l.GPUs > 0 && count > l.GPUs {
		return fmt.Errorf("accelerators: %s is more than the %d", r.Accelerators, l.GPUs)
	}
	return nil
}

func (r Resources) cores() float64 {
	s, _ := r.CPU()
	number, milli := strings.CutSuffix(s, "m")
	n, _ := strconv.ParseFloat(number, 64)
	if milli {
		return n / 1000
	}
	return n
}

func (r Resources) memoryBytes() float64 {
	s, _ := r.RAM()
	if s == "" {
		return 0
	}
	number := strings.TrimRight(s, "kKMGTPEi")
	return amount(number, s[len(number):])
}

// sizeText returns a number of bytes in the largest unit that leaves it whole.
func sizeText(bytes int64) string {
	unit := ""
	for _, next := range []string{"Ki", "Mi", "Gi", "Ti", "Pi"} {
		if bytes%1024 != 0 || bytes == 0 {
			break
		}
		bytes, unit = bytes/1024, next
	}
	return strconv.FormatInt(bytes, 10) + unit
}
