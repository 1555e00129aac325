package rig

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"k8s-cli/test/testkit"
)

const (
	logStream   = "LOG"
	eventStream = "EVENTS"
)

// A Node is a node of a NATS cluster.
type Node struct {
	Name string
	URL  string

	port      int // for clients
	arguments []string
	journal   *journal
	process   *testkit.Process
}

// envNode is set for a process that is a node.
const envNode = "K8S_CLI_FAULTS_NATS_NODE"

// RunNode runs a NATS server and exits, if this process was started as a node. A node is another
// process of the program that uses the rig, so that the program need not build a NATS server.
func RunNode() {
	if os.Getenv(envNode) == "" {
		return
	}
	options, err := natsserver.ConfigureOptions(flag.NewFlagSet("nats-server", flag.ExitOnError), os.Args[1:], nil, nil, nil)
	if err != nil {
		natsserver.PrintAndDie(err.Error())
	}
	s, err := natsserver.NewServer(options)
	if err != nil {
		natsserver.PrintAndDie(err.Error())
	}
	s.ConfigureLogger()
	s.Start()
	s.WaitForShutdown()
	os.Exit(0)
}

// Start starts the node. AwaitNATS waits until the cluster has a quorum.
func (n *Node) Start() error {
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("start %s: %w", n.Name, err)
	}
	n.process, err = testkit.Command{Program: program, Args: n.arguments, Env: []string{envNode + "=1"}, Output: n.journal}.Start()
	return err
}

// Kill ends the node as a power cut of its machine would. Only the data on its disk
// survives.
func (n *Node) Kill() {
	if n.process != nil {
		n.process.Kill()
		n.process = nil
	}
}

// addNodes creates and starts the nodes of a NATS cluster.
func (r *Rig) addNodes(ctx context.Context, count int) error {
	var ports, peers []int
	var routes []string
	for range count {
		client, peer := r.port(), r.port()
		ports, peers = append(ports, client), append(peers, peer)
		routes = append(routes, fmt.Sprintf("nats://127.0.0.1:%d", peer))
	}
	configs, err := r.linkNodes(ports, peers)
	if err != nil {
		return err
	}
	for i := range count {
		name := nodeName(i)
		j, err := newJournal(r.path(name + ".log"))
		if err != nil {
			return err
		}
		n := &Node{Name: name, URL: fmt.Sprintf("nats://127.0.0.1:%d", ports[i]), port: ports[i], journal: j}
		n.arguments = []string{"--name", name, "--addr", "127.0.0.1", "--port", fmt.Sprint(ports[i]), "--jetstream", "--store_dir", r.path(name)}
		switch {
		case r.config.Links:
			n.arguments = []string{"--config", configs[i]}
		case count > 1:
			n.arguments = append(n.arguments, "--cluster_name", "faults", "--cluster", fmt.Sprintf("nats://127.0.0.1:%d", peers[i]), "--routes", strings.Join(routes, ","))
		}
		if err := n.Start(); err != nil {
			return err
		}
		r.Nodes = append(r.Nodes, n)
	}
	return r.AwaitNATS(ctx)
}

func (r *Rig) natsURL() string {
	var urls []string
	for _, n := range r.Nodes {
		urls = append(urls, n.URL)
	}
	return strings.Join(urls, ",")
}

// JetStream connects the harness to the nodes.
func (r *Rig) JetStream() (jetstream.JetStream, func(), error) {
	nc, err := nats.Connect(r.natsURL(), nats.MaxReconnects(-1), nats.ReconnectWait(100*time.Millisecond))
	if err != nil {
		return nil, nil, fmt.Errorf("connect to the nodes of NATS: %w", err)
	}
	js, err := jetstream.New(nc, jetstream.WithDefaultTimeout(2*time.Second))
	if err != nil {
		nc.Close()
		return nil, nil, fmt.Errorf("connect to the nodes of NATS: %w", err)
	}
	return js, nc.Close, nil
}

// AwaitNATS waits until all nodes run and all replicas of all streams are current.
func (r *Rig) AwaitNATS(ctx context.Context) error {
	ctx, cancel := testkit.WithPatience(ctx, time.Minute)
	defer cancel()
	waiting := ctx
	return testkit.Until(ctx, "all nodes of NATS", func() (string, bool) {
		ctx, cancel := context.WithTimeout(waiting, askTimeout) // a request may be lost while the cluster has no leader
		defer cancel()
		js, disconnect, err := r.JetStream()
		if err != nil {
			return err.Error(), false
		}
		defer disconnect()
		return r.current(ctx, js)
	})
}

// current reports whether every stream has a leader and all its replicas are current.
func (r *Rig) current(ctx context.Context, js jetstream.JetStream) (state string, ok bool) {
	if _, err := js.AccountInfo(ctx); err != nil {
		return err.Error(), false
	}
	streams := js.ListStreams(ctx)
	for info := range streams.Info() {
		cluster := info.Cluster
		if cluster == nil || len(r.Nodes) == 1 {
			continue
		}
		current := 0
		for _, peer := range cluster.Replicas {
			if peer.Current && !peer.Offline {
				current++
			}
		}
		if cluster.Leader == "" || current < len(cluster.Replicas) {
			return fmt.Sprintf("stream %s: leader %q, %d of %d others current", info.Config.Name, cluster.Leader, current, len(cluster.Replicas)), false
		}
	}
	if err := streams.Err(); err != nil {
		return err.Error(), false
	}
	return "", true
}

// LimitLog sets the size limit of the log's stream, as an operator does.
func (r *Rig) LimitLog(ctx context.Context, bytes int64) error {
	js, disconnect, err := r.JetStream()
	if err != nil {
		return err
	}
	defer disconnect()
	stream, err := js.Stream(ctx, logStream)
	if err == nil {
		config := stream.CachedInfo().Config
		config.MaxBytes = bytes
		_, err = js.UpdateStream(ctx, config)
	}
	if err != nil {
		return fmt.Errorf("limit the log: %w", err)
	}
	return nil
}

// LeadLog makes a node the leader of the log.
func (r *Rig) LeadLog(ctx context.Context, node *Node) error {
	js, disconnect, err := r.JetStream()
	if err != nil {
		return err
	}
	defer disconnect()
	return testkit.UntilEvery(ctx, 500*time.Millisecond, node.Name+" to lead the log", func() (string, bool) {
		ctx, cancel := context.WithTimeout(ctx, askTimeout)
		defer cancel()
		stream, err := js.Stream(ctx, logStream)
		if err != nil {
			return err.Error(), false
		}
		cluster := stream.CachedInfo().Cluster
		if cluster == nil {
			return "it has one copy", false
		}
		if cluster.Leader == node.Name {
			return "", true
		}
		request := fmt.Appendf(nil, `{"placement":{"preferred":%q}}`, node.Name)
		answer, err := js.Conn().RequestWithContext(ctx, "$JS.API.STREAM.LEADER.STEPDOWN."+logStream, request)
		if err != nil {
			return err.Error(), false
		}
		return fmt.Sprintf("%s leads; %s", cluster.Leader, answer.Data), false
	})
}
