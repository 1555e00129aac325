package rig

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"k8s-cli/test/testkit"
	"k8s-cli/test/testkit/must"
)

func TestMain(m *testing.M) {
	RunNode()
	m.Run()
}

// threeNodes starts a NATS cluster that is connected by links of the rig, with a log of
// three replicas.
func threeNodes(t *testing.T) *Rig {
	t.Helper()
	ctx, cancel := testkit.WithPatience(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	r := &Rig{config: Config{Dir: t.TempDir(), Links: true}}
	t.Cleanup(func() {
		for _, n := range r.Nodes {
			n.Kill()
		}
		for _, l := range r.links {
			l.Close()
		}
	})
	must.Succeed(t, r.addNodes(ctx, 3))
	js, disconnect, err := r.JetStream()
	must.Succeed(t, err)
	defer disconnect()
	config := jetstream.StreamConfig{Name: logStream, Subjects: []string{"log"}, Replicas: 3}
	must.Succeed(t, testkit.Until(ctx, "a log", func() (string, bool) {
		_, err := js.CreateStream(ctx, config)
		return fmt.Sprint(err), err == nil
	}))
	must.Succeed(t, r.AwaitNATS(ctx))
	return r
}

// at connects to one node.
func (r *Rig) at(t *testing.T, node *Node) jetstream.JetStream {
	t.Helper()
	nc, err := nats.Connect(node.URL)
	must.Succeed(t, err)
	t.Cleanup(nc.Close)
	if servers := nc.DiscoveredServers(); len(servers) > 0 {
		t.Errorf("%s tells clients of %v", node.Name, servers)
	}
	js, err := jetstream.New(nc, jetstream.WithDefaultTimeout(time.Second))
	must.Succeed(t, err)
	return js
}

func publish(ctx context.Context, js jetstream.JetStream) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second) // a message is lost while the stream has no leader
	defer cancel()
	_, err := js.Publish(ctx, "log", []byte("x"))
	return err
}

// stores waits until a message is stored through one node.
func stores(ctx context.Context, t *testing.T, js jetstream.JetStream) {
	t.Helper()
	must.Succeed(t, testkit.Until(ctx, "a message to be stored", func() (string, bool) {
		err := publish(ctx, js)
		return fmt.Sprint(err), err == nil
	}))
}

// Each pair of nodes has one route, through a link, and no other connection. A separated
// node loses the leadership of the log, the other nodes elect a new leader, and after Heal
// all nodes are connected again.
func TestDivisionSeparatesAndHeals(t *testing.T) {
	if testing.Short() {
		t.Skip("the test is long; make test-unit runs it")
	}
	r := threeNodes(t)
	ctx, cancel := testkit.WithPatience(t.Context(), 2*time.Minute)
	defer cancel()
	for _, l := range r.links {
		if n := l.Connections(); n != 1 {
			t.Errorf("%d connections from %s to %s, want 1", n, l.From, l.To)
		}
	}
	if len(r.links) != 3 {
		t.Errorf("%d links between three nodes", len(r.links))
	}
	for i, d := range []Division{{Cut: true}, {Out: true, In: true}} {
		leader, other := r.Nodes[i], r.Nodes[i+1]
		must.Succeed(t, r.LeadLog(ctx, leader))
		apart, rest := r.at(t, leader), r.at(t, other)
		stores(ctx, t, apart)
		must.Succeed(t, r.Divide(d, leader.Name))
		if err := publish(ctx, apart); err == nil {
			t.Errorf("%+v: the node that is divided off stores messages", d)
		}
		stores(ctx, t, rest)
		stream, err := rest.Stream(ctx, logStream)
		must.Succeed(t, err)
		if now := stream.CachedInfo().Cluster.Leader; now == leader.Name {
			t.Errorf("%+v: %s still leads", d, now)
		}
		must.Succeed(t, errors.Join(r.Heal(), r.AwaitNATS(ctx)))
		stores(ctx, t, apart)
	}
}
