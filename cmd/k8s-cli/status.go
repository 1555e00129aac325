package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"k8s-cli/cmd/k8s-cli/internal/show"
	"k8s-cli/pkg/task"
)

func newStatusCommand(e *env) *cobra.Command {
	cmd := &cobra.Command{
		Use:               "status ID...",
		Short:             "Show the details of tasks",
		Example:           "  k8s-cli jobs status mqp6bsu4\n  k8s-cli jobs status mqp6bsu4 -o yaml",
		Args:              takes(1, anyNumber),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, ids []string) error { return e.status(cmd.Context(), ids) },
	}
	shortAPIURL(cmd, e)
	outputFlag(cmd, e)
	return cmd
}

func (e *env) status(ctx context.Context, ids []string) error {
	c, err := e.client()
	if err != nil {
		return err
	}
	found, missing := each(ids, func(id string) (task.Status, error) { return c.Task(ctx, id) })
	err = presentAll(e, len(ids), found, func(i int) {
		if i > 0 {
			fmt.Fprintln(e.out)
		}
		show.Task(e.out, e.style, found[i])
	})
	return cmp.Or(err, missing)
}

// presentAll prints the answers to so many questions, by text for the answer of
// each index. As data, one question has one answer and several have a list.
func presentAll[T any](e *env, asked int, answers []T, text func(i int)) error {
	switch {
	case !e.format.IsData():
		for i := range answers {
			text(i)
		}
		return nil
	case asked > 1:
		return show.Data(e.out, e.format, append([]T{}, answers...))
	case len(answers) == 1:
		return show.Data(e.out, e.format, answers[0])
	}
	return nil
}

// each asks for every id, one after the other, and returns the answers and what
// went wrong. A server that is away is not asked again.
func each[T any](ids []string, ask func(id string) (T, error)) ([]T, error) {
	var answers []T
	var wrong problems
	for _, id := range ids {
		answer, err := ask(id)
		if err == nil {
			answers = append(answers, answer)
			continue
		}
		wrong = append(wrong, err)
		if errors.Is(err, task.ErrUnavailable) {
			break
		}
	}
	if wrong == nil {
		return answers, nil
	}
	return answers, wrong
}
