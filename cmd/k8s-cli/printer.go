package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"k8s-cli/cmd/k8s-cli/internal/console"
	"k8s-cli/cmd/k8s-cli/internal/show"
	"k8s-cli/pkg/task"
)

// A printer prints what a command answers, in the format that the user chose.
type printer struct {
	*console.Console
	format show.Format // --output
}

// newPrinter returns a printer for cmd, which gets the flag --output.
func newPrinter(c *console.Console, cmd *cobra.Command) *printer {
	p := &printer{c, show.Text}
	cmd.Flags().VarP(&p.format, "output", "o", "output format")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(show.Formats, cobra.ShellCompDirectiveNoFileComp))
	return p
}

// present prints an answer: as data if -o asks for that, or else by text.
func (p *printer) present(answer any, text func()) error {
	if p.format.IsData() {
		return show.Data(p.Out, p.format, answer)
	}
	text()
	return nil
}

// record prints one of many answers: a line of JSON, or a document of YAML.
func (p *printer) record(answer any) error {
	if p.format == show.YAML {
		fmt.Fprintln(p.Out, "---")
		return show.Data(p.Out, p.format, answer)
	}
	return show.DataLine(p.Out, answer)
}

// columns returns the columns of a list: those asked for, all if it may be wide.
func (p *printer) columns(details, allUsers bool) show.Columns {
	wide := p.format == show.Wide
	return show.Columns{User: allUsers || wide, Details: details || wide, Reason: wide}
}

// confirmed asks a question unless the flag was given that does without it, and
// reports whether to go on.
func (p *printer) confirmed(given bool, question, flag string) (bool, error) {
	if given {
		return true, nil
	}
	yes, err := p.Confirm(question, flag)
	if err == nil && !yes {
		fmt.Fprintln(p.Out, "Cancelled")
	}
	return yes, err
}

// presentAll prints the answers to so many questions, by text for the answer of
// each index. As data, one question has one answer and several have a list.
func presentAll[T any](p *printer, asked int, answers []T, text func(i int)) error {
	switch {
	case !p.format.IsData():
		for i := range answers {
			text(i)
		}
		return nil
	case asked > 1:
		return show.Data(p.Out, p.format, append([]T{}, answers...))
	case len(answers) == 1:
		return show.Data(p.Out, p.format, answers[0])
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
	return answers, wrong.err()
}
