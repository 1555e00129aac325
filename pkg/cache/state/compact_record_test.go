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
	small := task.Record{
		Submit: task.Submit{ID: "a", User: "ann", Image: "python", Task: task.Spec{Name: "train", NumNodes: 2}, Choice: 1, Key: "key"},
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
	case reflect.Int:
		v.SetInt(5)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
	}
}

func TestATaskTakesAThirdOfARecord(t *testing.T) {
	if small, whole := unsafe.Sizeof(CompactRecord{}), unsafe.Sizeof(task.Record{}); small > whole*3/8 {
		t.Errorf("a Task has %d bytes, a Record %d", small, whole)
	}
}
