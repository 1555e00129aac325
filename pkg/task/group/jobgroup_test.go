package group

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
)

func TestJobGroupItems(t *testing.T) {
	for _, tt := range []struct {
		item JobGroupItem
		want *task.JobGroup
		err  string
	}{
		{JobGroupItem{}, nil, ""},
		{JobGroupItem{Name: "g"}, &task.JobGroup{Name: "g", Primary: true}, ""},
		{JobGroupItem{Name: "g", Auxiliary: true}, &task.JobGroup{Name: "g"}, ""},
		{JobGroupItem{Name: "g", Auxiliary: true, Delay: "1m30s"}, &task.JobGroup{Name: "g", Delay: 90}, ""},
		{JobGroupItem{Name: "g", Auxiliary: true, Delay: "0s"}, &task.JobGroup{Name: "g"}, ""},
		{JobGroupItem{Auxiliary: true}, nil, "auxiliary and termination_delay: need job_group, the name of the job group"},
		{JobGroupItem{Name: "g", Delay: "5s"}, nil, "termination_delay: is valid only for an auxiliary task; the job group waits for the others"},
		{JobGroupItem{Name: "g", Auxiliary: true, Delay: "5"}, nil, `termination_delay: "5" is not a duration with a unit, for example 90s, 30m, 2h, 1h30m, 1d or 2w`},
		{JobGroupItem{Name: "a\nb"}, nil, `job_group: "a\nb" must be at most 63 letters`},
	} {
		got, err := tt.item.Parse()
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", tt.item, diff)
		}
		if (err == nil) != (tt.err == "") || err != nil && (!errors.Is(err, problem.Invalid) || !strings.HasPrefix(err.Error(), tt.err)) {
			t.Errorf("%+v: %v, want %s", tt.item, err, tt.err)
		}
	}
}

// a returns a submission to job group g with this name.
func a(name string, change ...func(*task.Submit)) *task.Submit {
	s := &task.Submit{Task: task.Spec{Name: name}, JobGroup: &task.JobGroup{Name: "g", Primary: true}}
	for _, do := range change {
		do(s)
	}
	return s
}

func TestJoinJobGroup(t *testing.T) {
	auxiliary := func(s *task.Submit) { s.JobGroup.Primary = false }
	many := make([]*task.Submit, MaxJobGroupTasks+1)
	for i := range many {
		many[i] = a("t" + strings.Repeat("x", i%50) + strings.Repeat("y", i/50))
	}
	for _, tt := range []struct {
		name string
		all  []*task.Submit
		err  string
	}{
		{"no job group", []*task.Submit{{}, {}}, ""},
		{"no tasks", nil, ""},
		{"two tasks", []*task.Submit{a("x"), a("y", auxiliary)}, ""},
		{"one name twice", []*task.Submit{a("x"), a("y"), a("x")}, `name: the tasks 1 and 3 of job group g have the same name, "x"; choose another name for one of them`},
		{"names that differ in case", []*task.Submit{a("x"), a("X")}, "name: the tasks 1 and 2 of job group g have the same name"},
		{"too many nodes", []*task.Submit{a("x", func(s *task.Submit) { s.Task.NumNodes = 5000 }), a("y")}, ""},
		{"too many nodes with long names", []*task.Submit{a("x", func(s *task.Submit) { s.Task.NumNodes = 5100 }), a("y")}, "num_nodes: the names of all 5101 nodes of the job group do not fit into 128 KiB; request fewer nodes, or choose shorter names"},
		{"a long script and many nodes", []*task.Submit{a("x", func(s *task.Submit) { s.Task.NumNodes, s.Task.Run = 5000, strings.Repeat("x", 50_000) }), a("y")}, "task 1: run: setup, run, annotations and the names of all nodes of the job group have 260026 bytes in total, more than the limit of 250000"},
		{"without a name", []*task.Submit{a("x"), a("")}, "task 2: name: the name is missing; the tasks of a job group reach each other as {task}-{rank}.{job group}"},
		{"a name that is no host name", []*task.Submit{a("x y")}, `task 1: name: "x y" must be at most 63 letters`},
		{"two job groups", []*task.Submit{a("x"), a("y", func(s *task.Submit) { s.JobGroup.Name = "h" })}, "task 2: job_group: all tasks of the batch must name the same job group, or none"},
		{"a task beside it", []*task.Submit{a("x"), {}}, "task 2: job_group: all tasks of the batch must name the same job group, or none"},
		{"all auxiliary", []*task.Submit{a("x", auxiliary)}, "auxiliary: all tasks are auxiliary; the job group needs a primary task, whose end ends the job group"},
		{"one after the other", []*task.Submit{a("x"), a("y", func(s *task.Submit) { s.After = []string{"k"} })}, "task 2: after: the tasks of a job group start together; remove after and after_any, or submit a pipeline"},
		{"some at a time", []*task.Submit{a("x", func(s *task.Submit) { s.MaxParallel = 1 })}, "task 1: max_parallel: the tasks of a job group start together; remove max_parallel"},
		{"too many", many, "job_group: 101 tasks exceed the limit of 100; split the job group"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := JoinJobGroup(tt.all)
			if (err == nil) != (tt.err == "") || err != nil && (!errors.Is(err, problem.Invalid) || !strings.HasPrefix(err.Error(), tt.err)) {
				t.Errorf("%v, want %s", err, tt.err)
			}
		})
	}
}

func TestTheFirstTaskIdentifiesItsJobGroup(t *testing.T) {
	first, second := a("x", func(s *task.Submit) { s.ID, s.Task.NumNodes = "id1", 2 }), a("y", func(s *task.Submit) { s.ID = "id2" })
	if err := JoinJobGroup([]*task.Submit{first, second}); err != nil {
		t.Fatal(err)
	}
	before := second.JobGroup
	IdentifyJobGroup([]task.Command{{Submit: first}, {Submit: second}})
	if diff := cmp.Diff(&task.JobGroup{ID: "id1", Name: "g", Index: 1, Tasks: 2, Jobs: 3, Primary: true}, second.JobGroup); diff != "" || before.ID != "" {
		t.Errorf("earlier %+v (-want +got):\n%s", before, diff)
	}
	IdentifyJobGroup([]task.Command{{Submit: &task.Submit{}}})
}
