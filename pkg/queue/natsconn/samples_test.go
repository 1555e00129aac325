package natsconn_test

import (
	"context"
	"sync"
	"testing"

	"k8s-cli/pkg/queue/internal/natstest"
	"k8s-cli/pkg/queue/natsconn"
)

// Every server receives the samples of the leader, the leader too.
func TestSamplesReachEveryServer(t *testing.T) {
	t.Parallel()
	server := natstest.Embed(t, t.TempDir())
	leader, other := natstest.Connect(t, server), natstest.Connect(t, server)
	ctx, cancel := context.WithCancel(t.Context())
	var servers sync.WaitGroup
	got := make(chan string, 200)
	for name, nc := range map[string]*natsconn.Conn{"leader": leader, "other": other} {
		servers.Go(func() {
			_ = natsconn.ReceiveSamples(ctx, nc, func(m []byte) { got <- name + " " + string(m) })
		})
	}
	missing := map[string]bool{"leader x": true, "other x": true}
	natstest.Eventually(t, "both servers to receive a message", func() bool {
		if err := natsconn.SendSamples(leader, []byte("x")); err != nil {
			t.Fatal(err)
		}
		for len(got) > 0 {
			delete(missing, <-got)
		}
		return len(missing) == 0
	})
	cancel()
	servers.Wait()
}
