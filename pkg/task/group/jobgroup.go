package group

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
)

// The fields of an item of a batch that make the task a task of a job group.
const (
	JobGroupParam  = "job_group"
	AuxiliaryParam = "auxiliary"
	DelayParam     = "termination_delay"
)

// MaxJobGroupTasks is the largest number of tasks of a job group.
const MaxJobGroupTasks = 100

// Each pod has an annotation with the addresses and the names of all nodes. Kubernetes limits all
// annotations of an object to 256 KiB together.
const (
	maxHosts    = 128 << 10 // bytes of the annotation
	hostsOfNode = 24        // bytes of an address and of the rank of a node
)

// A JobGroupItem holds these fields of one item. The zero JobGroupItem belongs to no job group.
type JobGroupItem struct {
	Name      string `json:"job_group,omitempty"`
	Auxiliary bool   `json:"auxiliary,omitempty"`         // the job group does not wait for the task, and ends it
	Delay     string `json:"termination_delay,omitempty"` // how long an auxiliary task runs after the primary tasks
}

// Parse returns the membership that the item asks for, nil if the item is in no job group. The error
// is of kind problem.Invalid and names the field.
func (i JobGroupItem) Parse() (*task.JobGroup, error) {
	switch {
	case i == JobGroupItem{}:
		return nil, nil
	case i.Name == "":
		return nil, invalid("%s and %s: need %s, the name of the job group", AuxiliaryParam, DelayParam, JobGroupParam)
	case i.Delay != "" && !i.Auxiliary:
		return nil, invalid("%s: is valid only for an auxiliary task; the job group waits for the others", DelayParam)
	}
	if err := CheckJobGroupName(JobGroupParam, i.Name); err != nil {
		return nil, err
	}
	delay, err := ParseDelay(i.Delay)
	if err != nil {
		return nil, invalid("%s: %v", DelayParam, err)
	}
	return &task.JobGroup{Name: i.Name, Primary: !i.Auxiliary, Delay: int(delay.Seconds())}, nil
}

// ParseDelay parses a termination_delay. No text and zero mean no delay.
func ParseDelay(text string) (time.Duration, error) {
	if text == "" || text == "0" || text == "0s" {
		return 0, nil
	}
	return task.ParseDuration(text)
}

// CheckJobGroupName returns an error if a name of a job group or a task cannot be a part of a host name.
func CheckJobGroupName(field, name string) error {
	if err := task.CheckLabelValue(name); err != nil || name == "" {
		return invalid("%s: %v; the tasks of a job group reach each other as {task}-{rank}.{job group}", field,
			cmp.Or(err, fmt.Errorf("the name is missing")))
	}
	return nil
}

// JoinJobGroup makes the submissions of one batch one job group, if one of them names a job group.
// The error is of kind problem.Invalid and names the field and the task.
func JoinJobGroup(all []*task.Submit) error {
	jobs, hosts, primaries, names := 0, 0, 0, map[string]int{} // by name in lower case, as in host names
	for i, s := range all {
		if err := check(all[0], s); err != nil {
			return fmt.Errorf("task %d: %w", i+1, err)
		}
		if s.JobGroup == nil {
			continue
		}
		name := strings.ToLower(s.Task.Name)
		if first, twice := names[name]; twice {
			return invalid("name: the tasks %d and %d of job group %s have the same name, %s; choose another name for one of them", first+1, i+1, s.JobGroup.Name, task.Quote(s.Task.Name))
		}
		if names[name] = i; s.JobGroup.Primary {
			primaries++
		}
		jobs += s.Task.Nodes()
		hosts += s.Task.Nodes() * (len(s.Task.Name) + len(s.JobGroup.Name) + hostsOfNode)
	}
	switch {
	case len(names) == 0:
		return nil
	case len(names) > MaxJobGroupTasks:
		return invalid("%s: %d tasks exceed the limit of %d; split the job group", JobGroupParam, len(names), MaxJobGroupTasks)
	case hosts > maxHosts:
		return invalid("num_nodes: the names of all %d nodes of the job group do not fit into %d KiB; request fewer nodes, or choose shorter names", jobs, maxHosts>>10)
	case primaries == 0:
		return invalid("%s: all tasks are auxiliary; the job group needs a primary task, whose end ends the job group", AuxiliaryParam)
	}
	for i, s := range all {
		if size := s.Task.AnnotationSize() + hosts; size > task.MaxAnnotations {
			return invalid("task %d: run: setup, run, annotations and the names of all nodes of the job group have %d bytes in total, more than the limit of %d", i+1, size, task.MaxAnnotations)
		}
		s.JobGroup.Index, s.JobGroup.Tasks, s.JobGroup.Jobs = i, len(all), jobs
	}
	return nil
}

// check checks one submission of a batch that begins with first.
func check(first, s *task.Submit) error {
	switch {
	case (s.JobGroup == nil) != (first.JobGroup == nil), s.JobGroup != nil && s.JobGroup.Name != first.JobGroup.Name:
		return invalid("%s: all tasks of the batch must name the same job group, or none", JobGroupParam)
	case s.JobGroup == nil:
		return nil
	case len(s.After)+len(s.AfterAny) > 0:
		return invalid("after: the tasks of a job group start together; remove after and after_any, or submit a pipeline")
	case s.MaxParallel > 0:
		return invalid("max_parallel: the tasks of a job group start together; remove max_parallel")
	}
	return CheckJobGroupName("name", s.Task.Name)
}

// IdentifyJobGroup gives the job group of these submissions its id, which is the id of the first
// one. Without a job group, IdentifyJobGroup does nothing.
func IdentifyJobGroup(all []task.Command) {
	for _, c := range all {
		if c.Submit.JobGroup != nil {
			g := *c.Submit.JobGroup // a repeated submission must not change the earlier one
			g.ID = all[0].Submit.ID
			c.Submit.JobGroup = &g
		}
	}
}

func invalid(format string, args ...any) error {
	return problem.New(problem.Invalid, fmt.Sprintf(format, args...))
}
