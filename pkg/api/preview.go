package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"

	"k8s-cli/pkg/api/slots"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
	"k8s-cli/pkg/taskfile"
	"k8s-cli/pkg/taskfile/documents"
)

const previewPath = "/tasks/preview"

// A previewHandler serves previews of tasks.
type previewHandler struct {
	submitter *submitter
	preview   func(task.Submit) ([]json.RawMessage, []string, error)
	slots     *slots.Pool
	closing   context.Context //nolint:containedctx // ends with the server
}

// A preview is the body of a response. Only a task file has findings, one for each field.
type preview struct {
	task.Preview

	Tasks    int       `json:"tasks,omitempty"` // in the file, if there are several
	Findings []finding `json:"findings,omitempty"`
}

// A refusal is the body of a response for tasks that the server would reject.
type refusal struct {
	task.Detail

	Findings []finding `json:"findings,omitempty"`
}

// A finding says how the server treats a field of a task file.
type finding struct {
	Task int `json:"task,omitempty"` // number of the task in the file, from 1, if there are several
	taskfile.Finding
}

// previewTask serves the preview of a task, or of all tasks of a task file. The preview of a task
// counts against the limits of the user like a submission.
func (h *previewHandler) previewTask(c *fiber.Ctx, user string) error {
	kind, err := contentType(c)
	if err != nil {
		return err
	}
	texts, parse := [][]byte{c.Request().Body()}, taskfile.ParseJSON
	if kind == typeYAML {
		file, err := documents.Split(c.Request().Body())
		if err != nil {
			return err
		}
		texts, parse = file.Tasks, taskfile.Parse
	}
	answer := preview{Preview: task.NewPreview([]json.RawMessage{}, nil)}
	if len(texts) > 1 {
		answer.Tasks = len(texts)
	}
	var refused error
	for i, text := range texts {
		t, warnings, err := parse(text)
		if err == nil {
			err = h.add(&answer.Preview, user, t, warnings)
		}
		if kind == typeYAML {
			answer.Findings = append(answer.Findings, findingsOf(text, min(answer.Tasks, i+1), err)...)
		}
		if err != nil && answer.Tasks > 0 {
			err = errOfTask(i, err)
		}
		if err != nil && !errors.Is(err, problem.Invalid) {
			return err
		}
		refused = cmp.Or(refused, err)
	}
	if refused != nil {
		detail := task.Detail{Detail: refused.Error(), Reason: string(reasonOf(refused)), Field: problem.Field(refused)}
		return c.Status(statusCode(refused)).JSON(refusal{detail, answer.Findings})
	}
	return c.JSON(answer)
}

// add adds the objects and the warnings of one task to a preview.
func (h *previewHandler) add(p *task.Preview, user string, t task.Spec, warnings []string) error {
	sub, err := h.submitter.prepare(origin{user: user}, t, warnings)
	if err != nil {
		return err
	}
	defer h.submitter.limits.Release(user, 1)
	command, err := h.submitter.withNewID(sub)
	if err != nil {
		return err
	}
	slot, err := h.slots.Take(h.closing, user)
	if err != nil {
		return err
	}
	defer slot.Release()
	objects, more, err := h.preview(*command.Submit)
	p.Objects = append(p.Objects, objects...)
	p.Warnings = append(append(p.Warnings, sub.warnings...), more...)
	return err
}

// findingsOf returns a finding for each field of the text of a task, and one for refused if the
// fields do not explain it. number is that of the task in its file, or 0.
func findingsOf(text []byte, number int, refused error) (all []finding) {
	for _, f := range taskfile.Check(text, taskfile.Overrides{}) {
		all = append(all, finding{number, f})
	}
	if refused != nil && !slices.ContainsFunc(all, func(f finding) bool { return f.Severity == taskfile.Refused }) {
		field := problem.Field(refused)
		all = append(all, finding{number, taskfile.Finding{Field: field, Severity: taskfile.Refused, Text: strings.TrimPrefix(refused.Error(), field+": ")}})
	}
	return all
}
