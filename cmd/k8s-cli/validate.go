package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"k8s-cli/cmd/k8s-cli/internal/show"
	"k8s-cli/pkg/taskfile"
)

const validateHelp = `Say what becomes of every field of task files.

Each field is honoured, accepted with a warning, or an error with its line and
the reason. Nothing is submitted and no server is asked: what a server has of its
own, such as a limit of nodes, is not known here. Files that a task needs have to
be here.

FILE is a SkyPilot task file, or - for the standard input. The exit code is 0 if
all files are acceptable, warnings included, and 1 if not.`

func newValidateCommand(e *env) *cobra.Command {
	var s submission
	cmd := &cobra.Command{
		Use:   "validate FILE...",
		Short: "Say what becomes of every field of task files",
		Long:  validateHelp,
		Args:  takes(1, anyNumber),
		RunE: func(_ *cobra.Command, files []string) error {
			if err := s.check(files, false); err != nil {
				return err
			}
			return e.validate(files, s)
		},
	}
	cmd.Flags().StringArrayVar(&s.envs, "env", nil, "`NAME=VALUE` to set in the task, or NAME for the value it has here; may be repeated")
	cmd.Flags().StringArrayVar(&s.secrets, "secret", nil, secretUsage)
	outputFlag(cmd, e)
	return cmd
}

func (e *env) validate(files []string, s submission) error {
	overrides, err := e.overrides(s)
	if err != nil {
		return err
	}
	reports := make([]show.Report, len(files))
	for i, file := range files {
		reports[i] = e.report(file, overrides)
	}
	if err := presentAll(e, len(files), reports, func(i int) { show.Findings(e.out, e.style, reports[i]) }); err != nil {
		return err
	}
	if slices.ContainsFunc(reports, func(r show.Report) bool { return !r.Acceptable }) {
		return &exit{code: exitError}
	}
	return nil
}

// without puts what is missing for fields into the place of what was said of them.
func without(findings []taskfile.Finding, missing map[string]string) []taskfile.Finding {
	for _, field := range slices.Sorted(maps.Keys(missing)) {
		f := taskfile.Finding{Field: field, Verdict: taskfile.Refused, Text: missing[field]}
		i := slices.IndexFunc(findings, func(f taskfile.Finding) bool { return f.Field == field })
		if i < 0 {
			findings = append(findings, f)
			continue
		}
		f.Line = findings[i].Line
		findings[i] = f
	}
	return findings
}

// report returns the verdicts on one file. One that cannot be read has an error.
func (e *env) report(file string, o taskfile.Overrides) show.Report {
	data, err := e.readFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = errors.New("there is no such file")
	case err == nil:
		findings := taskfile.Check(data, o)
		if t, _, err := taskfile.ParseWith(data, o); err == nil {
			findings = without(findings, missing(t))
		}
		return show.NewReport(display(file), findings)
	}
	return show.NewReport(display(file), []taskfile.Finding{{Verdict: taskfile.Refused, Text: fmt.Sprint(err)}})
}
