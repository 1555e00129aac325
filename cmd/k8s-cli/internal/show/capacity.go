package show

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"k8s-cli/pkg/task/overview"
)

// A CapacityTable writes a part of the capacity of a cluster.
type CapacityTable func(io.Writer, Style, overview.Capacity)

// GPUs writes the GPUs of a cluster by model.
func GPUs(w io.Writer, s Style, c overview.Capacity) {
	all := c.GPUs
	t := table{rows: len(all)}
	number := func(header string, drop int, of func(overview.GPUModel) int64) {
		t.add(column{header: header, drop: drop}, func(i int) string { return strconv.FormatInt(of(all[i]), 10) })
	}
	t.column("GPU", func(i int) string { return all[i].Model })
	number("Total", 0, func(g overview.GPUModel) int64 { return g.Allocatable })
	number("Free", 0, func(g overview.GPUModel) int64 { return g.Free })
	number("Requested", 2, func(g overview.GPUModel) int64 { return g.Requested })
	number("Machines", 1, func(g overview.GPUModel) int64 { return int64(g.Nodes) })
	number("Largest", 3, func(g overview.GPUModel) int64 { return g.Largest })
	number("Largest free", 4, func(g overview.GPUModel) int64 { return g.LargestFree })
	t.write(w, s)
}

// Machines writes the machines of a cluster with what is free on them.
func Machines(w io.Writer, s Style, c overview.Capacity) {
	all := c.Nodes
	t := table{rows: len(all)}
	t.column("Name", func(i int) string { return all[i].Name })
	t.column("Status", func(i int) string { return machineStatus(all[i]) })
	t.column("CPUs", func(i int) string { return cores(all[i].Free.CPUs) + "/" + cores(all[i].Allocatable.CPUs) })
	t.column("Memory", func(i int) string { return size(all[i].Free.Memory) + "/" + size(all[i].Allocatable.Memory) })
	t.add(column{header: "GPUs", drop: 4}, func(i int) string {
		if all[i].Allocatable.GPUs == 0 {
			return ""
		}
		return strings.TrimSpace(fmt.Sprintf("%d/%d %s", all[i].Free.GPUs, all[i].Allocatable.GPUs, all[i].GPU))
	})
	t.add(column{header: "Pods", drop: 3}, func(i int) string { return fmt.Sprintf("%d/%d", all[i].Free.Pods, all[i].Allocatable.Pods) })
	t.add(column{header: "Taint", shrink: 1, drop: 2}, func(i int) string { return all[i].Taint })
	t.write(w, s)
}

func machineStatus(n overview.Node) string {
	switch {
	case !n.Ready:
		return "not ready"
	case !n.Schedulable:
		return "closed"
	}
	return "ready"
}

// Amounts formats amounts of resources in one line.
func Amounts(a overview.Amounts) string {
	parts := []string{cores(a.CPUs) + " CPUs", size(a.Memory) + " of memory"}
	if a.CPUs == 1 {
		parts[0] = "1 CPU"
	}
	if gpus := counted(int(a.GPUs), "GPU"); gpus != "" {
		parts = append(parts, gpus)
	}
	return strings.Join(parts, ", ")
}

func cores(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

// size formats a size in GiB, or in MiB below one GiB.
func size(n int64) string {
	const mi, gi = 1 << 20, 1 << 30
	if n > -gi && n < gi {
		return strconv.FormatInt(n/mi, 10) + "Mi"
	}
	return strconv.FormatFloat(float64(n*10/gi)/10, 'f', -1, 64) + "Gi"
}
