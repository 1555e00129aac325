// Package pki makes certificates for tests.
package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"k8s-cli/test/testkit/must"
)

// An Authority issues certificates for addresses of this machine.
type Authority struct {
	Certificate *x509.Certificate
	key         crypto.Signer
}

// Files are the paths of PEM files, with the names of a Secret of cert-manager.
type Files struct{ CA, Cert, Key string }

// New returns an authority whose certificates are valid for an hour.
func New(t testing.TB) Authority {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	key := newKey(t)
	return Authority{sign(t, template, template, key.Public(), key), key}
}

// Issue writes a certificate for a server and a client to dir.
func (a Authority) Issue(t testing.TB, dir string) Files {
	t.Helper()
	key := newKey(t)
	c := sign(t, &x509.Certificate{
		SerialNumber: big.NewInt(2), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv4(127, 0, 0, 2), net.IPv4(127, 0, 0, 3)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, a.Certificate, key.Public(), a.key)
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	must.Succeed(t, err)
	f := Files{filepath.Join(dir, "ca.crt"), filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")}
	for path, block := range map[string]*pem.Block{
		f.CA:   {Type: "CERTIFICATE", Bytes: a.Certificate.Raw},
		f.Cert: {Type: "CERTIFICATE", Bytes: c.Raw},
		f.Key:  {Type: "PRIVATE KEY", Bytes: raw},
	} {
		must.Succeed(t, os.WriteFile(path, pem.EncodeToMemory(block), 0o600))
	}
	return f
}

func newKey(t testing.TB) crypto.Signer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must.Succeed(t, err)
	return key
}

func sign(t testing.TB, template, parent *x509.Certificate, public crypto.PublicKey, by crypto.Signer) *x509.Certificate {
	t.Helper()
	raw, err := x509.CreateCertificate(rand.Reader, template, parent, public, by)
	must.Succeed(t, err)
	c, err := x509.ParseCertificate(raw)
	must.Succeed(t, err)
	return c
}
