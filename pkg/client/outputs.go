package client

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"k8s-cli/pkg/task"
)

// Outputs are the stored outputs of one node of a task: a gzipped tar file. The caller closes Body.
type Outputs struct {
	Body io.ReadCloser
	Size int64  // bytes
	Sum  string // SHA-256 of the archive, hexadecimal
}

// Outputs returns the outputs of one node of a task. The error is of kind task.ErrNotFound if the
// server has no such outputs. Outputs sends the request again if the connection breaks before the
// response, or if the server asks for a pause. Reading the body has no timeout.
func (c *Client) Outputs(ctx context.Context, id string, node int) (Outputs, error) {
	path, err := path(task.KindTask, id, "outputs", strconv.Itoa(node))
	if err != nil {
		return Outputs{}, err
	}
	r := request{method: http.MethodGet, path: path, same: true, stream: true}
	for attempt := 0; ; attempt++ {
		response, err := c.send(ctx, r)
		if err == nil {
			return Outputs{response.Body, response.ContentLength, strings.Trim(response.Header.Get("ETag"), `"`)}, nil
		}
		wait, again := c.repeats(r, err, attempt)
		if !again || attempt >= maxBreaks {
			return Outputs{}, err
		}
		select {
		case <-time.After(c.jittered(wait)):
		case <-ctx.Done():
			return Outputs{}, err
		}
	}
}
