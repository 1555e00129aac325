package natsconn_test

import (
	"crypto/tls"
	"crypto/x509"
	"strings"
	"testing"
	"time"

	"k8s-cli/pkg/queue/internal/natstest"
	"k8s-cli/pkg/queue/natsconn"
	"k8s-cli/test/testkit/pki"
)

// issue returns the settings of a client with a certificate of a in dir.
func issue(t *testing.T, a pki.Authority, dir string) natsconn.Remote {
	t.Helper()
	f := a.Issue(t, dir)
	return natsconn.Remote{CA: f.CA, Cert: f.Cert, Key: f.Key}
}

// serve starts a NATS server that requires a certificate of a from its clients.
func serve(t *testing.T, a pki.Authority, r *natstest.Remote) {
	t.Helper()
	files := a.Issue(t, t.TempDir())
	pair, err := tls.LoadX509KeyPair(files.Cert, files.Key)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(a.Certificate)
	r.Options.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: roots}
	r.Options.TLSTimeout = natstest.Timeout.Seconds()
	r.Up(t)
}

func TestTLSAuthenticatesBothSides(t *testing.T) {
	t.Parallel()
	ours, others := pki.New(t), pki.New(t)
	r := natstest.Serve(t)
	r.Down()
	serve(t, ours, r)
	own, foreign := issue(t, ours, t.TempDir()), issue(t, others, t.TempDir())
	for _, tt := range []struct {
		name   string
		remote natsconn.Remote
		want   string // error
	}{
		{"certificates of the authority of the server", own, ""},
		{"no CA", natsconn.Remote{Cert: own.Cert, Key: own.Key}, "certificate signed by unknown authority"},
		{"another CA", natsconn.Remote{CA: foreign.CA, Cert: own.Cert, Key: own.Key}, "certificate signed by unknown authority"},
		// The client may write before it reads why the server closed the connection.
		{"no client certificate", natsconn.Remote{CA: own.CA}, "tls"},
		{"a client certificate of another CA", natsconn.Remote{CA: own.CA, Cert: foreign.Cert, Key: foreign.Key}, "tls"},
		{"a CA file that does not exist", natsconn.Remote{CA: own.CA + "x"}, "rootCA file"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.remote.URL = "nats://" + strings.TrimPrefix(r.URL, "tls://")
			nc, err := tt.remote.DialOnce()
			if err == nil {
				defer nc.Close()
				err = nc.FlushWithContext(natstest.Context(t))
			}
			switch {
			case tt.want == "" && err != nil:
				t.Error(err)
			case tt.want == "":
				if _, err := nc.TLSConnectionState(); err != nil {
					t.Error(err)
				}
			case err == nil || !strings.Contains(err.Error(), tt.want):
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

// A connection reads its files again when it reconnects, so that certificates can be replaced.
func TestReplacedCertificatesAreReadAgain(t *testing.T) {
	t.Parallel()
	first, second := pki.New(t), pki.New(t)
	r := natstest.Serve(t)
	r.Down()
	serve(t, first, r)
	dir := t.TempDir()
	remote := issue(t, first, dir)
	remote.URL = r.URL
	nc, err := remote.Dial()
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	r.Down()
	issue(t, second, dir)
	serve(t, second, r)
	natstest.Eventually(t, "a connection with the new certificates", func() bool { return nc.FlushTimeout(time.Second) == nil })
}
