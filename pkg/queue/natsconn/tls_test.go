package natsconn_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s-cli/pkg/queue/internal/natstest"
	"k8s-cli/pkg/queue/natsconn"
)

// An authority issues certificates for 127.0.0.1.
type authority struct {
	certificate *x509.Certificate
	key         crypto.Signer
}

func newAuthority(t *testing.T) authority {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	key := newKey(t)
	return authority{sign(t, template, template, key.Public(), key), key}
}

func newKey(t *testing.T) crypto.Signer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func sign(t *testing.T, template, parent *x509.Certificate, public crypto.PublicKey, by crypto.Signer) *x509.Certificate {
	t.Helper()
	raw, err := x509.CreateCertificate(rand.Reader, template, parent, public, by)
	if err != nil {
		t.Fatal(err)
	}
	c, err := x509.ParseCertificate(raw)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// issue writes a certificate and its key to dir, in the files that r names.
func (a authority) issue(t *testing.T, r natsconn.Remote) {
	t.Helper()
	key := newKey(t)
	c := sign(t, &x509.Certificate{
		SerialNumber: big.NewInt(2), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, a.certificate, key.Public(), a.key)
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for path, block := range map[string]*pem.Block{
		r.CA:   {Type: "CERTIFICATE", Bytes: a.certificate.Raw},
		r.Cert: {Type: "CERTIFICATE", Bytes: c.Raw},
		r.Key:  {Type: "PRIVATE KEY", Bytes: raw},
	} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func in(dir string) natsconn.Remote {
	return natsconn.Remote{CA: filepath.Join(dir, "ca.crt"), Cert: filepath.Join(dir, "tls.crt"), Key: filepath.Join(dir, "tls.key")}
}

// serve starts a NATS server that requires a certificate of a from its clients.
func (a authority) serve(t *testing.T, r *natstest.Remote) {
	t.Helper()
	files := in(t.TempDir())
	a.issue(t, files)
	pair, err := tls.LoadX509KeyPair(files.Cert, files.Key)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(a.certificate)
	r.Options.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: roots}
	r.Options.TLSTimeout = natstest.Timeout.Seconds()
	r.Up(t)
}

func TestTLSAuthenticatesBothSides(t *testing.T) {
	t.Parallel()
	ours, others := newAuthority(t), newAuthority(t)
	r := natstest.Serve(t)
	r.Down()
	ours.serve(t, r)
	own, foreign := in(t.TempDir()), in(t.TempDir())
	ours.issue(t, own)
	others.issue(t, foreign)
	for _, tt := range []struct {
		name   string
		remote natsconn.Remote
		want   string // error
	}{
		{"certificates of the authority of the server", own, ""},
		{"no CA", natsconn.Remote{Cert: own.Cert, Key: own.Key}, "certificate signed by unknown authority"},
		{"another CA", natsconn.Remote{CA: foreign.CA, Cert: own.Cert, Key: own.Key}, "certificate signed by unknown authority"},
		{"no client certificate", natsconn.Remote{CA: own.CA}, "certificate required"},
		{"a client certificate of another CA", natsconn.Remote{CA: own.CA, Cert: foreign.Cert, Key: foreign.Key}, "tls: "},
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
	first, second := newAuthority(t), newAuthority(t)
	r := natstest.Serve(t)
	r.Down()
	first.serve(t, r)
	remote := in(t.TempDir())
	first.issue(t, remote)
	remote.URL = r.URL
	nc, err := remote.Dial()
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	r.Down()
	second.issue(t, remote)
	second.serve(t, r)
	natstest.Eventually(t, "a connection with the new certificates", func() bool { return nc.FlushTimeout(time.Second) == nil })
}
