package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"k8s-cli/cmd/k8s-cli/internal/console"
	"k8s-cli/cmd/k8s-cli/internal/show"
	"k8s-cli/pkg/task/problem"
)

// A printer prints the results of a command in the format that the user chose.
type printer struct {
	*console.Console
	format show.Format // --output
}

// newPrinter returns a printer for cmd and adds the flag --output to cmd.
func newPrinter(c *console.Console, cmd *cobra.Command) *printer {
	return newFormatPrinter(c, cmd, "table, wide, json, yaml, name (only ids) or jsonpath=TEMPLATE", show.Formats...)
}

// newPlainPrinter is newPrinter for a command whose answers have no ids.
func newPlainPrinter(c *console.Console, cmd *cobra.Command) *printer {
	return newFormatPrinter(c, cmd, "table, json, yaml or jsonpath=TEMPLATE", show.PlainFormats...)
}

// newFormatPrinter is newPrinter with certain formats, which help names.
func newFormatPrinter(c *console.Console, cmd *cobra.Command, help string, formats ...string) *printer {
	p := &printer{c, show.Text}
	cmd.Flags().VarP(formatFlag{&p.format, formats}, "output", "o", "output `format`: "+help)
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
	return p
}

// A formatFlag is a format among those that a command has.
type formatFlag struct {
	*show.Format

	formats []string
}

// Set sets the format to the one with this name.
func (f formatFlag) Set(name string) error {
	if !slices.ContainsFunc(f.formats, func(known string) bool {
		return name == known || strings.HasSuffix(known, "=") && strings.HasPrefix(name, known)
	}) {
		return fmt.Errorf("want one of %sTEMPLATE", strings.Join(f.formats, ", "))
	}
	return f.Format.Set(name)
}

// quietFlag adds the flag --quiet to cmd, which prints only the ids.
func (p *printer) quietFlag(cmd *cobra.Command) {
	cmd.Flags().BoolFuncP("quiet", "q", "print only the ids; the same as -o name", func(string) error {
		p.format = show.Name
		return nil
	})
}

// verboseFlag adds the flag --verbose of sky to cmd, which is the format wide.
func (p *printer) verboseFlag(cmd *cobra.Command) {
	cmd.Flags().BoolFuncP("verbose", "v", "the same as -o wide, as in sky", func(string) error {
		p.format = show.Wide
		return nil
	})
	_ = cmd.Flags().MarkHidden("verbose")
}

// headerFlag adds the flag --no-headers to cmd.
func (p *printer) headerFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&p.Style.NoHeaders, "no-headers", false, "print the table without headers and totals")
}

// present prints answer in the data format of --output. For a table, present calls text.
func (p *printer) present(answer any, text func()) error {
	if p.format.IsData() {
		return show.Data(p.Out, p.format, answer)
	}
	text()
	return nil
}

// record prints one of several answers.
func (p *printer) record(answer any) error { return show.Record(p.Out, p.format, answer) }

// columns returns the optional columns of a list. The format wide has all of them.
func (p *printer) columns(details, allUsers bool) show.Columns {
	wide := p.format == show.Wide
	return show.Columns{User: allUsers || wide, Details: details || wide, Reason: wide}
}

// confirmed asks the user a question and reports whether the answer is yes. It reports
// yes without a question if given is true, which is the value of flag.
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

// presentAll prints the answers to several requests. For a table, it calls text with the
// index of each answer. As data, it prints a single answer for one request and a list for
// several.
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

// each calls ask for every id, one after the other. It returns the answers and the
// errors, and stops at the first error that says that the server is unavailable.
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
		if errors.Is(err, problem.Unavailable) {
			break
		}
	}
	return answers, wrong.err()
}
