package state

import (
	"testing"

	"k8s-cli/pkg/task"
)

func TestKeys(t *testing.T) {
	run := func(script string) task.Task { return task.Task{Run: script} }
	first := task.Submit{ID: "aaaaaaaa", User: "ann", Task: run("x"), Image: "one", Key: "k"}
	for _, tt := range []struct {
		name  string
		again task.Submit
		want  task.Verdict
	}{
		{"the same again is the first", task.Submit{ID: "bbbbbbbb", User: "ann", Task: run("x"), Image: "one", Key: "k"}, task.Verdict{ID: "aaaaaaaa"}},
		{"another default image does not matter", task.Submit{ID: "bbbbbbbb", User: "ann", Task: run("x"), Image: "two", Key: "k"}, task.Verdict{ID: "aaaaaaaa"}},
		{"another body is refused", task.Submit{ID: "bbbbbbbb", User: "ann", Task: run("y"), Key: "k"}, task.Verdict{ID: "aaaaaaaa", Refusal: task.RefusedReused}},
		{"another user's key is another key", task.Submit{ID: "bbbbbbbb", User: "bob", Task: run("x"), Key: "k"}, task.Verdict{ID: "bbbbbbbb"}},
		{"another key is another task", task.Submit{ID: "bbbbbbbb", User: "ann", Task: run("x"), Key: "l"}, task.Verdict{ID: "bbbbbbbb"}},
		{"without a key each is a task", task.Submit{ID: "bbbbbbbb", User: "ann", Task: run("x")}, task.Verdict{ID: "bbbbbbbb"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := New()
			s.submit(first, nil)
			got, _ := s.submit(tt.again, nil)
			if got.ID != tt.want.ID || got.Refusal != tt.want.Refusal {
				t.Errorf("verdict %+v, want %+v", got, tt.want)
			}
		})
	}
}

func TestAKeyForATaskIsNoneForAVolume(t *testing.T) {
	s := New()
	s.submit(task.Submit{ID: "aaaaaaaa", User: "ann", Task: task.Task{Run: "x"}, Key: "k"}, nil)
	got, _ := s.create(task.Create{ID: "bbbbbbbb", User: "ann", Volume: task.Volume{Name: "v", Size: "1Gi"}, Key: "k"})
	if got.ID != "bbbbbbbb" || got.Refusal != "" {
		t.Errorf("verdict %+v", got)
	}
}
