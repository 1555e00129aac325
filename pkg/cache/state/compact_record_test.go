package state

import (
	"reflect"
	"testing"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"k8s-cli/pkg/task"
)

// records returns all records of a state by the id of the task.
func records(s *State) map[string]*task.Record {
	all := map[string]*task.Record{}
	for id, t := range s.Tasks {
		all[id] = t.Record()
	}
	return all
}

// Compacting a record loses no field, including fields that are added to the type later.
func TestNothingOfARecordIsLost(t *testing.T) {
	listed := task.Resources{Accelerators: "H100:8", Labels: map[string]string{"team": "search", "tier": ""}}
	small := task.Record{
		Submit: task.Submit{ID: "a", User: "ann", Image: "python", Task: task.Spec{Name: "train", NumNodes: 2, Resources: listed}, Choice: 1, Key: "key"},
		Hash:   "hash", Seq: 7, Order: 3, CreatedAt: noon, UpdatedAt: noon.Add(time.Second), UIDs: []string{"u", "v"}, Phase: task.Failed,
		Claims: map[string]string{"data": "claim"}, Nodes: []task.Node{{Job: "job"}}, Reason: "Error", Message: "exit code 1", CleanedUp: true, EndSeq: 9,
	}
	if s := compact(&small); s.full != nil {
		t.Error("the record is kept as a whole")
	}
	check := func(what string, r task.Record) {
		t.Helper()
		if diff := cmp.Diff(&r, compact(&r).Record()); diff != "" {
			t.Errorf("with %s (-want +got):\n%s", what, diff)
		}
	}
	check("all that most have", small)
	check("nothing", task.Record{})
	member := small
	member.Submit.JobGroup, member.StopAt = &task.JobGroup{ID: "a", Name: "g", Tasks: 2, Jobs: 3, Delay: 5}, noon
	if check("a job group", member); compact(&member).full != nil {
		t.Error("the record of a task of a job group is kept as a whole")
	}
	annotated := small
	annotated.Submit.Task.Annotations = map[string]string{"commit": "4f2a91c"}
	if check("annotations", annotated); compact(&annotated).full != nil {
		t.Error("the record of a task with annotations is kept as a whole")
	}
	for _, of := range []func(*task.Record) reflect.Value{
		func(r *task.Record) reflect.Value { return reflect.ValueOf(&r.Submit).Elem() },
		func(r *task.Record) reflect.Value { return reflect.ValueOf(&r.Submit.Task).Elem() },
		func(r *task.Record) reflect.Value { return reflect.ValueOf(&r.Submit.Task.Resources).Elem() },
	} {
		for i := range of(&small).NumField() {
			r := small
			field := of(&r).Type().Field(i)
			if set(of(&r).Field(i)); field.Type.Kind() == reflect.Struct {
				continue // its fields are checked separately
			}
			check(field.Name, r)
		}
	}
}

// set sets a value to a value other than zero.
func set(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString("x")
	case reflect.Int, reflect.Int64:
		v.SetInt(5)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
	}
}

// After the creation of the Jobs, a record still has what lists show: the GPUs of the chosen
// alternative, and the labels of the Jobs.
func TestDropSpecRetainsFieldsOfLists(t *testing.T) {
	custom := task.Spec{Name: "n", Run: "true"}
	custom.Config.Kubernetes.CustomMetadata.Labels = map[string]string{"tier": "gold"}
	custom.Resources.AnyOf = []task.Resources{{CPUs: "1"}, {Accelerators: "L4:2", CPUs: "4", Labels: map[string]string{"team": "a", "tier": "x"}}}
	for _, spec := range []task.Spec{custom, {Run: "true"}} {
		r := task.Record{Submit: task.Submit{ID: "a", User: "ann", Task: spec, Choice: 1}}
		before := compact(&r)
		dropSpec(&r)
		after := compact(&r)
		if before.full == nil || after.full != nil {
			t.Error("the whole record is not kept before, or kept after its Jobs exist")
		}
		for _, c := range []*CompactRecord{before, after, compact(after.Record())} {
			want := task.Resources{}
			if spec.Name != "" {
				want = task.Resources{Accelerators: "L4:2", Labels: map[string]string{"team": "a", "tier": "gold"}}
			}
			if got := (task.Resources{Accelerators: c.Accelerators(), Labels: c.Labels().Map()}); !cmp.Equal(got, want) {
				t.Errorf("%+v, want %+v", got, want)
			}
		}
	}
}

func TestWhenATaskStartedAndEnded(t *testing.T) {
	r := task.Record{Phase: task.Running, UpdatedAt: noon, Nodes: []task.Node{{}, {StartedAt: new(noon.Add(time.Second))}, {StartedAt: new(noon.Add(-time.Second))}}}
	if c := compact(&r); !c.Started().Equal(noon.Add(-time.Second)) || !c.Ended().IsZero() {
		t.Errorf("a running task started %s and ended %s", c.Started(), c.Ended())
	}
	r.Phase, r.Nodes = task.Stopped, nil
	if c := compact(&r); !c.Started().IsZero() || !c.Ended().Equal(noon) {
		t.Errorf("a stopped task started %s and ended %s", c.Started(), c.Ended())
	}
}

func TestATaskTakesAThirdOfARecord(t *testing.T) {
	if small, whole := unsafe.Sizeof(CompactRecord{}), unsafe.Sizeof(task.Record{}); small > whole*3/8 {
		t.Errorf("a Task has %d bytes, a Record %d", small, whole)
	}
}

// The restarts of all nodes count, in any order of the attempts, and also where early attempts
// are no longer recorded.
func TestRestartsOfACompactRecord(t *testing.T) {
	for name, tt := range map[string]struct {
		attempts []task.Attempt
		want     int
	}{
		"none":                 {nil, 0},
		"one node":             {[]task.Attempt{{Number: 1}, {Number: 2}}, 2},
		"two nodes":            {[]task.Attempt{{Number: 1}, {Rank: 1, Number: 1}, {Number: 2}}, 3},
		"the latest one first": {[]task.Attempt{{Number: 2}, {Number: 1}}, 2},
		"a gap":                {[]task.Attempt{{Number: 1}, {Number: 40}}, 40},
	} {
		r := &task.Record{Submit: task.Submit{ID: "t"}, Attempts: tt.attempts}
		if got := compact(r).Restarts(); got != tt.want {
			t.Errorf("%s: %d restarts, want %d", name, got, tt.want)
		}
	}
}
