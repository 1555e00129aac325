package api

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/gofiber/fiber/v2"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/taskfile"
)

// A batch is many submissions in one request.
const (
	batchPath    = "/tasks/batch"
	maxBatch     = 64 << 20 // bytes
	maxItems     = 50_000
	maxBatches   = 4    // that are read at once: they are in memory
	itemsAtATime = 1024 // of a batch that wait for the log together: what waits shares its writes
)

// batchTypes are those that say what a batch is; no type will do too.
var batchTypes = []string{typeJSON, "application/x-ndjson", "application/jsonl"}

// submitBatch takes a JSON array of tasks, or one task a line. All of it is read
// before anything is stored. Then every item is a submission of its own, with an
// answer of its own, and with an Idempotency-Key of its own if the batch has one.
func (s *Server) submitBatch(c *fiber.Ctx, user string) error {
	select {
	case s.batches <- struct{}{}:
		defer func() { <-s.batches }()
	default:
		return task.Error(task.ErrUnavailable, fmt.Sprintf("this server reads %d batches at once and no more; nothing was stored, try again later", maxBatches))
	}
	key, err := keyOf(c)
	if err != nil {
		return err
	}
	if len(key) > maxKey-len("/")-len(strconv.Itoa(maxItems)) {
		return task.Error(task.ErrInvalid, keyHeader+": is too long for a batch, whose items have it with their number")
	}
	if kind, _, err := mime.ParseMediaType(c.Get(fiber.HeaderContentType)); err == nil && !slices.Contains(batchTypes, kind) {
		return fiber.NewError(fiber.StatusUnsupportedMediaType, fmt.Sprintf("Content-Type: %q is none of %s", kind, strings.Join(batchTypes, ", ")))
	}
	items, err := readBatch(bodyOf(c))
	if err != nil {
		return err
	}
	batch, errs := task.Batch{Results: make([]task.BatchResult, len(items))}, make([]error, len(items))
	ctx := c.UserContext()
	var turns sync.WaitGroup
	var taken atomic.Int64
	for range min(len(items), itemsAtATime) {
		turns.Go(func() {
			for i := int(taken.Add(1)) - 1; i < len(items); i = int(taken.Add(1)) - 1 {
				itemKey := key
				if itemKey != "" {
					itemKey += "/" + strconv.Itoa(i)
				}
				batch.Results[i], errs[i] = s.submitItem(ctx, user, itemKey, items[i])
			}
		})
	}
	turns.Wait()
	for i, err := range errs {
		if err == nil {
			batch.Submitted++
			continue
		}
		batch.Failed++
		batch.Results[i].Code, batch.Results[i].Detail = s.told(c, err)
	}
	return c.JSON(batch)
}

// submitItem submits one task of a batch. A panic is a fault of that one.
func (s *Server) submitItem(ctx context.Context, user, key string, item []byte) (r task.BatchResult, err error) {
	defer func() {
		if p := recover(); p != nil {
			r, err = task.BatchResult{}, fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	t, warnings, err := taskfile.ParseJSON(item)
	if err != nil {
		return r, err
	}
	got, err := s.submit(ctx, user, key, t, warnings)
	return task.BatchResult{ID: got.ID, Status: got.Status, Warnings: got.Warnings}, err
}

// readBatch returns the items of a batch as they were written.
func readBatch(body io.Reader) (items [][]byte, err error) {
	limited := &io.LimitedReader{R: body, N: maxBatch + 1}
	in := bufio.NewReader(limited)
	array, err := begins(in)
	if err != nil {
		return nil, err
	}
	// What is wrong with one task is said of that one, once it is read by itself.
	values := jsontext.NewDecoder(in, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if array {
		if _, err := values.ReadToken(); err != nil {
			return nil, broken(0, err)
		}
	}
	for !array || values.PeekKind() != jsontext.KindEndArray {
		item, err := values.ReadValue()
		switch {
		case limited.N <= 0:
			return nil, task.Error(task.ErrTooLarge, fmt.Sprintf("the batch is larger than %d bytes", maxBatch))
		case errors.Is(err, io.EOF) && !array:
			return items, nil
		case err != nil:
			return nil, broken(len(items), err)
		case len(items) == maxItems:
			return nil, task.Error(task.ErrTooLarge, fmt.Sprintf("the batch has more than %d tasks", maxItems))
		}
		items = append(items, bytes.Clone(item))
	}
	if _, err := values.ReadToken(); err != nil {
		return nil, broken(len(items), err)
	}
	if _, err := values.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, task.Error(task.ErrUnreadable, "the batch is not a JSON array: something follows it")
	}
	return items, nil
}

// begins reports whether the body is an array, and not one task a line.
func begins(in *bufio.Reader) (array bool, err error) {
	for {
		first, _, err := in.ReadRune()
		switch {
		case errors.Is(err, io.EOF):
			return false, task.Error(task.ErrUnreadable, "the body is empty; a batch is a JSON array of tasks, or one task a line")
		case err != nil:
			return false, broken(0, err)
		case first != '\uFEFF' && !unicode.IsSpace(first):
			return first == '[', in.UnreadRune()
		}
	}
}

func broken(item int, err error) error {
	return task.Error(task.ErrUnreadable, fmt.Sprintf("the batch cannot be read behind task %d: %v; nothing was stored", item, err))
}
