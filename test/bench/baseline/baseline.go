// Package baseline is what the parts do that the server is made of, with
// nothing around them: Fiber that returns ready bytes, JetStream that stores,
// client-go that creates. It runs in a process of its own, as the server does,
// which is asked on its standard input and answers on its standard output, a
// line of JSON each.
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

// A Request asks for one thing: exactly one field is set.
type Request struct {
	Serve   []Route  `json:"serve,omitempty"`
	Publish *Publish `json:"publish,omitempty"`
	Store   *Store   `json:"store,omitempty"`
	Create  *Create  `json:"create,omitempty"`
}

// A Reply says what came of a Request.
type Reply struct {
	Error string `json:"error,omitempty"`

	Address  string        `json:"address,omitempty"` // of Serve: host:port
	Count    int           `json:"count,omitempty"`
	Took     time.Duration `json:"took,omitempty"`
	P50, P99 time.Duration `json:",omitempty"`
}

// Run answers what is asked on in until that ends.
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
