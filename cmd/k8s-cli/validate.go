package main

import (
	"errors"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"k8s-cli/cmd/k8s-cli/internal/complete"
	"k8s-cli/cmd/k8s-cli/internal/exit"
	"k8s-cli/cmd/k8s-cli/internal/show"
	"k8s-cli/pkg/client"
	"k8s-cli/pkg/taskfile"
)

const validateHelp = `Check every field of task files.

For each field, the command reports whether the server honours it, accepts it
with a warning, or rejects it, with the line and the reason. It submits nothing
and does not contact a server, so it does not check the limits of a server. The
local files that a task needs must exist.

A line with totals follows the findings on several tasks. -q prints only
warnings and errors.

FILE is a SkyPilot task file, or - for stdin. The exit code is 0 if no file
has an error, and 1 otherwise. Warnings are not errors.`

func newValidateCommand(e *env) *cobra.Command {
	var o submitOptions
	var quiet bool
	cmd := &cobra.Command{
		Use:   "validate FILE...",
		Short: "Check every field of task files",
		Long:  validateHelp,
		Example: `  # Check all task files of this directory
  k8s-cli jobs validate *.yaml

  # Print only what is wrong
  k8s-cli jobs validate -q *.yaml`,
		Args:              takes(1, anyNumber),
		ValidArgsFunction: complete.TaskFiles,
	}
	p := newPlainPrinter(&e.Console, cmd)
	cmd.RunE = func(cmd *cobra.Command, files []string) error {
		if err := o.check(files, cmd.Flags()); err != nil {
			return err
		}
		overrides, err := o.overrides(e.lookup)
		if err != nil {
			return err
		}
		return validate(p, files, overrides, quiet)
	}
	cmd.Flags().BoolVarP(&quiet, "quiet", "q", false, "print only warnings and errors")
	o.valueFlags(cmd)
	return cmd
}

func validate(p *printer, files []string, o taskfile.Overrides, quiet bool) error {
	var all []show.Report
	for _, file := range files {
		all = append(all, check(p.In, file, o)...)
	}
	write := show.Findings
	if quiet {
		write = show.Problems
	}
	if err := presentAll(p, len(all), all, func(i int) { write(p.Out, p.Style, all[i]) }); err != nil {
		return err
	}
	if len(all) > 1 && !quiet && !p.format.IsData() {
		show.Totals(p.Out, all)
	}
	if slices.ContainsFunc(all, func(r show.Report) bool { return !r.Acceptable }) {
		return exit.Silent(exit.Failure)
	}
	return nil
}

// without returns findings in which the entries for missing files replace the findings on
// the same fields and on the maps that hold the fields. lines has the lines of fields.
func without(findings []taskfile.Finding, missing map[string]string, lines map[string]int) []taskfile.Finding {
	for _, field := range slices.Sorted(maps.Keys(missing)) {
		if parent, _, ok := strings.Cut(field, "."); ok {
			findings = slices.DeleteFunc(findings, func(f taskfile.Finding) bool {
				return f.Field == parent && f.Severity == taskfile.Honoured
			})
		}
		f := taskfile.Finding{Field: field, Line: lines[field], Severity: taskfile.Refused, Text: missing[field]}
		i := slices.IndexFunc(findings, func(f taskfile.Finding) bool { return f.Field == field })
		if i >= 0 {
			findings[i] = f
			continue
		}
		after := slices.IndexFunc(findings, func(other taskfile.Finding) bool { return other.Line > f.Line })
		if after < 0 {
			after = len(findings)
		}
		findings = slices.Insert(findings, after, f)
	}
	return findings
}

// check returns the findings on each task of a file. The report of an unreadable file has an
// error.
func check(stdin io.Reader, file string, o taskfile.Overrides) []show.Report {
	data, err := readFile(stdin, file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return []show.Report{refused(file, errors.New("no such file"))}
	case err != nil:
		return []show.Report{refused(file, err)}
	}
	return reports(file, data, o)
}

// reportOf returns the findings on one task.
func reportOf(name string, data []byte, o taskfile.Overrides) show.Report {
	findings, t := taskfile.CheckTask(data, o)
	if missing := client.MissingPaths(t); len(missing) > 0 {
		findings = without(findings, missing, taskfile.Lines(data))
	}
	return show.NewReport(name, findings)
}
