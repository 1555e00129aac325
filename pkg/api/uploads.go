package api

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"strings"

	"github.com/gofiber/fiber/v2"

	"k8s-cli/pkg/api/archive"
	"k8s-cli/pkg/api/slots"
	"k8s-cli/pkg/api/submission"
	"k8s-cli/pkg/seal"
	"k8s-cli/pkg/status"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
)

// Uploads configures the uploads of a server. The zero Uploads disables uploads.
type Uploads struct {
	Store     archive.Store
	Limit     int64        // largest archive, in bytes
	Advertise string       // URL of the server for the pods of tasks; empty if not configured
	Tokens    *seal.Sealer // nil means that the server has no key to verify tokens
}

// ready returns an error if uploads are disabled.
func (u Uploads) ready() error {
	switch {
	case u.Store == nil || u.Advertise == "":
		return problem.New(problem.FeatureDisabled, "uploads are disabled: the server has no --advertise-url by which pods reach it")
	case u.Tokens == nil:
		return problem.New(problem.FeatureDisabled, "uploads are disabled: the server has no --secrets-key-file to authenticate pods")
	}
	return nil
}

// An uploadHandler receives and sends the files of tasks.
type uploadHandler struct {
	uploads  Uploads
	log      Log
	viewer   *status.Viewer
	limits   *submission.Limits
	incoming *slots.Pool
	sender   archive.Sender
}

// uploadLimits serves the limits of uploads.
func (h *uploadHandler) uploadLimits(c *fiber.Ctx, _ string) error {
	if err := h.uploads.ready(); err != nil {
		return err
	}
	return c.JSON(task.UploadLimits{MaxBytes: h.uploads.Limit})
}

// putUpload stores the archive in the body. Only a part of the archive is in memory at a
// time.
func (h *uploadHandler) putUpload(c *fiber.Ctx, user string) error {
	u, sum := h.uploads, c.Params("sum")
	if err := task.CheckSum(sum); err != nil {
		return err
	}
	if err := u.ready(); err != nil {
		return err
	}
	if err := h.log.CheckCapacity(); err != nil {
		return err
	}
	body := &uploadBody{from: bodyOf(c), limit: u.Limit, sum: sum, hash: sha256.New()}
	if int64(c.Request().Header.ContentLength()) > u.Limit {
		return body.tooLarge()
	}
	slot, err := h.incoming.Take(h.sender.Closing, user)
	if err != nil {
		return err
	}
	defer slot.Release()
	body.from = transferred(c, slot)
	left, stored, err := h.limits.Upload(user, sum, int64(c.Request().Header.ContentLength()))
	if err != nil {
		return err
	}
	defer stored()
	body.limit = min(u.Limit, left)
	object := task.Owner(user) + "/" + sum + "/" + rand.Text()
	size, err := u.Store.Store(c.UserContext(), object, body)
	if err != nil {
		return err
	}
	if _, err := h.log.Append(c.UserContext(), task.Command{Upload: &task.Upload{User: user, Sum: sum, Object: object, Size: size}}); err != nil {
		return err
	}
	return c.JSON(task.NewUploaded(sum, size))
}

// An uploadBody is the body of an upload. At the end of the body, Read returns an error if the
// SHA-256 does not match.
type uploadBody struct {
	from  io.Reader
	limit int64 // bytes
	size  int64 // bytes read so far
	sum   string
	hash  hash.Hash
}

func (b *uploadBody) Read(p []byte) (int, error) {
	n, err := b.from.Read(p)
	b.size += int64(n)
	_, _ = b.hash.Write(p[:n]) // Write of a hash never returns an error
	switch {
	case b.size > b.limit:
		return 0, b.tooLarge()
	case err == nil:
		return n, nil
	case !errors.Is(err, io.EOF):
		return 0, problem.New(problem.Malformed, fmt.Sprintf("the body ends too early: %v", err))
	}
	if got := hex.EncodeToString(b.hash.Sum(nil)); got != b.sum {
		return 0, problem.New(problem.ChecksumMismatch, fmt.Sprintf("the body of %d bytes does not match the SHA-256 of the URL: its SHA-256 is %s", b.size, got))
	}
	return n, io.EOF
}

func (b *uploadBody) tooLarge() error {
	return problem.New(problem.TooLarge, fmt.Sprintf("the archive is larger than %d bytes, the limit of this server (--max-upload, and --max-user-uploads for all uploads of a user); leave out files that the task does not need, or put them on a volume", b.limit))
}

// getUpload sends an upload to its owner.
func (h *uploadHandler) getUpload(c *fiber.Ctx, user string) error {
	u, err := h.viewer.Read(c.UserContext()).Upload(user, c.Params("sum"))
	if err != nil {
		return err
	}
	return h.sendUpload(c, u)
}

// taskFile sends an upload to a pod of a task that needs the upload.
func (h *uploadHandler) taskFile(c *fiber.Ctx) error {
	id := c.Params("id")
	token, ok := strings.CutPrefix(c.Get(fiber.HeaderAuthorization), "Bearer ")
	switch {
	case !ok || h.uploads.Tokens == nil:
		return problem.New(problem.CredentialsMissing, "Authorization: the files of a task require the token of its pods")
	case !h.uploads.Tokens.VerifyToken(id, token):
		return problem.New(problem.Forbidden, "Authorization: the token is not the token of this task")
	}
	u, err := h.viewer.Read(c.UserContext()).TaskUpload(id, c.Params("sum"))
	if err != nil {
		return err
	}
	return h.sendUpload(c, u)
}

// sendUpload sends an archive.
func (h *uploadHandler) sendUpload(c *fiber.Ctx, u task.UploadRecord) error {
	if h.uploads.Store == nil {
		return h.uploads.ready()
	}
	return h.sender.Send(c, h.uploads.Store, archive.Archive{
		User: u.User, Object: u.Object, Sum: u.Sum, Size: u.Size,
		Lost: problem.New(problem.UploadNotFound, "Upload "+task.Quote(u.Sum)+" is lost; upload it again"),
	})
}
