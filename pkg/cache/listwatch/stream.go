package listwatch

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

const (
	readBuffer = 256 << 10
	maxField   = 64 << 20 // bytes of one object; etcd accepts about 1.5 MB
)

// A message is a type that decodes protobuf into a T.
type message[T any] interface {
	*T
	Unmarshal([]byte) error
}

// streamed returns a function that lists all objects in one response and holds one object in
// memory at a time. The list fails if no data arrives for idleTimeout. Pages would save the
// API server nothing: to make a page, the API server reads all objects after it.
func streamed[T any, O message[T]](from rest.Interface, namespace, resource string, without fieldMask, idleTimeout time.Duration) func(context.Context, metav1.ListOptions, func(O)) (metav1.ListMeta, error) {
	return func(ctx context.Context, options metav1.ListOptions, each func(O)) (about metav1.ListMeta, err error) {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		late := time.AfterFunc(idleTimeout, func() { cancel(fmt.Errorf("received no data for %s", idleTimeout)) })
		defer late.Stop()
		options.Limit, options.Continue = 0, ""
		body, err := from.Get().Namespace(namespace).Resource(resource).
			VersionedParams(&options, scheme.ParameterCodec).
			SetHeader("Accept", runtime.ContentTypeProtobuf).
			Stream(ctx)
		if err != nil {
			return about, errors.Join(err, context.Cause(ctx))
		}
		defer func() { _ = body.Close() }()
		var pruned []byte
		about, err = readList(body, func(raw []byte) (err error) {
			late.Reset(idleTimeout)
			var ok bool
			if pruned, ok = without.prune(pruned[:0], raw); !ok {
				return errMalformed
			}
			o := O(new(T))
			if err := o.Unmarshal(pruned); err != nil {
				return err
			}
			each(o)
			return nil
		})
		if err != nil {
			return about, fmt.Errorf("read the list of %s: %w", resource, errors.Join(err, context.Cause(ctx)))
		}
		return about, nil
	}
}

var errMalformed = errors.New("the response is not valid Kubernetes protobuf")

// readList reads an encoded list and calls item for each object. A list is a prefix followed
// by a runtime.Unknown, whose raw bytes have two fields.
func readList(from io.Reader, item func([]byte) error) (about metav1.ListMeta, err error) {
	r := &counting{Reader: bufio.NewReaderSize(from, readBuffer)}
	start := make([]byte, len(prefix))
	if _, err := io.ReadFull(r, start); err != nil {
		return about, unexpectedEOF(err)
	}
	if !bytes.Equal(start, prefix) {
		return about, errMalformed
	}
	found := false
	var buffer []byte
	err = r.fields(math.MaxInt64, func(number protowire.Number, size int64) error {
		if number != unknownRaw {
			_, err := io.CopyN(io.Discard, r, size)
			return err
		}
		found = true
		return r.fields(r.read+size, func(number protowire.Number, size int64) error {
			if size > maxField {
				return errMalformed
			}
			buffer = slices.Grow(buffer[:0], int(size))[:size]
			if _, err := io.ReadFull(r, buffer); err != nil {
				return err
			}
			switch number {
			case listMetadata:
				return about.Unmarshal(buffer)
			case listItems:
				return item(buffer)
			}
			return nil
		})
	})
	if err == nil && !found {
		err = errMalformed
	}
	return about, unexpectedEOF(err)
}

// Field numbers of runtime.Unknown and of lists.
const (
	unknownRaw   = 2
	listMetadata = 1
	listItems    = 2
)

// unexpectedEOF replaces io.EOF with io.ErrUnexpectedEOF.
func unexpectedEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// A counting reader counts the bytes that were read.
type counting struct {
	*bufio.Reader
	read int64
}

// Read reads bytes and counts them.
func (c *counting) Read(p []byte) (n int, err error) {
	n, err = c.Reader.Read(p)
	c.read += int64(n)
	return n, err
}

// ReadByte reads one byte and counts it.
func (c *counting) ReadByte() (byte, error) {
	b, err := c.Reader.ReadByte()
	if err == nil {
		c.read++
	}
	return b, err
}

// fields calls field for each field of a message that ends at the offset end, or at the end of
// the input. Every field must be length-delimited; the function field reads its content.
func (c *counting) fields(end int64, field func(number protowire.Number, size int64) error) error {
	for c.read < end {
		if _, err := c.Peek(1); err != nil && end == math.MaxInt64 && errors.Is(err, io.EOF) {
			return nil
		}
		tag, err := binary.ReadUvarint(c)
		if err != nil {
			return err
		}
		size, err := binary.ReadUvarint(c)
		if err != nil {
			return err
		}
		number, kind := protowire.DecodeTag(tag)
		if kind != protowire.BytesType || size > uint64(end-c.read) { //nolint:gosec // no end lies before what was read
			return errMalformed
		}
		if err := field(number, int64(size)); err != nil { //nolint:gosec // just compared
			return err
		}
	}
	if c.read > end {
		return errMalformed
	}
	return nil
}
