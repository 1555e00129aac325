package client

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"time"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
)

// UploadLimits returns the limits of uploads. The error is of kind problem.Invalid if the
// server accepts no uploads.
func (c *Client) UploadLimits(ctx context.Context) (task.UploadLimits, error) {
	var answer task.UploadLimits
	err := c.do(ctx, request{method: http.MethodGet, path: "/uploads"}, &answer)
	return answer, err
}

// HasUpload reports whether the server has an archive of the user with this SHA-256.
func (c *Client) HasUpload(ctx context.Context, sum string) (bool, error) {
	err := c.do(ctx, request{method: http.MethodHead, path: uploadPath(sum), same: true}, nil)
	if errors.Is(err, problem.NotFound) {
		return false, nil
	}
	return err == nil, err
}

// Upload stores an archive of size bytes. Upload calls open once for each attempt. Upload
// has no timeout of its own.
func (c *Client) Upload(ctx context.Context, sum string, size int64, open func() (io.ReadCloser, error)) error {
	r := request{method: http.MethodPut, path: uploadPath(sum), same: true, size: size}
	for attempt := 0; ; attempt++ {
		err := c.upload(ctx, r, open)
		wait, again := c.repeats(r, err, attempt)
		if !again || attempt >= maxBreaks {
			return err
		}
		select {
		case <-time.After(c.jittered(wait)):
		case <-ctx.Done():
			return err
		}
	}
}

func (c *Client) upload(ctx context.Context, r request, open func() (io.ReadCloser, error)) error {
	file, err := open()
	if err != nil {
		return err
	}
	defer file.Close()
	r.file = file
	return c.once(ctx, r, nil)
}

func uploadPath(sum string) string { return "/uploads/" + url.PathEscape(sum) }
