// Package submission prepares what users submit. It reads and orders the items of a batch,
// enforces the limits of users, and chooses among the alternative resources of a task.
package submission

import (
	"fmt"

	"k8s-cli/pkg/task"
)

// Machines describes the machines of the cluster. known is false while the machines are unknown.
type Machines interface {
	// CanHold reports whether some machine could hold one node of a task if the machine were
	// empty.
	CanHold(r task.Resources) (can, known bool)
	// HasSpot reports whether the cluster has spot machines.
	HasSpot() (has, known bool)
}

// ChooseResources sets the choices of a submission: the alternative, and whether its pods require spot
// machines. The warnings explain the choices other than the obvious ones. m may be nil.
func ChooseResources(m Machines, s *task.Submit) (warnings []string) {
	if m == nil {
		m = unknown{}
	}
	all := s.Task.Resources.Alternatives()
	var warning string
	if s.Choice, warning = choose(m, all); warning != "" {
		warnings = append(warnings, warning)
	}
	if all[s.Choice].UseSpot {
		if s.Spot, warning = spot(m); warning != "" {
			warnings = append(warnings, warning)
		}
	}
	return warnings
}

type unknown struct{}

func (unknown) CanHold(task.Resources) (can, known bool) { return false, false }
func (unknown) HasSpot() (has, known bool)               { return false, false }

// choose returns the index of the alternative that the task gets: the first alternative that a
// machine of the cluster could hold if the machine were empty. If the machines are unknown or no
// machine could hold any alternative, choose returns 0.
func choose(m Machines, all []task.Resources) (choice int, warning string) {
	if len(all) == 1 {
		return 0, ""
	}
	for i, r := range all {
		can, known := m.CanHold(r)
		switch {
		case !known:
			return 0, fmt.Sprintf("resources: using the first of %d alternatives%s: this server cannot read the machines of the cluster", len(all), describe(r))
		case can && i == 0:
			return 0, ""
		case can:
			return i, fmt.Sprintf("resources: using alternative %d of %d%s: no machine can hold the earlier alternatives", i+1, len(all), describe(r))
		}
	}
	return 0, fmt.Sprintf("resources: using the first of %d alternatives%s, and the task waits: no machine can hold any alternative", len(all), describe(all[0]))
}

// describe returns the accelerators of an alternative in parentheses, or "".
func describe(r task.Resources) string {
	if r.Accelerators == "" {
		return ""
	}
	return " (" + r.Accelerators + ")"
}

// spot reports whether a task with use_spot requires spot machines. The warning says why not.
func spot(m Machines) (required bool, warning string) {
	has, known := m.HasSpot()
	switch {
	case !known:
		return false, "resources.use_spot: not used; this server cannot read the machines of the cluster"
	case !has:
		return false, "resources.use_spot: not used; no machine of the cluster has a label of spot machines"
	}
	return true, ""
}
