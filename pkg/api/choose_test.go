package api

import (
	"strings"
	"testing"

	"k8s-cli/pkg/task"
)

// A task with use_spot requires spot machines if the cluster has some, and otherwise has a warning.
func TestSpotMachinesAreRequiredWhereThereAreSome(t *testing.T) {
	t.Parallel()
	var holds func(task.Resources) (bool, bool)
	known, unknown := serve(t, &fake{holds: func(r task.Resources) (bool, bool) { return holds(r) }}), serve(t, &fake{})
	spot := func(has, known bool) func(task.Resources) (bool, bool) {
		return func(r task.Resources) (bool, bool) { return has && r.UseSpot, known }
	}
	const either = `"any_of":[{"use_spot":true},{"cpus":1}]`
	for _, tt := range []struct {
		name, resources string
		holds           func(task.Resources) (bool, bool)
		spot            bool
		says            string
	}{
		{"there are some", `"use_spot":true`, spot(true, true), true, ""},
		{"there are some, and the first alternative asks for them", either, spot(true, true), true, ""},
		{"nobody asks for them", `"cpus":1`, spot(true, true), false, ""},
		{"there are none", `"use_spot":true`, spot(false, true), false, "resources.use_spot: not used; no machine of the cluster has a label of spot machines"},
		{"the machines are not known", `"use_spot":true`, spot(false, false), false, "resources.use_spot: not used; this server cannot read the machines of the cluster"},
		{"nobody knows machines", `"use_spot":true`, nil, false, "this server cannot read the machines"},
	} {
		s := unknown
		if tt.holds != nil {
			s, holds = known, tt.holds
		}
		a := s.send("POST", "/tasks/submit", `{"run":"true","resources":{`+tt.resources+`}}`)
		told := s.take()
		if a.StatusCode != 200 || len(told) != 1 {
			t.Fatalf("%s: %d %s", tt.name, a.StatusCode, a.body)
		}
		if submit := told[0].Submit; submit.Spot != tt.spot || submit.Resources().UseSpot != tt.spot {
			t.Errorf("%s: spot machines are required: %t", tt.name, submit.Spot)
		}
		if !strings.Contains(a.body, tt.says) || tt.says == "" && strings.Contains(a.body, "warnings") {
			t.Errorf("%s: %s, want %q", tt.name, a.body, tt.says)
		}
	}
}

func TestTheFirstAlternativeThatFitsIsTaken(t *testing.T) {
	t.Parallel()
	var holds func(task.Resources) (bool, bool)
	known, unknown := serve(t, &fake{holds: func(r task.Resources) (bool, bool) { return holds(r) }}), serve(t, &fake{})
	only := func(cpus string) func(task.Resources) (bool, bool) {
		return func(r task.Resources) (can, known bool) { return r.CPUs == cpus, true }
	}
	const three = `"any_of":[{"cpus":1},{"cpus":2,"accelerators":"T4:2","image_id":"docker:two"},{"cpus":3}]`
	for _, tt := range []struct {
		name, resources string
		holds           func(task.Resources) (bool, bool)
		choice          int
		image, says     string
	}{
		{"there is none", `"cpus":1`, only("9"), 0, "python:3.13-slim", ""},
		{"the first", three, only("1"), 0, "python:3.13-slim", ""},
		{"a later one", three, only("2"), 1, "two", "resources: using alternative 2 of 3 (T4:2): no machine can hold the earlier alternatives"},
		{"the last of a list in order", strings.Replace(three, "any_of", "ordered", 1), only("3"), 2, "python:3.13-slim", "resources: using alternative 3 of 3: no machine"},
		{"none", three, only("9"), 0, "python:3.13-slim", "resources: using the first of 3 alternatives, and the task waits: no machine can hold any alternative"},
		{"the nodes are not known", three, func(task.Resources) (bool, bool) { return false, false }, 0, "python:3.13-slim", "resources: using the first of 3 alternatives: this server cannot read the machines of the cluster"},
		{"nobody knows nodes", three, nil, 0, "python:3.13-slim", "this server cannot read"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := unknown
			if tt.holds != nil {
				s, holds = known, tt.holds
			}
			a := s.send("POST", "/tasks/submit", `{"run":"true","resources":{`+tt.resources+`}}`)
			told := s.take()
			if a.StatusCode != 200 || len(told) != 1 {
				t.Fatalf("%d %s", a.StatusCode, a.body)
			}
			submit := told[0].Submit
			if submit.Choice != tt.choice || submit.Image != tt.image {
				t.Errorf("choice %d with image %s, want %d with %s", submit.Choice, submit.Image, tt.choice, tt.image)
			}
			if !strings.Contains(a.body, tt.says) || tt.says == "" && strings.Contains(a.body, "warnings") {
				t.Errorf("it says %s, want %q", a.body, tt.says)
			}
		})
	}
}
