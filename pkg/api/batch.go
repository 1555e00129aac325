package api

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"mime"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/gofiber/fiber/v2"

	"k8s-cli/pkg/api/params"
	"k8s-cli/pkg/api/slots"
	"k8s-cli/pkg/api/submission"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/callback"
	"k8s-cli/pkg/task/group"
	"k8s-cli/pkg/task/problem"
	"k8s-cli/pkg/taskfile"
	"k8s-cli/pkg/trace"
)

// Limits of a batch, which is many submissions in one request.
const (
	batchPath = "/tasks/batch"

	// windowBytes and windowItems bound a window: the part of a batch that is prepared and
	// appended at once. The bound limits memory, because prepared tasks take several times
	// the memory of their text.
	windowBytes = 4 << 20
	windowItems = 16384
)

// batchTypes lists the content types of a batch. No content type is also accepted.
var batchTypes = []string{typeJSON, "application/x-ndjson", "application/ndjson", "application/jsonl"}

func isBatchType(kind string) bool {
	return slices.Contains(batchTypes, kind) || strings.HasSuffix(kind, "+json")
}

// A batchHandler submits many tasks at once.
type batchHandler struct {
	submitter *submitter
	batches   *slots.Pool
	bytes     *slots.Pool     // bytes of bodies in memory
	errors    *errorWriter    // writes the message for each failed task
	closing   context.Context //nolint:containedctx // ends with the server
}

// submitBatch accepts a JSON array of tasks, or one task per line, or a task file. submitBatch reads
// the whole body before it stores anything. Then each item is a separate submission with a
// result of its own; the tasks of a file are accepted together or not at all. An item has an
// idempotency key if the item or the batch has one.
func (h *batchHandler) submitBatch(c *fiber.Ctx, user string) error {
	key, err := keyOf(c)
	if err != nil {
		return err
	}
	if len(key) > maxKey-len("/")-len(strconv.Itoa(submission.MaxBatchItems)) {
		return problem.New(problem.Invalid, keyHeader+": the key is too long for a batch; each item appends its number to the key")
	}
	kind, _, err := mime.ParseMediaType(c.Get(fiber.HeaderContentType))
	if err == nil && !isBatchType(kind) && !isYAML(kind) {
		return problem.New(problem.UnsupportedMediaType, fmt.Sprintf("Content-Type: %q is not supported; send one of %s, %s", kind, strings.Join(batchTypes, ", "), typeYAML))
	}
	if c.Request().Header.ContentLength() > submission.MaxBatchBytes {
		return submission.ErrBatchTooLong
	}
	memory := h.bytes.Empty(user)
	defer memory.Release()
	var texts [][]byte
	var warnings [][]string
	if isYAML(kind) {
		texts, warnings, err = readFile(transferred(c, memory), cmp.Or(key, rand.Text()))
	} else {
		texts, err = submission.ReadItems(h.closing, transferred(c, memory), memory)
	}
	if err != nil {
		return err
	}
	group, err := params.Membership(c)
	if err != nil {
		return err
	}
	atomic, err := flag(c, atomicParam)
	if err != nil {
		return err
	}
	// The slot is taken after the body has arrived, so that a slow sender does not occupy a
	// slot.
	slot, err := h.batches.Take(h.closing, user)
	if err != nil {
		return err
	}
	defer slot.Release()
	from := origin{user: user, key: key, group: group, notify: c.Query(callback.Param)}
	if atomic || isYAML(kind) {
		return h.submitTogether(c, from, texts, warnings)
	}
	all, errs := h.submitter.submitAll(c.UserContext(), from, texts)
	batch := task.Batch{Results: make([]task.BatchResult, len(texts))}
	for i, err := range errs {
		if err == nil {
			batch.Submitted++
			batch.Results[i] = acceptedItem(all[i])
			continue
		}
		batch.Failed++
		batch.Results[i] = h.errors.batchResult(c, err)
	}
	return c.JSON(batch)
}

// acceptedItem returns the result of a task of a batch that the server has accepted.
func acceptedItem(s task.Submitted) task.BatchResult {
	return task.BatchResult{ID: s.ID, Status: s.Status, Message: s.Message, Warnings: s.Warnings}
}

// submitAll submits each task of a batch separately and clears items to free memory.
func (s *submitter) submitAll(ctx context.Context, from origin, items [][]byte) ([]task.Submitted, []error) {
	all, errs := make([]task.Submitted, len(items)), make([]error, len(items))
	for first := 0; first < len(items); {
		end := windowEnd(items, first)
		s.submitWindow(ctx, window{from, first, items[first:end]}, all[first:end], errs[first:end])
		clear(items[first:end])
		first = end
	}
	return all, errs
}

// windowEnd returns the end of the window that begins at item first.
func windowEnd(items [][]byte, first int) int {
	bytes, end := 0, first
	for ; end < len(items) && end < first+windowItems && bytes < windowBytes; end++ {
		bytes += len(items[end])
	}
	return end
}

// A window is a part of the tasks of a batch.
type window struct {
	origin
	first int // index of the first item in the batch
	items [][]byte
}

// submitWindow submits the tasks of a window in as few entries of the log as possible.
func (s *submitter) submitWindow(ctx context.Context, w window, all []task.Submitted, errs []error) {
	subs := make([]*prepared, len(w.items))
	s.prepareAll(w, subs, errs)
	from := trace.Traceparent(ctx)
	var waiting []int // indexes of the submissions that have no result yet
	for i, sub := range subs {
		if sub != nil {
			defer s.limits.Release(w.user, 1)
			sub.submit.Trace = from
			waiting = append(waiting, i)
		}
	}
	full := s.log.CheckCapacity()
	for len(waiting) > 0 {
		var commands []task.Command
		var at []int
		for _, i := range waiting {
			var command task.Command
			err := guarded(func() (err error) { command, err = s.withNewID(subs[i]); return err })
			if errs[i] = cmp.Or(full, err); errs[i] == nil {
				commands, at = append(commands, command), append(at, i)
			}
		}
		waiting = waiting[:0]
		results, failed := s.log.AppendBatch(ctx, commands)
		for n, i := range at {
			if errs[i] = failed[n]; errs[i] == nil {
				errs[i] = errorOfResult(results[n])
			}
			switch {
			case errs[i] == nil:
				all[i] = subs[i].accepted(results[n])
			case errors.Is(errs[i], errTaken):
				waiting = append(waiting, i)
			}
		}
	}
}

// prepareAll parses and checks tasks on all processors. For each task prepareAll sets
// either the submission or the error.
func (s *submitter) prepareAll(w window, subs []*prepared, errs []error) {
	var workers sync.WaitGroup
	var taken atomic.Int64
	for range min(len(w.items), runtime.GOMAXPROCS(0)) {
		workers.Go(func() {
			for i := int(taken.Add(1)) - 1; i < len(w.items); i = int(taken.Add(1)) - 1 {
				from := w.origin
				if from.key != "" {
					from.key = itemKey(from.key, w.first+i)
				}
				errs[i] = guarded(func() (err error) { subs[i], err = s.prepareItem(from, w.items[i]); return err })
			}
		})
	}
	workers.Wait()
}

// guarded calls do. A panic becomes an error, so that it affects only one task of a batch.
func guarded(do func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return do()
}

// prepareItem parses and checks one task. What the item itself says takes precedence over from,
// which is derived from the batch.
func (s *submitter) prepareItem(from origin, item []byte) (*prepared, error) {
	t, own, warnings, err := taskfile.ParseItem(item)
	if err != nil {
		return nil, err
	}
	if own.Key != "" {
		if err := checkKey(taskfile.ItemKey, own.Key); err != nil {
			return nil, err
		}
		from.key = own.Key
	}
	from.group = own.Membership.Or(from.group)
	if err := from.group.Check(); err != nil {
		return nil, err
	}
	if from.after, from.afterAny, err = predecessors(own.After, own.AfterAny); err != nil {
		return nil, err
	}
	if from.jobGroup, err = own.JobGroup.Parse(); err != nil {
		return nil, err
	}
	if from.jobGroup != nil && !from.together {
		return nil, problem.New(problem.Invalid, group.JobGroupParam+": the tasks of a job group need a batch with "+atomicParam+"=true")
	}
	return s.prepare(from, t, warnings)
}
