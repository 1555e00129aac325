package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/gofiber/fiber/v2"

	"k8s-cli/pkg/api/submission"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/group"
	"k8s-cli/pkg/task/problem"
	"k8s-cli/pkg/taskfile"
	"k8s-cli/pkg/trace"
)

const (
	atomicParam     = "atomic"
	maxPredecessors = 256 // of one task
)

// predecessorsOf returns the tasks that the query parameters name.
func predecessorsOf(c *fiber.Ctx) (after, afterAny []string, err error) {
	read := func(name string) (all []string) {
		for _, value := range c.Context().QueryArgs().PeekMulti(name) {
			all = append(all, string(value))
		}
		return all
	}
	return predecessors(read(taskfile.ItemAfter), read(taskfile.ItemAfterAny))
}

// predecessors checks the names of the tasks that a task comes after.
func predecessors(after, afterAny []string) ([]string, []string, error) {
	return after, afterAny, cmp.Or(checkPredecessors(taskfile.ItemAfter, after), checkPredecessors(taskfile.ItemAfterAny, afterAny))
}

func checkPredecessors(field string, names []string) error {
	if len(names) > maxPredecessors {
		return problem.New(problem.Invalid, fmt.Sprintf("%s: %d tasks exceed the limit of %d", field, len(names), maxPredecessors))
	}
	for _, name := range names {
		if err := checkKey(field, name); err != nil {
			return err
		}
	}
	return nil
}

// submitTogether answers a batch whose tasks the server accepts together or not at all. warnings are
// those of the parser of a task file.
func (h *batchHandler) submitTogether(c *fiber.Ctx, from origin, texts [][]byte, warnings [][]string) error {
	all, err := h.submitter.submitTogether(c.UserContext(), from, texts)
	if err != nil {
		return err
	}
	batch := task.Batch{Submitted: len(all), Results: make([]task.BatchResult, len(all))}
	for i, one := range all {
		if warnings != nil {
			one.Warnings = append(warnings[i], one.Warnings...)
		}
		batch.Results[i] = acceptedItem(one)
	}
	return c.JSON(batch)
}

// errOfTask returns an error about the task with an index in the batch, which the message
// counts from 1.
func errOfTask(i int, err error) error { return fmt.Errorf("task %d: %w", i+1, err) }

// submitTogether submits all tasks, or none. The error names the first task that is wrong. A
// task may come after other tasks of the batch, in any order.
func (s *submitter) submitTogether(ctx context.Context, from origin, texts [][]byte) ([]task.Submitted, error) {
	if windowEnd(texts, 0) < len(texts) {
		return nil, problem.New(problem.TooLarge, fmt.Sprintf("with %s=true, a batch must fit one entry of the log, about 900 KB; submit fewer or smaller tasks", atomicParam))
	}
	subs, errs := make([]*prepared, len(texts)), make([]error, len(texts))
	from.together = true
	s.prepareAll(window{from, 0, texts}, subs, errs)
	keys, after := make([]string, len(subs)), make([][]string, len(subs))
	for i, sub := range subs {
		if sub != nil {
			sub.submit.Trace = trace.Traceparent(ctx)
			keys[i] = sub.submit.Key
			after[i] = append(append(after[i], sub.submit.After...), sub.submit.AfterAny...)
		}
	}
	for i, err := range errs {
		if err != nil {
			return nil, errOfTask(i, err)
		}
	}
	if err := joinJobGroup(subs); err != nil {
		return nil, err
	}
	order, err := submission.Order(keys, after)
	if err != nil {
		return nil, err
	}
	if err := s.log.CheckCapacity(); err != nil || len(order) == 0 {
		return nil, err
	}
	if err := s.limits.Reserve(from.user, keys...); err != nil {
		return nil, err
	}
	defer s.limits.Release(from.user, len(keys))
	for {
		all, err := s.appendTogether(ctx, subs, order)
		if !errors.Is(err, errTaken) {
			return all, err
		}
	}
}

// joinJobGroup makes the submissions one job group, if they name a job group.
func joinJobGroup(subs []*prepared) error {
	all := make([]*task.Submit, len(subs))
	for i := range subs {
		all[i] = subs[i].submit
	}
	return group.JoinJobGroup(all)
}

// appendTogether appends submissions in this order. The error is errTaken if an id is in use.
func (s *submitter) appendTogether(ctx context.Context, subs []*prepared, order []int) ([]task.Submitted, error) {
	commands := make([]task.Command, len(order))
	for n, i := range order {
		var err error
		if commands[n], err = s.withNewID(subs[i]); err != nil {
			return nil, errOfTask(i, err)
		}
	}
	commands[0].Submit.Together = len(order)
	group.IdentifyJobGroup(commands)
	results, err := s.log.AppendTogether(ctx, commands)
	if err != nil {
		return nil, err
	}
	all := make([]task.Submitted, len(subs))
	for n, i := range order {
		switch err := errorOfResult(results[n]); {
		case results[n].Rejection == task.RejectedTogether: // another task is the reason
		case err != nil:
			return nil, errOfTask(i, err)
		default:
			all[i] = subs[i].accepted(results[n])
		}
	}
	return all, nil
}
