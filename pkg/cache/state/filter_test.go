package state

import (
	"slices"
	"strings"
	"testing"
	"time"

	"k8s-cli/pkg/task"
)

// filtered returns the stop of the tasks of a user that a filter selects.
func filtered(user string, f task.Filter) task.Command {
	return task.Command{StopAll: &task.StopAll{User: user, Filter: &f}}
}

func TestStopByFilter(t *testing.T) {
	with := func(user, id string, set func(*task.Submit)) task.Command {
		c := submit(user, id)
		set(c.Submit)
		return c
	}
	all := history(
		with("ann", "plain", func(*task.Submit) {}),
		with("ann", "eval", func(s *task.Submit) { s.Task.Name = "Eval-1" }),
		with("ann", "gpu", func(s *task.Submit) { s.Task.Resources.Accelerators = "H100:8" }),
		with("ann", "labelled", func(s *task.Submit) { s.Task.Resources.Labels = map[string]string{"team": "a"} }),
		with("ann", "point", func(s *task.Submit) {
			s.Task.Annotations = map[string]string{task.AnnotationPoint: "LR=0.1 B=2", "note": "x"}
		}),
		with("ann", "grouped", func(s *task.Submit) { s.Group = "g" }),
		with("ann", "running", func(*task.Submit) {}), applied(taskKey("running"), "u"), started("running"),
		with("ann", "done", func(*task.Submit) {}), applied(taskKey("done"), "u"), ended("done", task.Completed),
		with("bob", "bobs", func(*task.Submit) {}),
	)
	when := func(c task.Conditions) task.Filter { return task.Filter{Conditions: c} }
	not := func(c task.Conditions) task.Filter { return task.Filter{Not: &c} }
	submitted := newTestState(t, all...).Tasks
	for _, tt := range []struct {
		name   string
		filter task.Filter
		want   string // the stopped tasks, in the order of their submission
	}{
		{"pending", when(task.Conditions{Phases: []task.Phase{task.Pending}}), "plain eval gpu labelled point grouped"},
		{"running", when(task.Conditions{Phases: []task.Phase{task.Running}}), "running"},
		{"a task that is over is not stopped", when(task.Conditions{Phases: []task.Phase{task.Completed}}), ""},
		{"name", when(task.Conditions{Name: "Eval-1"}), "eval"},
		{"a name differs in upper and lower case", when(task.Conditions{Name: "eval-1"}), ""},
		{"beginning of the name", when(task.Conditions{NamePrefix: "Eval"}), "eval"},
		{"parts of the name", when(task.Conditions{NameContains: []string{"VAL", "-1"}}), "eval"},
		{"one part is missing", when(task.Conditions{NameContains: []string{"VAL", "-2"}}), ""},
		{"number of GPUs", when(task.Conditions{GPUs: []string{"8"}}), "gpu"},
		{"model of GPUs", when(task.Conditions{GPUs: []string{"A100", "h100"}}), "gpu"},
		{"model and number of GPUs", when(task.Conditions{GPUs: []string{"H100:4"}}), ""},
		{"no GPUs", when(task.Conditions{GPUs: []string{"0"}}), "plain eval labelled point grouped running"},
		{"label", when(task.Conditions{Labels: []string{"team=a"}}), "labelled"},
		{"annotation", when(task.Conditions{Annotations: []string{"note"}}), "point"},
		{"point", when(task.Conditions{Points: []string{"B=2", "LR=0.1"}}), "point"},
		{"part of a point", when(task.Conditions{Points: []string{"R=0.1"}}), ""},
		{"since", task.Filter{From: submitted["grouped"].CreatedAt}, "grouped running"},
		{"before", task.Filter{Until: submitted["gpu"].CreatedAt}, "plain eval"},
		{"not pending", not(task.Conditions{Phases: []task.Phase{task.Pending}}), "running"},
		{"none of several", not(task.Conditions{Group: "g", Labels: []string{"team"}, Name: "train"}), "eval"},
		{"both", task.Filter{Conditions: task.Conditions{Name: "train"}, Not: &task.Conditions{GPUs: []string{"0"}}}, "gpu"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newTestState(t, all...)
			result, changed := s.fold(filtered("ann", tt.filter))
			var got []string
			for _, k := range changed {
				got = append(got, k.ID)
			}
			if strings.Join(got, " ") != tt.want || result.Count != len(got) {
				t.Errorf("it stops %v and counts %d, want %s", got, result.Count, tt.want)
			}
			for id, r := range s.Tasks {
				if stopped := r.Phase() == task.Stopped; stopped != slices.Contains(got, id) {
					t.Errorf("task %s is %s", id, r.Phase())
				}
			}
		})
	}
}

// A stop by filter selects the tasks at its place in the log, and not those that match later.
func TestStopByFilterSelectsOnce(t *testing.T) {
	pending := task.Filter{Conditions: task.Conditions{Phases: []task.Phase{task.Pending}}, Since: "1h", From: noon.Add(-time.Hour)}
	stop := filtered("ann", pending)
	stop.StopAll.Key = "k"
	s := newTestState(t, submit("ann", "a"), submit("bob", "bobs"))
	if result, _ := s.fold(stop); result.Count != 1 {
		t.Errorf("the stop counts %d", result.Count)
	}
	s.fold(submit("ann", "later"))
	again := filtered("ann", pending)
	again.StopAll.Key, again.StopAll.Filter.From = "k", noon.Add(-time.Minute) // the same age, a minute later
	s.State = decoded(t, encoded(t, s.Snapshot()))
	if result, changed := s.fold(again); result.Count != 1 || len(changed) != 0 {
		t.Errorf("the repeated stop counts %d and changes %v", result.Count, changed)
	}
	for id, want := range map[string]task.Phase{"a": task.Stopped, "later": task.Pending, "bobs": task.Pending} {
		if got := s.Tasks[id].Phase(); got != want {
			t.Errorf("task %s is %s, want %s", id, got, want)
		}
	}
	other := filtered("ann", task.Filter{Conditions: pending.Conditions, Since: "2h"})
	other.StopAll.Key = "k"
	if result, _ := s.fold(other); result.Rejection != task.RejectedKeyReuse {
		t.Errorf("another filter with the same key: %+v", result)
	}
	everyone := stopEveryone("root")
	everyone.StopAll.Filter = &task.Filter{Conditions: task.Conditions{Name: "train"}}
	if result, _ := s.fold(everyone); result.Count != 2 {
		t.Errorf("the stop for all users counts %d", result.Count)
	}
}
