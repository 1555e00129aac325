package ref

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
)

func sample() []Object {
	made := func(id, name string, minute int) Object {
		return Object{ID: id, Name: name, Phase: "running", Created: time.Date(2026, 1, 2, 3, minute, 0, 0, time.UTC)}
	}
	return []Object{made("abcd1234", "train", 1), made("abxy1234", "eval", 3), made("train000", "train", 2), made("evaluate", "abcd1234", 0)}
}

func TestChoose(t *testing.T) {
	for text, want := range map[string]string{
		"abcd1234": "abcd1234", // an id has precedence over the name of another task
		"eval":     "abxy1234", // a name has precedence over the beginning of an id
		"abx":      "abxy1234",
		"evalu":    "evaluate",
		"@last":    "abxy1234",
		"":         "",
		"nosuch":   "",
		"train":    `"train" is the name of 2 tasks: train000 (train, running), abcd1234 (train, running); pass the id of one of them`,
		"ab":       `"ab" begins the id of 2 tasks: abxy1234 (eval, running), abcd1234 (train, running); pass the id of one of them`,
	} {
		got, err := Choose(task.KindTask, text, sample())
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q means %q, want %q", text, got, want)
		}
	}
	if got, err := Choose(task.KindTask, Last, nil); got != "" || err != nil {
		t.Errorf("@last without tasks means %q, %v", got, err)
	}
}

func TestChangingCommandsNeedFourCharactersOfAnID(t *testing.T) {
	objects := append(sample(), Object{ID: "zz000000", Name: "1", Phase: "running"})
	for text, want := range map[string]string{
		"abc":   `"abc" is too short to name task abcd1234 (train, running); write at least 4 characters of the id, or the name`,
		"a":     `"a" is too short to name task abcd1234 (train, running); write at least 4 characters of the id, or the name`,
		"abcd":  "abcd1234",
		"1":     "zz000000", // a whole name
		"@last": "abxy1234",
		"no":    "no such task",
		"":      "no such task",
	} {
		list := careful(task.KindTask, func(context.Context, string) ([]Object, error) { return objects, nil })
		got, err := Do(t.Context(), task.KindTask, text, list, func(id string) (string, error) {
			if len(id) < 8 {
				return "", problem.New(problem.NotFound, "no such task")
			}
			return id, nil
		})
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q means %q, want %q", text, got, want)
		}
	}
}

func TestAmbiguousTextNamesFewObjects(t *testing.T) {
	var all []Object
	for range 12 {
		all = append(all, sample()[0])
	}
	if _, err := Choose(task.KindVolume, "abc", all); err == nil || !strings.HasSuffix(err.Error(), ", and 7 more; pass the id of one of them") {
		t.Errorf("the error is %v", err)
	}
}

func TestDoListsOnlyForTextsThatAreNotIDs(t *testing.T) {
	lists := 0
	list := func(context.Context, string) ([]Object, error) {
		lists++
		return sample(), nil
	}
	do := func(id string) (string, error) {
		if len(id) < 8 {
			return "", problem.New(problem.NotFound, "Task "+id+" not found")
		}
		return "did " + id, nil
	}
	for _, tt := range []struct {
		text, want string
		lists      int
	}{
		{"zzzz9999", "did zzzz9999", 0},
		{"abx", "did abxy1234", 1},
		{"@last", "did abxy1234", 1},
		{"nosuch", "", 1},
	} {
		lists = 0
		got, err := Do(t.Context(), task.KindTask, tt.text, list, do)
		_, missing := errors.AsType[*MissingError](err)
		if got != tt.want || lists != tt.lists || missing != (tt.want == "") {
			t.Errorf("%s: %q, %v after %d lists", tt.text, got, err, lists)
		}
	}
	if _, err := Do(t.Context(), task.KindTask, "abx", func(context.Context, string) ([]Object, error) { return nil, context.Canceled }, do); !errors.Is(err, context.Canceled) {
		t.Errorf("a list that fails: %v", err)
	}
	if _, err := Do(t.Context(), task.KindTask, "@last", func(context.Context, string) ([]Object, error) { return nil, nil }, do); err == nil || err.Error() != "No task found for @last" {
		t.Errorf("@last without a task: %v", err)
	}
}
