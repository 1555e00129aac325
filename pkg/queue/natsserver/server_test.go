package natsserver

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"k8s-cli/test/testkit/must"
)

// start starts a server. The server stops when the test ends, or earlier.
func start(t *testing.T, c Config) *Server {
	t.Helper()
	n, err := Start(c)
	must.Succeed(t, err)
	t.Cleanup(n.Close)
	return n
}

// connect connects to a server. On a slow machine the server may close a connection that
// authenticates late; connect then connects again.
func connect(t *testing.T, url string, option nats.Option) error {
	t.Helper()
	for {
		nc, err := nats.Connect(url, option, nats.Timeout(time.Minute))
		if nc != nil {
			nc.Close()
		}
		if !errors.Is(err, nats.ErrTimeout) && (err == nil || !strings.Contains(strings.ToLower(err.Error()), "authentication timeout")) {
			return err
		}
	}
}

func TestADirectoryServesOneProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := start(t, Config{Dir: dir})
	_, err := Start(Config{Dir: dir})
	if err == nil || !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), "in use") {
		t.Fatalf("a second server on the directory: %v", err)
	}
	first.Close()
	start(t, Config{Dir: dir})
}

func TestAnEmbeddedServerThatCannotStartSaysWhy(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		config Config
		want   string
	}{
		{"the directory is a file", Config{Dir: "/dev/null/data"}, "data directory"},
		{"the listener has no port", Config{Listen: "127.0.0.1"}, "NATS listener"},
		{"the port is no number", Config{Listen: "127.0.0.1:nats"}, `port "nats" is not a number`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.config.Dir == "" {
				tt.config.Dir = t.TempDir()
			}
			e, err := Start(tt.config)
			if err == nil {
				e.Close()
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
}

func TestAConnectionByNameNeedsTheKey(t *testing.T) {
	t.Parallel()
	e := start(t, Config{Dir: t.TempDir(), Listen: "127.0.0.1:0"})
	forged, err := newKey()
	must.Succeed(t, err)
	for name, k := range map[string]key{
		"an unknown key":          forged,
		"another's signature":     {forged.pair, e.own.public},
		"the own key, as it must": e.own,
	} {
		err := connect(t, e.current().ClientURL(), nats.Nkey(k.public, k.pair.Sign))
		if (err == nil) != (k == e.own) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
