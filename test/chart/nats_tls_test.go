package chart

import (
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"k8s-cli/test/testkit"
	"k8s-cli/test/testkit/must"
	"k8s-cli/test/testkit/pki"
)

// Three NATS nodes with the configuration of the chart form a cluster with TLS, and accept only
// clients with TLS.
func TestNATSOfTheChartUsesTLS(t *testing.T) {
	config := at(t, find(t, rendered(t, render(t, "k8s-cli", "--set", "nats.tlsSecret=tls")), "ConfigMap", "k8s-cli-nats"), "data", "nats.conf").(string)
	ca := pki.New(t)
	var urls, routes, configs []string
	for i := range 3 {
		dir := t.TempDir()
		ca.Issue(t, dir)
		client, route := free(t, i), free(t, i)
		urls, routes = append(urls, "tls://server:secret@"+client), append(routes, `"nats://route:secret@`+route+`"`)
		configs = append(configs, strings.NewReplacer("0.0.0.0:4222", client, "0.0.0.0:6222", route, "http: 0.0.0.0:8222", "", "/etc/nats-tls", dir, "store_dir: /data", "store_dir: "+t.TempDir()).Replace(config))
	}
	t.Setenv("PASSWORD", `"secret"`)
	t.Setenv("ROUTES", "["+strings.Join(routes, ",")+"]")
	for i, config := range configs {
		t.Setenv("POD_NAME", fmt.Sprintf("n%d", i))
		file := filepath.Join(t.TempDir(), "nats.conf")
		must.Write(t, file, config)
		options, err := natsserver.ProcessConfigFile(file)
		must.Succeed(t, err)
		options.NoLog, options.NoSigs = true, true
		s, err := natsserver.NewServer(options)
		must.Succeed(t, err)
		s.Start()
		t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	}
	files := ca.Issue(t, t.TempDir())
	nc, err := nats.Connect(urls[0], nats.RootCAs(files.CA), nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1))
	must.Succeed(t, err)
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	must.Succeed(t, err)
	testkit.Eventually(t, time.Minute, "a stream on three nodes", func() (string, bool) {
		_, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}, Replicas: 3})
		return fmt.Sprint(err), err == nil
	})
	if plain, err := nats.Connect(strings.Replace(urls[0], "tls://", "nats://", 1)); err == nil {
		plain.Close()
		t.Error("a client without the CA certificate connected")
	}
}

// free returns an address of node i at which no process listens.
func free(t *testing.T, i int) string {
	t.Helper()
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.%d:0", i+1))
	must.Succeed(t, err)
	defer l.Close()
	return l.Addr().String()
}
