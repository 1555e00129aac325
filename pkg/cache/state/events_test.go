package state

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"k8s-cli/pkg/task"
)

// said returns events in a short form.
func said(events []task.Event) (all []string) {
	for _, e := range events {
		text := fmt.Sprintf("%s %s %s %s", e.ID, e.Type, e.Key(), e.Status)
		if e.Reason != "" {
			text += " because " + e.Reason
		}
		all = append(all, text)
	}
	return all
}

func claimed(id, phase string) task.Command {
	return task.Command{Claimed: &task.Claimed{ID: id, Phase: phase}}
}

func TestEventsFollowFromTheLog(t *testing.T) {
	a, v := taskKey("a"), volumeKey("v")
	for _, tt := range []struct {
		name string
		log  []task.Command
		want []string
	}{
		{
			"a task that succeeds",
			history(submit("ann", "a"), resolved("a", "x"), delayed(a, "Quota"), applied(a, "u"), started("a"), ended("a", task.Completed), gone(a)),
			[]string{"2.1 phase task/a pending", "4.1 progress task/a pending because Quota", "5.1 progress task/a pending because Applied", "6.1 phase task/a running", "7.1 phase task/a completed because end"},
		},
		{
			"a task that nobody saw running",
			history(submit("ann", "a"), applied(a, "u"), ended("a", task.Failed)),
			[]string{"2.1 phase task/a pending", "3.1 progress task/a pending because Applied", "4.1 phase task/a failed because end"},
		},
		{
			"a stop comes first, what follows is late",
			history(submit("ann", "a"), stop("ann", "a"), stop("ann", "a"), applied(a, "u"), refused(a, "Invalid"), ended("a", task.Completed)),
			[]string{"2.1 phase task/a pending", "3.1 phase task/a stopped"},
		},
		{
			"a stop of many is one entry",
			history(submit("ann", "a"), submit("bob", "b"), submit("ann", "c"), stopEveryone("bob")),
			[]string{"2.1 phase task/a pending", "3.1 phase task/b pending", "4.1 phase task/c pending", "5.1 phase task/a stopped", "5.2 phase task/c stopped", "5.3 phase task/b stopped"},
		},
		{
			"a refusal",
			history(submit("ann", "a"), refused(a, "Invalid")),
			[]string{"2.1 phase task/a pending", "3.1 phase task/a failed because Invalid"},
		},
		{
			"a volume",
			history(create("ann", "v", "data"), applied(v, "u"), claimed("v", task.VolumeBound), claimed("v", task.VolumeBound), claimed("v", task.VolumeLost), remove("ann", "v"), gone(v)),
			[]string{"2.1 phase volume/v Pending", "3.1 progress volume/v Pending because Applied", "4.1 phase volume/v Bound", "6.1 phase volume/v Lost", "7.1 phase volume/v Deleted"},
		},
		{
			"a volume that is refused, and deleted",
			history(create("ann", "v", "data"), refused(v, "Invalid"), claimed("v", task.VolumeBound), remove("ann", "v")),
			[]string{"2.1 phase volume/v Pending", "3.1 phase volume/v Failed because Invalid", "5.1 phase volume/v Deleted because Invalid"},
		},
		{
			"an adopted volume, and a phase that is none of a claim",
			history(adoptedVolume("ann", "v"), claimed("v", "Pending"), claimed("v", "bound")),
			[]string{"2.1 phase volume/v Pending"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newTestState(t)
			var got []task.Event
			for i, c := range tt.log {
				got = append(got, s.Fold(entry(uint64(i+2), "writer", uint64(i+1), c)).Events...)
			}
			if diff := cmp.Diff(tt.want, said(got)); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}

// A list can show a new task by its first event alone.
func TestFirstEventOfATaskHasItsRequests(t *testing.T) {
	for _, tt := range []struct {
		spec task.Spec
		want string
	}{
		{task.Spec{NumNodes: 2, Resources: task.Resources{CPUs: "4+", Memory: "16", Accelerators: "H100"}}, `"num_nodes":2,"resources":{"cpus":"4+","memory":"16","gpus":"H100:1"}}`},
		{task.Spec{Resources: task.Resources{Ordered: []task.Resources{{CPUs: "1"}, {CPUs: "2", Accelerators: "3"}}}}, `"num_nodes":1,"resources":{"cpus":"2","gpus":"3"}}`},
		{task.Spec{}, `"num_nodes":1,"resources":{}}`},
	} {
		s := newTestState(t)
		c := task.Command{Submit: &task.Submit{ID: "a", User: "ann", Task: tt.spec, Choice: 1}}
		if len(tt.spec.Resources.Ordered) == 0 {
			c.Submit.Choice = 0
		}
		events := s.Fold(entry(2, "writer", 1, c)).Events
		events = append(events, s.Fold(entry(3, "writer", 2, stop("ann", "a"))).Events...)
		first, _ := json.Marshal(events[0])
		second, _ := json.Marshal(events[1])
		if !bytes.HasSuffix(first, []byte(tt.want)) || bytes.Contains(second, []byte("resources")) {
			t.Errorf("%s, then %s; want %s", first, second, tt.want)
		}
	}
}

func TestInvariantsOfEvents(t *testing.T) {
	for seed := range seeds(50) {
		s := New()
		last := map[task.Key]string{}
		over := map[task.Key]bool{}
		var at task.EventID
		entries := generator{rand.New(rand.NewPCG(seed, 6))}.log(300)
		for i := range entries { // another object may have the id of an expired one
			entries[i].Commands = slices.DeleteFunc(entries[i].Commands, func(c json.RawMessage) bool { return bytes.Contains(c, []byte(`"expire_history"`)) })
		}
		for _, e := range eventsOf(folded(s, entries)) {
			k := e.Key()
			if e.ID.Compare(at) <= 0 {
				t.Fatalf("seed %d: %s comes after %s", seed, e.ID, at)
			}
			at = e.ID
			if over[k] {
				t.Fatalf("seed %d: %v comes after the end", seed, said([]task.Event{e}))
			}
			if same := last[k] == e.Status; same != (e.Type != task.EventPhase) { // only phase events change the status
				t.Fatalf("seed %d: %v comes after %s", seed, said([]task.Event{e}), last[k])
			}
			last[k], over[k] = e.Status, e.Over()
		}
		for id, r := range records(s) {
			if last[taskKey(id)] != string(r.Phase) {
				t.Fatalf("seed %d: task %s is %s, its last event says %s", seed, id, r.Phase, last[taskKey(id)])
			}
		}
		for id, v := range s.Volumes {
			if last[volumeKey(id)] != v.CurrentPhase() {
				t.Fatalf("seed %d: volume %s is %s, its last event says %s", seed, id, v.CurrentPhase(), last[volumeKey(id)])
			}
		}
	}
}

func eventsOf(results []FoldResult) (all []task.Event) {
	for _, r := range results {
		all = append(all, r.Events...)
	}
	return all
}
