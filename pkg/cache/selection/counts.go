package selection

import (
	"unique"

	"k8s-cli/pkg/task"
)

// Counts is the number of tasks of each class, so that lists and summaries need not visit all
// tasks.
type Counts map[Class]int

// A Class is the phase and the reason under which a task is counted. The zero Class is that of a
// task that is not counted.
type Class struct {
	phase  task.Phase
	reason unique.Handle[string]
}

// NewClass returns the class of tasks with a phase and a reason.
func NewClass(p task.Phase, reason string) Class { return Class{p, unique.Make(reason)} }

// waits marks the class of the tasks that wait for admission. Their reasons depend on other
// tasks, and are derived when they are requested. No reason of Kubernetes contains a space.
var waits = unique.Make("waits for admission")

// WaitingClass returns the class of the tasks that wait for admission.
func WaitingClass() Class { return Class{task.Pending, waits} }

// Phase returns the phase of the tasks of the class.
func (c Class) Phase() task.Phase { return c.phase }

// Reason returns the reason of the tasks of the class, or waiting if they wait for admission.
func (c Class) Reason() (reason string, waiting bool) {
	if c.reason == waits {
		return "", true
	}
	return c.reason.Value(), false
}

// OfPhase returns the number of tasks in a phase.
func (c Counts) OfPhase(p task.Phase) (tasks int) {
	for class, n := range c {
		if class.phase == p {
			tasks += n
		}
	}
	return tasks
}

// Move counts one task under another class.
func (c *Counts) Move(from, to Class) {
	c.add(from, -1)
	c.add(to, 1)
}

func (c *Counts) add(class Class, n int) {
	if class == (Class{}) {
		return
	}
	if *c == nil {
		*c = Counts{}
	}
	if (*c)[class] += n; (*c)[class] == 0 {
		delete(*c, class)
	}
}
