package testkit

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// What tests need comes from the environment, as make test sets it.
const (
	EnvKubeconfig = "K8S_CLI_TEST_KUBECONFIG" // of a cluster that may be written to
	EnvPrograms   = "K8S_CLI_TEST_BIN"        // directory of our programs
)

// Need skips the test unless the environment has what it needs.
func Need(t testing.TB, names ...string) {
	t.Helper()
	for _, name := range names {
		if os.Getenv(name) == "" {
			t.Skip(name + " is not set; make test, or make deploy-test, sets it")
		}
	}
}

// Program returns the path of one of our programs, for a test on a cluster.
func Program(t testing.TB, name string) string {
	t.Helper()
	Need(t, EnvKubeconfig, EnvPrograms)
	path := filepath.Join(os.Getenv(EnvPrograms), name)
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%s: %v", EnvPrograms, err)
	}
	return path
}

// Join returns the cluster with a new namespace, which goes when the test does.
func Join(t testing.TB, prefix string, labels map[string]string) *Cluster {
	t.Helper()
	Need(t, EnvKubeconfig, EnvPrograms)
	c, err := Connect(os.Getenv(EnvKubeconfig), "k8s-cli-tests")
	if err == nil {
		err = c.Join(t.Context(), prefix, labels)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Leave)
	return c
}

// Parallel has so many tests run at once, unless the command line says how many.
// TestMain calls it for tests that mostly wait.
func Parallel(n string) {
	flag.Parse()
	chosen := false
	flag.Visit(func(f *flag.Flag) { chosen = chosen || f.Name == "test.parallel" })
	if !chosen {
		_ = flag.Set("test.parallel", n)
	}
}

// RunNATS runs a node of NATS with JetStream, on a directory and a port, or any port
// if that is 0, until the test ends.
func RunNATS(t testing.TB, dir string, port int) *natsserver.Server {
	t.Helper()
	if port == 0 {
		port = natsserver.RANDOM_PORT
	}
	n, err := natsserver.NewServer(&natsserver.Options{Host: "127.0.0.1", Port: port, JetStream: true, StoreDir: dir, NoLog: true, NoSigs: true})
	if err != nil {
		t.Fatal(err)
	}
	n.Start()
	t.Cleanup(func() { n.Shutdown(); n.WaitForShutdown() })
	if !n.ReadyForConnections(time.Minute) {
		t.Fatal("NATS is not ready")
	}
	return n
}

// JetStream returns a client of JetStream for the time of the test.
func JetStream(t testing.TB, url string) jetstream.JetStream {
	t.Helper()
	nc, err := nats.Connect(url, nats.MaxReconnects(-1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	return js
}

// Write writes a file that has to be there for the test.
func Write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// ClosedPort returns an address where nobody listens.
func ClosedPort(t testing.TB) string {
	t.Helper()
	address, err := FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	return address
}
