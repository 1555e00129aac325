package streams

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"k8s-cli/pkg/queue/natsconn"
)

// A GetRequest is a request to STREAM.MSG.GET, which only the leader of a stream answers.
type GetRequest struct {
	Seq  uint64 `json:"seq,omitempty"`
	Last string `json:"last_by_subj,omitempty"`
	Next string `json:"next_by_subj,omitempty"` // first message on the subject at or after Seq
}

// A Message is one message of a stream.
type Message struct {
	Subject string    `json:"subject"`
	Seq     uint64    `json:"seq"`
	Header  []byte    `json:"hdrs"` // encoded
	Data    []byte    `json:"data"`
	Time    time.Time `json:"time"`
}

type getResponse struct {
	Error   *jetstream.APIError `json:"error"`
	Message Message             `json:"message"`
}

// Get returns a message that the leader of a stream has. The error is jetstream.ErrMsgNotFound
// if the leader has no such message.
func Get(ctx context.Context, js jetstream.JetStream, stream string, r GetRequest) (*Message, error) {
	raw, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, natsconn.RequestTimeout)
	defer cancel()
	m, err := js.Conn().RequestWithContext(ctx, jetstream.DefaultAPIPrefix+"STREAM.MSG.GET."+stream, raw)
	if err != nil {
		return nil, err
	}
	var answer getResponse
	if err := json.Unmarshal(m.Data, &answer); err != nil {
		return nil, fmt.Errorf("read a response of NATS: %w", err)
	}
	switch e := answer.Error; {
	case e == nil:
		return &answer.Message, nil
	case e.ErrorCode == jetstream.JSErrCodeMessageNotFound:
		return nil, jetstream.ErrMsgNotFound
	default:
		return nil, e
	}
}
