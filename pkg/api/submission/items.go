package submission

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"

	"k8s-cli/pkg/api/slots"
	"k8s-cli/pkg/task/problem"
)

// Limits of a batch.
const (
	MaxBatchBytes = 64 << 20
	MaxBatchItems = 50_000

	MemoryStep = 64 << 10 // bytes that are taken from the user's share at once
)

// ErrBatchTooLong is the error about a batch of more than MaxBatchBytes.
var ErrBatchTooLong = problem.New(problem.TooLarge, fmt.Sprintf("the batch is larger than %d bytes; split it", MaxBatchBytes))

// A budgeted body takes memory from the user's share as the body arrives.
type budgeted struct {
	io.Reader
	memory *slots.Slot
	ctx    context.Context //nolint:containedctx // as long as the body is read
	free   int             // bytes that are taken from the share and have not arrived
	err    error           // why the share has no more memory
}

func (b *budgeted) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	for b.free -= n; b.free < 0; b.free += MemoryStep {
		if b.err = b.memory.Add(b.ctx, MemoryStep); b.err != nil {
			return 0, b.err
		}
	}
	return n, err
}

// ReadItems returns the items of a batch as unparsed JSON.
//
// Read takes memory from the user's share as the body arrives.
func ReadItems(ctx context.Context, r io.Reader, memory *slots.Slot) (items [][]byte, err error) {
	body := &budgeted{Reader: r, memory: memory, ctx: ctx}
	defer func() {
		if err != nil && body.err != nil {
			items, err = nil, body.err
		}
	}()
	limited := &io.LimitedReader{R: body, N: MaxBatchBytes + 1}
	in := bufio.NewReader(limited)
	array, err := begins(in)
	if err != nil {
		return nil, err
	}
	// The options accept some invalid JSON, so that the error concerns one task, whose
	// parser rejects it later.
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
			return nil, ErrBatchTooLong
		case errors.Is(err, io.EOF) && !array:
			return items, nil
		case err != nil:
			return nil, broken(len(items), err)
		case len(items) == MaxBatchItems:
			return nil, problem.New(problem.TooLarge, fmt.Sprintf("the batch has more than %d tasks; split it", MaxBatchItems))
		}
		items = append(items, bytes.Clone(item))
	}
	if _, err := values.ReadToken(); err != nil {
		return nil, broken(len(items), err)
	}
	if _, err := values.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, problem.New(problem.Malformed, "the batch is not a JSON array: unexpected data after the array")
	}
	return items, nil
}

// begins reports whether the body is a JSON array and not one task per line.
func begins(in *bufio.Reader) (array bool, err error) {
	for {
		first, _, err := in.ReadRune()
		switch {
		case errors.Is(err, io.EOF):
			return false, problem.New(problem.Malformed, "the body is empty; send a JSON array of tasks, or one task per line")
		case err != nil:
			return false, broken(0, err)
		case first != '\uFEFF' && !unicode.IsSpace(first):
			return first == '[', in.UnreadRune()
		}
	}
}

func broken(item int, err error) error {
	return problem.New(problem.Malformed, fmt.Sprintf("the batch cannot be read after task %d: %v; nothing was stored", item, err))
}
