package api

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"k8s-cli/pkg/task"
)

func TestAnAtomicBatchIsOneUnit(t *testing.T) {
	t.Parallel()
	s := serve(t, &fake{})
	b := s.send("POST", batchPath+"?atomic=true&group=nightly", `[
		{"name":"third","run":"true","after":["b"],"after_any":["a","lex9x817"]},
		{"name":"first","run":"true","idempotency_key":"a"},
		{"name":"second","run":"true","idempotency_key":"b","after":["a"],"group":"other"}]`).batch(t)
	told := s.told()
	if b.Submitted != 3 || b.Failed != 0 || len(told) != 3 {
		t.Fatalf("%+v, %d commands", b, len(told))
	}
	var got []task.Submit
	for _, c := range told {
		got = append(got, task.Submit{Key: c.Submit.Key, Group: c.Submit.Group, After: c.Submit.After, AfterAny: c.Submit.AfterAny, Together: c.Submit.Together})
	}
	want := []task.Submit{
		{Key: "a", Group: "nightly", Together: 3},
		{Key: "b", Group: "other", After: []string{"a"}},
		{Group: "nightly", After: []string{"b"}, AfterAny: []string{"a", "lex9x817"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("submissions (-want +got):\n%s", diff)
	}
	for i, n := range []int{2, 0, 1} {
		if b.Results[i].ID != told[n].Submit.ID {
			t.Errorf("result %d is %+v, of task %s", i, b.Results[i], told[n].Submit.Task.Name)
		}
	}
}

func TestAnAtomicBatchWithAnErrorStoresNothing(t *testing.T) {
	t.Parallel()
	s := serve(t, &fake{})
	for _, tt := range []struct {
		name, body string
		code       int
		want       string
	}{
		{"a wrong task", `[{"run":"true"},{"run":"true","cpus":1}]`, 422, `"detail":"task 2: cpus: unknown field`},
		{"a wrong name", `[{"run":"true"},{"run":"true","after":["a b"]}]`, 422, `"detail":"task 2: after: must be one word`},
		{"no list of names", `[{"run":"true","after":"a"}]`, 422, `"detail":"task 1: after: is not a list of strings`},
		{"a circle", `[{"run":"true","idempotency_key":"a","after":["b"]},{"run":"true","idempotency_key":"b","after":["a"]}]`, 422, `after: the tasks \"a\", \"b\" wait for each other in a circle`},
		{"a delay without a job group", `[{"run":"true","termination_delay":"5s"}]`, 422, `"detail":"task 1: auxiliary and termination_delay: need job_group`},
		{"a wrong role", `[{"name":"a","run":"true","job_group":"g","auxiliary":"maybe"}]`, 422, `"detail":"task 1: auxiliary: is neither true nor false`},
		{"a name twice", `[{"name":"a","run":"true","job_group":"g"},{"name":"a","run":"true","job_group":"g"}]`, 422, `have the same name, \"a\"`},
		{"too many names", `[{"run":"true","after":[` + strings.TrimSuffix(strings.Repeat(`"a",`, maxPredecessors+1), ",") + `]}]`, 422, "after: 257 tasks exceed the limit of 256"},
		{"too large", `[` + strings.TrimSuffix(strings.Repeat(`{"run":"`+strings.Repeat("x", 100<<10)+`"},`, 42), ",") + `]`, 413, "must fit one entry of the log"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := s.send("POST", batchPath+"?atomic=true", tt.body)
			if told := s.take(); got.StatusCode != tt.code || !strings.Contains(got.body, tt.want) || len(told) != 0 {
				t.Errorf("%d %.300s, %d commands; want %d and %s", got.StatusCode, got.body, len(told), tt.code, tt.want)
			}
		})
	}
	if got := s.send("POST", batchPath+"?atomic=maybe", "[]"); got.StatusCode != 422 || !strings.Contains(got.body, `atomic: \"maybe\" is neither true nor false`) {
		t.Errorf("%d %s", got.StatusCode, got.body)
	}
}

func TestRejectionsOfAnAtomicBatch(t *testing.T) {
	t.Parallel()
	var cause task.Result
	s := serve(t, &fake{verdict: func(c task.Command) (task.Result, error) {
		if c.Submit.Task.Name == "wrong" {
			return cause, nil
		}
		return task.Result{Rejection: task.RejectedTogether}, nil
	}})
	for _, tt := range []struct {
		name  string
		cause task.Result
		code  int
		want  string
	}{
		{"an unknown predecessor", task.Result{Rejection: task.RejectedPredecessor, Field: "after_any", Missing: "gone"}, 422, `"detail":"task 2: after_any: you have no task with the id or the idempotency key \"gone\"`},
		{"a used key", task.Result{Rejection: task.RejectedKeyReuse, ID: "old"}, 409, `"detail":"task 2: Idempotency-Key: the key was already used`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cause = tt.cause
			got := s.send("POST", batchPath+"?atomic=true", `[{"name":"good","run":"true"},{"name":"wrong","run":"true"}]`)
			if got.StatusCode != tt.code || !strings.Contains(got.body, tt.want) {
				t.Errorf("%d %s", got.StatusCode, got.body)
			}
		})
	}
}

func TestAnAtomicBatchTriesOtherIDs(t *testing.T) {
	t.Parallel()
	f := &fake{}
	tries := 0
	f.verdict = func(c task.Command) (task.Result, error) {
		if c.Submit.Task.Name == "b" {
			if tries++; tries == 1 {
				return task.Result{Rejection: task.RejectedIDExists}, nil
			}
		}
		return task.Result{ID: c.Submit.ID}, nil
	}
	s := serve(t, f)
	b := s.send("POST", batchPath+"?atomic=true", `[{"name":"a","run":"true"},{"name":"b","run":"true"}]`).batch(t)
	told := s.told()
	if len(told) != 4 || b.Results[0].ID != told[2].Submit.ID || told[2].Submit.Together != 2 || told[3].Submit.ID == told[1].Submit.ID {
		t.Errorf("%+v after %d commands", b, len(told))
	}
}

func TestASubmissionNamesItsPredecessors(t *testing.T) {
	t.Parallel()
	s := serve(t, &fake{})
	got := s.send("POST", "/tasks/submit?after=a&after=key/7&after_any=b", `{"run":"true"}`)
	told := s.told()
	if got.StatusCode != 200 || len(told) != 1 || cmp.Diff([]string{"a", "key/7"}, told[0].Submit.After) != "" || cmp.Diff([]string{"b"}, told[0].Submit.AfterAny) != "" {
		t.Errorf("%d %s, commands %+v", got.StatusCode, got.body, told)
	}
	if got := s.send("POST", "/tasks/submit?after=a%20b", `{"run":"true"}`); got.StatusCode != 422 || !strings.Contains(got.body, `"field":"after"`) {
		t.Errorf("%d %s", got.StatusCode, got.body)
	}
}

func TestAnAtomicBatchTakesItsLimitsInOneStep(t *testing.T) {
	t.Parallel()
	pipeline := `[{"run":"true"},{"run":"true"}]`
	for _, tt := range []struct {
		name   string
		limits task.UserLimits
		active int
		code   int
		want   string
	}{
		{"more than ever", task.UserLimits{Active: 1}, 0, 413, "2 tasks that are accepted together exceed the limit per user of 1 (--max-active-tasks)"},
		{"more than at present", task.UserLimits{Active: 3}, 2, 429, "you have 2 active tasks"},
		{"as many as are left", task.UserLimits{Active: 4}, 2, 200, ""},
		{"more than a burst", task.UserLimits{SubmitRate: 1, SubmitBurst: 1}, 0, 413, "(--submit-burst)"},
		{"a burst", task.UserLimits{SubmitRate: 0.001, SubmitBurst: 2}, 0, 200, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, usage := limited(t, tt.limits)
			usage.has.Active = tt.active
			got := s.send("POST", batchPath+"?atomic=true", pipeline)
			if got.StatusCode != tt.code || !strings.Contains(got.body, tt.want) {
				t.Errorf("%d %s", got.StatusCode, got.body)
			}
		})
	}
	s, _ := limited(t, task.UserLimits{SubmitRate: 0.001, SubmitBurst: 3})
	for i, want := range []int{200, 429, 429} {
		if got := s.send("POST", batchPath+"?atomic=true", pipeline); got.StatusCode != want {
			t.Errorf("batch %d: %d %s", i, got.StatusCode, got.body)
		}
	}
	s.send("POST", "/tasks/submit", `{"run":"true"}`).wantOK(t)
}

// The tasks of a batch that name a job group know the job group, whose id is that of the first task.
func TestABatchIsAJobGroup(t *testing.T) {
	t.Parallel()
	s := serve(t, &fake{})
	const body = `[{"name":"trainer","run":"true","num_nodes":2,"job_group":"rlhf"},{"name":"replay","run":"true","job_group":"rlhf","auxiliary":true,"termination_delay":"1m"}]`
	b := s.send("POST", batchPath+"?atomic=true", body).batch(t)
	told := s.told()
	if len(told) != 2 {
		t.Fatalf("%d commands, %+v", len(told), b)
	}
	first := b.Results[0].ID
	want := []task.JobGroup{{ID: first, Name: "rlhf", Tasks: 2, Jobs: 3, Primary: true}, {ID: first, Name: "rlhf", Index: 1, Tasks: 2, Jobs: 3, Delay: 60}}
	if diff := cmp.Diff(want, []task.JobGroup{*told[0].Submit.JobGroup, *told[1].Submit.JobGroup}); diff != "" {
		t.Errorf("job groups (-want +got):\n%s", diff)
	}
	if b := s.send("POST", batchPath, body).batch(t); b.Failed != 2 || !strings.Contains(b.Results[0].Detail, "job_group: the tasks of a job group need a batch with atomic=true") {
		t.Errorf("without atomic: %+v", b)
	}
}
