package documents

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/group"
)

// readJobGroup reads the fields of the header of a job group, and checks that its tasks have names
// that differ.
func (f *File) readJobGroup(header map[string]yaml.Node, tasks []document) error {
	if f.Name == "" {
		return wrong(header[fieldExecution], "name: a job group needs a name; add name beside execution")
	}
	if err := group.CheckJobGroupName(fieldName, f.Name); err != nil {
		return wrong(header[fieldName], err.Error())
	}
	names := make([]string, len(tasks))
	for i, d := range tasks {
		name := d.header[fieldName]
		if name.Decode(&names[i]) != nil || names[i] == "" {
			return wrong(header[fieldExecution], fmt.Sprintf("task %d: name: each task of a job group needs a name", i+1))
		}
		if first := slices.Index(names[:i], names[i]); first >= 0 {
			return wrong(name, fmt.Sprintf("name: task %d also has the name %s; choose another name for one of them", first+1, task.Quote(names[i])))
		}
	}
	primary, err := primaryTasks(header, names)
	if err != nil {
		return err
	}
	delays, err := terminationDelays(header, names, primary)
	if err != nil {
		return err
	}
	f.JobGroup = make([]group.JobGroupItem, len(names))
	for i, name := range names {
		f.JobGroup[i] = group.JobGroupItem{Name: f.Name, Auxiliary: !slices.Contains(primary, name), Delay: delays[name]}
	}
	return nil
}

// primaryTasks returns the names of the primary tasks: all names if the header names none.
func primaryTasks(header map[string]yaml.Node, names []string) ([]string, error) {
	n, given := header[fieldPrimary]
	if !given || n.ShortTag() == "!!null" {
		return names, nil
	}
	if n.Kind != yaml.SequenceNode || len(n.Content) == 0 {
		return nil, wrong(n, fieldPrimary+": must be a list of the names of tasks, for example [trainer]")
	}
	var primary []string
	for _, item := range n.Content {
		if !slices.Contains(names, item.Value) {
			return nil, unknownTask(*item, fieldPrimary, names)
		}
		primary = append(primary, item.Value)
	}
	return primary, nil
}

// fieldDefault is the key of termination_delay that applies to the tasks that it does not name.
const fieldDefault = "default"

// terminationDelays returns the delays of the auxiliary tasks by name. The field is one delay for
// all of them, or a mapping of default and names of tasks.
func terminationDelays(header map[string]yaml.Node, names, primary []string) (map[string]string, error) {
	n, given := header[fieldTermination]
	if !given || n.ShortTag() == "!!null" {
		return nil, nil
	}
	of := map[string]yaml.Node{}
	switch n.Kind {
	case yaml.ScalarNode:
		of[fieldDefault] = n
	case yaml.MappingNode:
		if err := n.Decode(&of); err != nil {
			return nil, wrong(n, fieldTermination+": a name occurs twice")
		}
	default:
		return nil, wrong(n, fieldTermination+": must be a duration, for example 30s, or a mapping of default and names of tasks to durations")
	}
	for _, name := range slices.Sorted(maps.Keys(of)) {
		delay := of[name]
		switch {
		case name == fieldDefault:
		case !slices.Contains(names, name):
			return nil, unknownTask(yaml.Node{Value: name, Line: delay.Line}, fieldTermination, names)
		case slices.Contains(primary, name):
			return nil, wrong(delay, fmt.Sprintf("%s: %s is a primary task, which the job group waits for; name auxiliary tasks, which are not in %s", fieldTermination, task.Quote(name), fieldPrimary))
		}
		if _, err := group.ParseDelay(delay.Value); err != nil || delay.Kind != yaml.ScalarNode {
			err = cmp.Or(err, errors.New("must be a duration, for example 30s"))
			return nil, wrong(delay, fmt.Sprintf("%s: %v", fieldTermination, err))
		}
	}
	delays := map[string]string{}
	for _, name := range names {
		if own, ok := of[name]; ok && name != fieldDefault {
			delays[name] = own.Value
		} else if !slices.Contains(primary, name) {
			delays[name] = of[fieldDefault].Value
		}
	}
	return delays, nil
}

func unknownTask(n yaml.Node, field string, names []string) error {
	const shown = 10
	return wrong(n, fmt.Sprintf("%s: the job group has no task %s; its tasks are %s", field, task.Quote(n.Value), strings.Join(names[:min(len(names), shown)], ", ")))
}
