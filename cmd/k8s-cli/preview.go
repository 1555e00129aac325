package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"k8s-cli/cmd/k8s-cli/internal/show"
	"k8s-cli/pkg/client"
)

// A previewed job is the part of a preview that is printed as data.
type previewed struct {
	show.Report

	Warnings []string          `json:"warnings,omitempty"` // from the server
	Objects  []json.RawMessage `json:"objects"`
}

// preview prints what the server would do with the jobs: the findings for people, the
// Kubernetes objects for programs. A job that the server rejects does not prevent the
// preview of the other jobs.
func preview(ctx context.Context, c *client.Client, p *printer, jobs []job) error {
	var all []previewed
	var wrong problems
	for _, j := range jobs {
		got, err := c.Preview(ctx, j.task)
		if err != nil {
			wrong = append(wrong, about(j.about, err))
			continue
		}
		all = append(all, previewed{j.report, newWarnings(got.Warnings, j.warnings), got.Objects})
	}
	var broken error
	first := true
	err := presentAll(p, len(jobs), all, func(i int) {
		show.Findings(p.ErrOut, p.ErrStyle, all[i].Report)
		for _, w := range all[i].Warnings {
			p.Warn("%s", w)
		}
		for _, o := range all[i].Objects {
			if !first {
				fmt.Fprintln(p.Out, "---")
			}
			first = false
			if err := show.Data(p.Out, show.YAML, o); err != nil {
				broken = err
			}
		}
	})
	return cmp.Or(err, broken, wrong.err())
}
