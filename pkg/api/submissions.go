package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"k8s-cli/pkg/api/archive"
	"k8s-cli/pkg/api/submission"
	"k8s-cli/pkg/seal"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/group"
	"k8s-cli/pkg/task/policy"
	"k8s-cli/pkg/task/problem"
	"k8s-cli/pkg/trace"
)

// A submitter checks tasks and appends them to the log.
type submitter struct {
	log          Log
	limits       *submission.Limits // limits of users
	taskLimits   policy.Limits
	policy       policy.Tasks
	defaultImage string
	uploads      Uploads
	outputs      archive.OutputConfig
	sealer       *seal.Sealer        // nil means that tasks with secrets are rejected
	nodes        submission.Machines // nil means that the machines are unknown
}

// An origin holds the parts of a submission that are not fields of the task. All but the user
// may be empty.
type origin struct {
	user, key       string
	group           group.Membership
	after, afterAny []string       // ids or keys of the tasks that must complete or end first
	notify          string         // URL that gets the phase changes, if the task names none
	jobGroup        *task.JobGroup // nil without a job group
	together        bool           // the caller reserves the submission, see submitTogether
}

// submit checks one task and appends the task to the log. warnings are the warnings of the
// parser.
func (s *submitter) submit(ctx context.Context, from origin, t task.Spec, warnings []string) (task.Submitted, error) {
	sub, err := s.prepare(from, t, warnings)
	if err != nil {
		return task.Submitted{}, err
	}
	defer s.limits.Release(from.user, 1)
	sub.submit.Trace = trace.Traceparent(ctx)
	result, err := appendWithFreshID(ctx, s.log, func() (task.Command, error) { return s.withNewID(sub) })
	if err != nil {
		return task.Submitted{}, err
	}
	return sub.accepted(result), nil
}

// A prepared submission is a checked task that is not in the log yet.
type prepared struct {
	submit   *task.Submit
	warnings []string
}

func (p *prepared) accepted(v task.Result) task.Submitted {
	return task.NewSubmitted(v.ID, append(p.warnings, v.Warnings...))
}

// prepare makes all checks that do not need the log. Unless from is together with others, the
// task counts against the limits of the user until the caller calls release.
func (s *submitter) prepare(from origin, t task.Spec, warnings []string) (*prepared, error) {
	t.EventCallback = cmp.Or(t.EventCallback, from.notify)
	if err := s.checkFiles(t); err != nil {
		return nil, err
	}
	if err := s.taskLimits.Check(t); err != nil {
		return nil, err
	}
	if err := s.policy.Check(t); err != nil {
		return nil, err
	}
	if !from.together {
		if err := s.limits.Reserve(from.user, from.key); err != nil {
			return nil, err
		}
	}
	submit := &task.Submit{User: from.user, Task: t, Key: from.key, Group: from.group.Group, MaxParallel: from.group.MaxParallel, FailFast: from.group.FailFast, After: from.after, AfterAny: from.afterAny, JobGroup: from.jobGroup, Transfer: s.policy.TransferOf(t, from.user)}
	warnings = append(warnings, submission.ChooseResources(s.nodes, submit)...)
	submit.Image = cmp.Or(submit.Resources().Image(), s.defaultImage)
	if len(t.Uploads)+len(t.Outputs) > 0 {
		submit.Files = s.uploads.Advertise
	}
	if len(t.Outputs) > 0 {
		submit.OutputLimit = s.outputs.Limit
	}
	return &prepared{submit, warnings}, nil
}

// withNewID returns the command of a submission with a fresh id.
func (s *submitter) withNewID(sub *prepared) (task.Command, error) {
	if sub.submit.ID != "" { // the previous id was already in use
		sub.submit = new(*sub.submit)
	}
	sub.submit.ID = task.NewID()
	inLog, err := s.sealed(sub.submit)
	return task.Command{Submit: inLog}, err
}

// checkFiles returns an error if the pods of the task could not get its files, or could not send
// its outputs.
func (s *submitter) checkFiles(t task.Spec) error {
	if len(t.Uploads) > 0 {
		if err := s.uploads.ready(); err != nil {
			return err
		}
	}
	if len(t.Outputs) > 0 {
		if err := s.outputs.Check(s.uploads.Advertise); err != nil {
			return err
		}
	}
	return t.CheckUploaded()
}

// sealed returns the submission with encrypted secrets, for the log.
func (s *submitter) sealed(submit *task.Submit) (*task.Submit, error) {
	if len(submit.Task.Secrets) == 0 {
		return submit, nil
	}
	if s.sealer == nil {
		return nil, problem.New(problem.FeatureDisabled, "secrets: this server has no key to seal secrets; the administrator can set --secrets-key-file")
	}
	inLog, err := s.sealer.Seal(*submit)
	return &inLog, err
}

// appendWithFreshID appends a command with a random id, and repeats with another id while
// the id is already in use.
func appendWithFreshID(ctx context.Context, log Log, command func() (task.Command, error)) (task.Result, error) {
	if err := log.CheckCapacity(); err != nil {
		return task.Result{}, err
	}
	for {
		next, err := command()
		if err != nil {
			return task.Result{}, err
		}
		result, err := log.Append(ctx, next)
		if err == nil {
			err = errorOfResult(result)
		}
		if !errors.Is(err, errTaken) {
			return result, err
		}
	}
}

var errTaken = errors.New("the new id is already in use")

// errorOfResult returns the error for a rejected command, or nil.
func errorOfResult(v task.Result) error {
	switch v.Rejection {
	case "":
		return nil
	case task.RejectedIDExists:
		return errTaken
	case task.RejectedKeyReuse:
		return problem.New(problem.KeyReused, fmt.Sprintf("%s: the key was already used with another body, for %s; use another key", keyHeader, cmp.Or(v.ID, "another request")))
	case task.RejectedPredecessor:
		return problem.New(problem.Invalid, fmt.Sprintf("%s: you have no task with the id or the idempotency key %s, or it has left the history; name a task of GET /tasks", v.Field, task.Quote(v.Missing)))
	case task.RejectedMissingUploads:
		return problem.New(problem.UploadMissing, fmt.Sprintf("uploads: %s is not on the server; PUT it to /uploads/%[1]s and submit again", v.Sums[0]))
	}
	return fmt.Errorf("the log rejected a command: %s", v.Rejection)
}
