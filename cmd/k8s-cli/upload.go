package main

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"k8s-cli/cmd/k8s-cli/internal/console"
	"k8s-cli/pkg/client"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
)

// An uploader uploads the local files of jobs and submits the jobs.
type uploader struct {
	*client.Packer

	client *client.Client
}

func newUploader(screen *console.Console, c *client.Client) *uploader {
	p := client.NewPacker(c)
	p.Begin = func(s client.Step, source string) client.Progress {
		line := console.NewMeter(screen, string(s)+" "+client.ShownPath(source))
		if s == client.CheckingOut {
			line.Hurry()
		}
		return line
	}
	p.Warn = func(text string) { screen.Warn("%s", text) }
	return &uploader{p, c}
}

// A submitResult is the result of one submission.
type submitResult struct {
	task.Submitted
	err error
}

// submitAll submits all jobs, several of them in one request. It returns the results in
// the order of the jobs, and the error that prevented further results.
func (u *uploader) submitAll(ctx context.Context, jobs []job) ([]submitResult, error) {
	if jobs[0].together {
		return u.submitTogether(ctx, jobs)
	}
	if len(jobs) == 1 {
		got, err := u.submit(ctx, jobs[0])
		return []submitResult{{got, err}}, nil
	}
	all, err := u.uploadAll(ctx, jobs)
	if err != nil {
		return nil, err
	}
	results, err := u.client.SubmitEach(ctx, all)
	answers := make([]submitResult, len(results))
	for i, r := range results {
		switch {
		case r.Code == http.StatusConflict && len(all[i].Uploads) > 0: // the server has deleted an upload since the check
			answers[i].Submitted, answers[i].err = u.submit(ctx, jobs[i])
		case r.Code != 0:
			answers[i].err = errors.New(r.Detail)
		default:
			answers[i].Submitted = task.NewSubmitted(r.ID, r.Warnings)
		}
	}
	return answers, err
}

// submitTogether submits the tasks of a pipeline or a job group, all or none. If the server has
// deleted an upload since the check, submitTogether uploads the files again and repeats the request
// once.
func (u *uploader) submitTogether(ctx context.Context, jobs []job) ([]submitResult, error) {
	items, err := u.uploadAll(ctx, jobs)
	if err != nil {
		return nil, err
	}
	send := u.client.SubmitChain
	if jobs[0].member.Name != "" {
		send = u.client.SubmitTogether
	}
	results, err := send(ctx, items)
	if errors.Is(err, problem.Conflict) && slices.ContainsFunc(items, func(i client.Item) bool { return len(i.Uploads) > 0 }) {
		u.Forget()
		if _, err := u.uploadAll(ctx, jobs); err != nil {
			return nil, err
		}
		results, err = send(ctx, items)
	}
	answers := make([]submitResult, len(results))
	for i, r := range results {
		answers[i].Submitted = task.NewSubmitted(r.ID, r.Warnings)
	}
	return answers, err
}

// uploadAll uploads the files of jobs and returns one item of a batch for each job.
func (u *uploader) uploadAll(ctx context.Context, jobs []job) ([]client.Item, error) {
	items := make([]client.Item, len(jobs))
	for i, j := range jobs {
		if err := u.Upload(ctx, j.task); err != nil {
			return nil, about(j.about, err)
		}
		items[i] = client.Item{Spec: j.task, Membership: j.group, JobGroupItem: j.member}
	}
	return items, nil
}

// submit submits a task, whose files must be packed. If the server has deleted an upload
// since the check, submit uploads the files again and repeats the request once.
func (u *uploader) submit(ctx context.Context, j job) (task.Submitted, error) {
	t := j.task
	if err := u.Upload(ctx, t); err != nil {
		return task.Submitted{}, err
	}
	got, err := u.client.SubmitToGroup(ctx, j.group, t)
	if len(t.Uploads) == 0 || !errors.Is(err, problem.Conflict) {
		return got, err
	}
	u.Forget()
	if again := u.Upload(ctx, t); again != nil {
		return got, again
	}
	return u.client.SubmitToGroup(ctx, j.group, t)
}
