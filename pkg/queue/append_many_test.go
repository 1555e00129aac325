package queue

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"k8s-cli/pkg/queue/internal/natstest"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
)

func TestManyCommandsAreStoredInOrder(t *testing.T) {
	t.Parallel()
	log, folded := start(t)
	callers, each := 3, natstest.Rounds(2000)
	var all sync.WaitGroup
	for caller := range callers {
		all.Go(func() {
			var commands []task.Command
			for i := range each {
				commands = append(commands, natstest.Submission(fmt.Sprintf("%d-%d", caller, i)))
			}
			results, errs := log.AppendBatch(t.Context(), commands)
			last := -1
			for i, v := range results {
				if errs[i] != nil || v.ID != fmt.Sprintf("%d-%d", caller, i) || v.Count <= last {
					t.Errorf("command %d-%d, after place %d: %+v, %v", caller, i, last, v, errs[i])
				}
				last = v.Count
			}
		})
	}
	for i := range 100 {
		log.put(t, fmt.Sprint("alone", i))
	}
	all.Wait()
	if got := len(folded.seen()); got != callers*each+100 {
		t.Errorf("%d commands were folded", got)
	}
	if got := log.counters.commands.Load(); int(got) < callers*each+100 {
		t.Errorf("the metric counts %d commands", got)
	}
}

func TestOneOfManyThatIsTooLarge(t *testing.T) {
	t.Parallel()
	log, folded := start(t)
	large := natstest.Submission("large")
	large.Submit.Task.Run = strings.Repeat("x", maxEntry)
	commands := []task.Command{natstest.Submission("a"), large, natstest.Submission("b")}
	results, errs := log.AppendBatch(t.Context(), commands)
	if errs[0] != nil || !errors.Is(errs[1], problem.TooLarge) || errs[2] != nil {
		t.Errorf("errors %v", errs)
	}
	if results[0].ID != "a" || results[2].ID != "b" || len(folded.seen()) != 2 {
		t.Errorf("verdicts %v of %v", results, folded.seen())
	}
	if results, errs := log.AppendBatch(t.Context(), nil); len(results)+len(errs) != 0 {
		t.Errorf("of none: %v, %v", results, errs)
	}
}

func TestCommandsTogetherFollowEachOther(t *testing.T) {
	t.Parallel()
	log, _ := start(t)
	var others sync.WaitGroup
	for i := range 50 {
		others.Go(func() { log.put(t, fmt.Sprint("other", i)) })
	}
	results, err := log.AppendTogether(t.Context(), []task.Command{natstest.Submission("a"), natstest.Submission("b"), natstest.Submission("c")})
	others.Wait()
	if err != nil || len(results) != 3 || results[0].ID != "a" || results[1].Count != results[0].Count+1 || results[2].Count != results[0].Count+2 {
		t.Errorf("results %+v, %v", results, err)
	}
}

func TestCommandsTogetherThatAreTooLarge(t *testing.T) {
	t.Parallel()
	log, folded := start(t)
	half := natstest.Submission("half")
	half.Submit.Task.Run = strings.Repeat("x", maxEntry/2)
	if _, err := log.AppendTogether(t.Context(), []task.Command{half, half}); !errors.Is(err, problem.TooLarge) {
		t.Errorf("got %v, want ErrTooLarge", err)
	}
	if all := folded.seen(); len(all) != 0 {
		t.Errorf("%d commands were stored", len(all))
	}
}
