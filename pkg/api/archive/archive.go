// Package archive receives and sends archives of files. The archives are the outputs of tasks,
// which nodes send, and uploads.
package archive

import (
	"context"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"k8s-cli/pkg/api/slots"
)

// Type is the content type of an archive.
const Type = "application/gzip"

// A Store stores archives under opaque names.
type Store interface {
	Store(ctx context.Context, name string, r io.Reader) (size int64, err error) // error of r, or of kind problem.Unavailable
	Exists(ctx context.Context, name string) (bool, error)
	Open(ctx context.Context, name string) io.Reader
}

// An Archive is a stored archive.
type Archive struct {
	User   string // whose download slot the transfer takes, even if another user or a pod sent the request
	Object string // name in the store
	Sum    string // SHA-256, hexadecimal
	Size   int64  // bytes
	Lost   error  // error if the store no longer has the archive
}

// A Sender sends archives.
type Sender struct {
	Slots   *slots.Pool
	Closing context.Context //nolint:containedctx // ends with the server
}

// Send sends an archive as the response, or the part of the archive that the header Range names. If
// the header If-Range names another archive, Send sends the whole archive.
func (s Sender) Send(c *fiber.Ctx, store Store, a Archive) error {
	stored, err := store.Exists(c.UserContext(), a.Object)
	if err != nil {
		return err
	}
	if !stored {
		return a.Lost
	}
	slot := s.Slots.Empty(a.User)
	if c.Method() != fiber.MethodHead {
		if slot, err = s.Slots.Take(s.Closing, a.User); err != nil {
			return err
		}
	}
	conn := c.Context().Conn()
	slot.Track(conn.SetWriteDeadline)
	c.Set(fiber.HeaderContentType, Type)
	c.Set(fiber.HeaderETag, `"`+a.Sum+`"`)
	c.Set(fiber.HeaderAcceptRanges, "bytes")
	first, last := int64(0), a.Size-1
	if from, to, ok := rangeOf(c, a); ok {
		first, last = from, to
		c.Status(fiber.StatusPartialContent).Set(fiber.HeaderContentRange, fmt.Sprintf("bytes %d-%d/%d", first, last, a.Size))
	}
	body := &download{slot, conn, store.Open(s.Closing, a.Object), first}
	if last < a.Size-1 {
		body.from = io.LimitReader(body.from, last+1)
	}
	c.Context().SetBodyStream(body, int(last-first+1))
	return nil
}

// rangeOf returns the bytes of an archive that a request names. ok is false if the request is for the
// whole archive, which is also the answer to several ranges and to a range outside of the archive.
func rangeOf(c *fiber.Ctx, a Archive) (first, last int64, ok bool) {
	wanted := c.Request().Header.Peek(fiber.HeaderRange)
	if len(wanted) == 0 || c.Method() != fiber.MethodGet {
		return 0, 0, false
	}
	if same := c.Get(fiber.HeaderIfRange); same != "" && same != `"`+a.Sum+`"` {
		return 0, 0, false
	}
	from, to, err := fasthttp.ParseByteRange(wanted, int(a.Size))
	return int64(from), int64(to), err == nil
}

// A download is the body of a response, and aborts if the receiver stalls.
type download struct {
	slot *slots.Slot
	conn net.Conn
	from io.Reader
	skip int64 // bytes to leave out; a store has to read them, because it verifies the digest of all bytes
}

func (d *download) Read(p []byte) (int, error) {
	for d.skip > 0 {
		n, err := d.from.Read(p[:min(int64(len(p)), d.skip)])
		d.slot.Progress()
		if d.skip -= int64(n); err != nil {
			return 0, err
		}
	}
	n, err := d.from.Read(p)
	d.slot.Progress() // the receiver must read these bytes before the deadline
	return n, err
}

// Close releases the slot of the download.
func (d *download) Close() error {
	d.slot.Release()
	return d.conn.SetWriteDeadline(time.Time{})
}
