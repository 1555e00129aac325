package show

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"k8s-cli/pkg/task"
)

// Top writes what tasks use, as used/requested of all nodes together.
func Top(w io.Writer, s Style, tasks []task.TopTask) {
	now := time.Now()
	t := table{rows: len(tasks)}
	t.column("Task ID", func(i int) string { return tasks[i].ID })
	t.add(column{header: "Name", shrink: 3}, func(i int) string { return tasks[i].Name })
	t.column("Nodes", func(i int) string { return strconv.Itoa(len(tasks[i].Nodes)) })
	t.column("CPUs", func(i int) string { return usedOf(tasks[i], cpus) })
	t.column("Memory", func(i int) string { return usedOf(tasks[i], memory) })
	t.add(column{header: "Max CPUs", drop: 2}, func(i int) string { return cpus(maxUsed(tasks[i].Nodes)) })
	t.column("Max memory", func(i int) string { return memory(maxUsed(tasks[i].Nodes)) })
	t.add(column{header: "Sampled", drop: 1}, func(i int) string {
		if tasks[i].SampledAt == nil {
			return ""
		}
		return duration.HumanDuration(max(now.Sub(*tasks[i].SampledAt), 0)) + " ago"
	})
	t.write(w, s)
}

// usedOf formats one resource as used/requested, or only as used if the task does not request the
// resource.
func usedOf(t task.TopTask, format func(*task.Amounts) string) string {
	var used, requested *task.Amounts
	for _, n := range t.Nodes {
		used, requested = plus(used, n.Used), plus(requested, t.Requested)
	}
	if text := format(requested); text != "" && text != format(&task.Amounts{}) {
		return orDash(format(used)) + "/" + text
	}
	return format(used)
}

// plus returns the sum of two amounts, of which both may be unknown.
func plus(a, b *task.Amounts) *task.Amounts {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return new(a.Plus(*b))
}

func maxUsed(nodes []task.TopNode) (most *task.Amounts) {
	for _, n := range nodes {
		switch {
		case most == nil:
			most = n.MaxUsed
		case n.MaxUsed != nil:
			most = new(most.Max(*n.MaxUsed))
		}
	}
	return most
}

// cpus formats a number of cores in thousandths, "" if the number is unknown.
func cpus(a *task.Amounts) string {
	if a == nil {
		return ""
	}
	return cores(math.Round(a.CPUs*1000) / 1000)
}

func memory(a *task.Amounts) string {
	if a == nil {
		return ""
	}
	return size(a.Memory)
}

// nodeMax formats the largest amounts that a node used, "" if they are unknown.
func nodeMax(n task.Node) string {
	if n.MaxUsed == nil {
		return ""
	}
	return fmt.Sprintf("%s CPUs, %s of memory", cpus(n.MaxUsed), memory(n.MaxUsed))
}

// knowMax reports whether the maximum of one of the nodes is known.
func knowMax(nodes []task.Node) bool {
	return slices.ContainsFunc(nodes, func(n task.Node) bool { return n.MaxUsed != nil })
}
