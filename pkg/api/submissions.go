package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/policy"
	"k8s-cli/pkg/trace"
)

// A Sealer returns a submission without the values of its secrets, for the log.
type Sealer interface {
	Seal(s task.Submit) (task.Submit, error)
}

// A NodeCapacity reports whether a node of the cluster could hold one node of a task
// if nothing else ran there; known is false while that cannot be told.
type NodeCapacity interface {
	CanHold(r task.Resources) (can, known bool)
}

// A submitter checks tasks and has the log take them.
type submitter struct {
	log          Log
	limits       *limits // of users
	taskLimits   policy.Limits
	policy       policy.Tasks
	defaultImage string
	uploads      Uploads
	sealer       Sealer       // nil means that tasks with secrets are not taken
	nodes        NodeCapacity // nil means that it is never known what a node could hold
}

// submit has the log take one task, if this server does. The warnings are those
// that reading it gave.
func (s *submitter) submit(ctx context.Context, user, key string, t task.Spec, warnings []string) (task.Submitted, error) {
	sub, err := s.prepare(user, key, t, warnings)
	if err != nil {
		return task.Submitted{}, err
	}
	defer s.limits.release(user)
	sub.submit.Trace = trace.Parent(ctx)
	result, err := appendWithFreshID(ctx, s.log, func() (task.Command, error) { return s.withNewID(sub) })
	if err != nil {
		return task.Submitted{}, err
	}
	return sub.accepted(result), nil
}

// A submission is a task that this server takes, if the log does.
type submission struct {
	submit   *task.Submit
	warnings []string
}

func (s *submission) accepted(v task.Result) task.Submitted {
	return task.NewSubmitted(v.ID, append(s.warnings, v.Warnings...))
}

// prepare checks what can be known of a task before the log has it. It counts
// against the limits of its user until release is called.
func (s *submitter) prepare(user, key string, t task.Spec, warnings []string) (*submission, error) {
	if err := s.checkFiles(t); err != nil {
		return nil, err
	}
	if err := s.taskLimits.Check(t); err != nil {
		return nil, err
	}
	if err := s.policy.Check(t); err != nil {
		return nil, err
	}
	if err := s.limits.reserve(user, key); err != nil {
		return nil, err
	}
	choice, warning := s.choose(t.Resources.Alternatives())
	if warning != "" {
		warnings = append(warnings, warning)
	}
	submit := &task.Submit{User: user, Task: t, Choice: choice, Key: key}
	submit.Image = cmp.Or(submit.Resources().Image(), s.defaultImage)
	if len(t.Uploads) > 0 {
		submit.Files = s.uploads.Advertise
	}
	return &submission{submit, warnings}, nil
}

// withNewID returns the command of a submission under an id that it did not have yet.
func (s *submitter) withNewID(sub *submission) (task.Command, error) {
	if sub.submit.ID != "" { // that is taken
		sub.submit = new(*sub.submit)
	}
	sub.submit.ID = task.NewID()
	inLog, err := s.sealed(sub.submit)
	return task.Command{Submit: inLog}, err
}

// choose returns which of the alternatives the task gets: the first that a node
// of the cluster could hold if nothing else ran there. If that is not known, or
// none could, it is the first of all; the warning says so where it matters.
func (s *submitter) choose(all []task.Resources) (choice int, warning string) {
	if len(all) == 1 {
		return 0, ""
	}
	for i, r := range all {
		can, known := false, false
		if s.nodes != nil {
			can, known = s.nodes.CanHold(r)
		}
		switch {
		case !known:
			return 0, fmt.Sprintf("resources: using the first of %d alternatives%s: this server cannot read the machines of the cluster", len(all), describe(r))
		case can && i == 0:
			return 0, ""
		case can:
			return i, fmt.Sprintf("resources: using alternative %d of %d%s: no machine can hold the earlier alternatives", i+1, len(all), describe(r))
		}
	}
	return 0, fmt.Sprintf("resources: using the first of %d alternatives%s, and the task waits: no machine can hold any alternative", len(all), describe(all[0]))
}

// describe names an alternative by its accelerators, if it has any.
func describe(r task.Resources) string {
	if r.Accelerators == "" {
		return ""
	}
	return " (" + r.Accelerators + ")"
}

// checkFiles reports what keeps the files of a task from reaching its pods.
func (s *submitter) checkFiles(t task.Spec) error {
	if len(t.Uploads) > 0 {
		if err := s.uploads.ready(); err != nil {
			return err
		}
	}
	return t.CheckUploaded()
}

// sealed returns a submission as the log may have it.
func (s *submitter) sealed(submit *task.Submit) (*task.Submit, error) {
	if len(submit.Task.Secrets) == 0 {
		return submit, nil
	}
	if s.sealer == nil {
		return nil, task.Error(task.ErrInvalid, "secrets: this server has no key to seal secrets; the administrator can set --secrets-key-file")
	}
	inLog, err := s.sealer.Seal(*submit)
	return &inLog, err
}

// appendWithFreshID appends a command with a random id until it has one that is not taken.
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

// errorOfResult says in words why the log refused a command, if it did.
func errorOfResult(v task.Result) error {
	switch v.Rejection {
	case "":
		return nil
	case task.RejectedIDExists:
		return errTaken
	case task.RejectedKeyReuse:
		return task.Error(task.ErrConflict, fmt.Sprintf("%s: the key was already used with another body, for %s; use another key", keyHeader, v.ID))
	case task.RejectedMissingUploads:
		return task.Error(task.ErrConflict, fmt.Sprintf("uploads: %s is not on the server; PUT it to /uploads/%[1]s and submit again", v.Sums[0]))
	}
	return fmt.Errorf("the log rejected a command: %s", v.Rejection)
}
