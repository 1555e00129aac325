// Package archives sends stored archives of files to users and to the pods of tasks.
package archives

import (
	"context"
	"io"
	"net"
	"time"

	"github.com/gofiber/fiber/v2"

	"k8s-cli/pkg/api/slots"
)

// Type is the content type of an archive.
const Type = "application/gzip"

// A Store stores archives under opaque names.
type Store interface {
	Store(ctx context.Context, name string, r io.Reader) (size int64, err error) // error of r, or of kind task.ErrUnavailable
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

// Send sends an archive as the response.
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
	c.Context().SetBodyStream(&download{slot, conn, store.Open(s.Closing, a.Object)}, int(a.Size))
	return nil
}

// A download is the body of a response, and aborts if the receiver stalls.
type download struct {
	slot *slots.Slot
	conn net.Conn
	from io.Reader
}

func (d *download) Read(p []byte) (int, error) {
	n, err := d.from.Read(p)
	d.slot.Progress() // the receiver must read these bytes before the deadline
	return n, err
}

// Close releases the slot of the download.
func (d *download) Close() error {
	d.slot.Release()
	return d.conn.SetWriteDeadline(time.Time{})
}
