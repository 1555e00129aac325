package natsconn

import (
	"context"
	"fmt"

	"github.com/nats-io/nats.go"
)

// samplesSubject is the subject of what the nodes of tasks use. Subscribers have no permission for it.
const samplesSubject = "samples"

// SendSamples sends a message to all servers that are connected at this moment, the sender included.
// No stream stores the message, and the message may be lost.
func SendSamples(nc *Conn, message []byte) error { return nc.Publish(samplesSubject, message) }

// ReceiveSamples calls receive with each message of SendSamples, one after the other, until ctx ends.
func ReceiveSamples(ctx context.Context, nc *Conn, receive func(message []byte)) error {
	s, err := nc.Subscribe(samplesSubject, func(m *nats.Msg) { receive(m.Data) })
	if err != nil {
		return fmt.Errorf("subscribe to the samples: %w", err)
	}
	defer func() { _ = s.Unsubscribe() }()
	<-ctx.Done()
	return ctx.Err()
}
