package testkit

import (
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"k8s-cli/test/testkit/must"
)

// Tests read their settings from environment variables, which make test sets.
const (
	EnvKubeconfig = "K8S_CLI_TEST_KUBECONFIG" // of a cluster that tests may change
	EnvPrograms   = "K8S_CLI_TEST_BIN"        // directory of the programs of this project
)

// Need skips the test unless all these environment variables are set.
func Need(t testing.TB, names ...string) {
	t.Helper()
	for _, name := range names {
		if os.Getenv(name) == "" {
			t.Skip(name + " is not set; make test, or make deploy-test, sets it")
		}
	}
}

// Program returns the path of one program of this project. Program skips the test if there
// is no cluster.
func Program(t testing.TB, name string) string {
	t.Helper()
	Need(t, EnvKubeconfig, EnvPrograms)
	path := filepath.Join(os.Getenv(EnvPrograms), name)
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%s: %v", EnvPrograms, err)
	}
	return path
}

// Join returns the cluster with a new namespace, which is deleted at the end of the test.
func Join(t testing.TB, prefix string, labels map[string]string) *Cluster {
	t.Helper()
	Need(t, EnvKubeconfig, EnvPrograms)
	c, err := Connect(os.Getenv(EnvKubeconfig), "k8s-cli-tests")
	if err == nil {
		err = c.Join(t.Context(), prefix, labels)
	}
	must.Succeed(t, err)
	t.Cleanup(c.Leave)
	return c
}

// Parallel sets how many tests run at once, unless the command line does. TestMain calls
// Parallel for tests that mostly wait.
func Parallel(n string) {
	flag.Parse()
	chosen := false
	flag.Visit(func(f *flag.Flag) { chosen = chosen || f.Name == "test.parallel" })
	if !chosen {
		_ = flag.Set("test.parallel", n)
	}
}

// RunNATS runs a NATS server with JetStream until the test ends. Port 0 means any free port.
func RunNATS(t testing.TB, dir string, port int) *natsserver.Server {
	t.Helper()
	if port == 0 {
		port = natsserver.RANDOM_PORT
	}
	n, err := natsserver.NewServer(&natsserver.Options{Host: "127.0.0.1", Port: port, JetStream: true, StoreDir: dir, NoLog: true, NoSigs: true})
	must.Succeed(t, err)
	n.Start()
	t.Cleanup(func() { n.Shutdown(); n.WaitForShutdown() })
	if !n.ReadyForConnections(time.Minute) {
		t.Fatal("NATS is not ready")
	}
	return n
}

// RunNATSCluster runs three NATS servers in this process, which form a cluster. lose stops the
// servers; their data is lost. The servers stop at the end of the test, too.
func RunNATSCluster(t testing.TB) (urls string, lose func()) {
	t.Helper()
	var routes, clients []string
	for range 3 {
		routes, clients = append(routes, "nats://"+ClosedPort(t)), append(clients, ClosedPort(t))
	}
	var nodes []*natsserver.Server
	for i, address := range clients {
		o := &natsserver.Options{ServerName: fmt.Sprintf("n%d", i), JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true, Cluster: natsserver.ClusterOpts{Name: "test"}}
		o.Routes = natsserver.RoutesFromStr(strings.Join(routes, ","))
		o.Host, o.Port = split(t, address)
		o.Cluster.Host, o.Cluster.Port = split(t, strings.TrimPrefix(routes[i], "nats://"))
		n, err := natsserver.NewServer(o)
		must.Succeed(t, err)
		n.Start()
		nodes, urls = append(nodes, n), urls+",nats://"+address
	}
	lose = func() {
		for _, n := range nodes {
			n.Shutdown()
			n.WaitForShutdown()
		}
	}
	t.Cleanup(lose)
	Eventually(t, time.Minute, "a NATS cluster of three nodes", func() (string, bool) {
		for _, n := range nodes {
			if n.JetStreamIsLeader() {
				peers := len(n.JetStreamClusterPeers())
				return fmt.Sprintf("%d nodes", peers), peers == len(nodes)
			}
		}
		return "no leader", false
	})
	return urls[1:], lose
}

func split(t testing.TB, address string) (host string, port int) {
	t.Helper()
	host, text, err := net.SplitHostPort(address)
	if err == nil {
		port, err = strconv.Atoi(text)
	}
	must.Succeed(t, err)
	return host, port
}

// JetStream returns a JetStream client, which is closed at the end of the test.
func JetStream(t testing.TB, url string) jetstream.JetStream {
	t.Helper()
	nc, err := nats.Connect(url, nats.MaxReconnects(-1))
	must.Succeed(t, err)
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	must.Succeed(t, err)
	return js
}

// ClosedPort returns an address at which no process listens.
func ClosedPort(t testing.TB) string {
	t.Helper()
	address, err := FreeAddress()
	must.Succeed(t, err)
	return address
}
