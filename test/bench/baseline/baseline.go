// Package baseline runs the bare components of the server: Fiber that returns
// prepared bytes, JetStream that stores messages, client-go that creates Jobs. A baseline is
// a process of its own, as the server is. A baseline reads requests on standard input and
// writes replies to standard output, one line of JSON each.
package baseline

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// A Request starts one measurement. Exactly one field is set.
type Request struct {
	Serve   []Route  `json:"serve,omitempty"`
	Publish *Publish `json:"publish,omitempty"`
	Store   *Store   `json:"store,omitempty"`
	Create  *Create  `json:"create,omitempty"`
}

// A Reply is the result of a Request.
type Reply struct {
	Error string `json:"error,omitempty"`

	Address string        `json:"address,omitempty"` // of Serve, host:port
	Took    time.Duration `json:"took,omitempty"`    // of Store and Create
	P50     time.Duration `json:"p50,omitempty"`     // of Publish
}

// Run answers the requests from in until in ends.
func Run(ctx context.Context, in io.Reader, out io.Writer) error {
	var web web
	defer web.close()
	lines := bufio.NewReader(in)
	answers := json.NewEncoder(out)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read a request: %w", err)
		}
		var request Request
		if err := json.Unmarshal(line, &request); err != nil {
			return fmt.Errorf("read a request: %w", err)
		}
		reply, err := answer(ctx, &web, request)
		if err != nil {
			reply.Error = err.Error()
		}
		if err := answers.Encode(reply); err != nil {
			return fmt.Errorf("reply: %w", err)
		}
	}
}

func answer(ctx context.Context, web *web, r Request) (Reply, error) {
	switch {
	case r.Serve != nil:
		address, err := web.serve(r.Serve)
		return Reply{Address: address}, err
	case r.Publish != nil:
		return r.Publish.run(ctx)
	case r.Store != nil:
		return r.Store.run(ctx)
	case r.Create != nil:
		return r.Create.run(ctx)
	}
	return Reply{}, errors.New("the request asks for nothing that is known")
}
