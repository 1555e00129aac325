// Package pki creates the keys and certificates of a local cluster: one certificate
// authority, and one certificate for each program that must authenticate.
package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"time"
)

// lifetime is longer than the life of any local cluster.
const lifetime = 10 * 365 * 24 * time.Hour

// An authority signs the certificates that all programs of the cluster trust.
type authority struct {
	cert *x509.Certificate
	key  crypto.Signer
}

// A pair is a certificate and its key, both in PEM.
type pair struct {
	cert, key []byte
}

// A subject is the content of a certificate. A certificate with hosts is valid for servers
// under these names. Every certificate is also valid for clients.
type subject struct {
	user  string
	group string
	hosts []string
}

func newAuthority(name string) (*authority, pair, error) {
	key, err := newKey()
	if err != nil {
		return nil, pair{}, err
	}
	tmpl := template(subject{user: name})
	tmpl.IsCA = true
	tmpl.BasicConstraintsValid = true
	tmpl.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	tmpl.ExtKeyUsage = nil
	a := &authority{cert: tmpl, key: key}
	p, err := a.sign(tmpl, key)
	if err != nil {
		return nil, pair{}, err
	}
	// Later certificates must chain to the parsed certificate, as signed.
	block, _ := pem.Decode(p.cert)
	a.cert, err = x509.ParseCertificate(block.Bytes)
	return a, p, err
}

// issue returns a new key with a certificate for s.
func (a *authority) issue(s subject) (pair, error) {
	key, err := newKey()
	if err != nil {
		return pair{}, err
	}
	return a.sign(template(s), key)
}

func (a *authority) sign(tmpl *x509.Certificate, key crypto.Signer) (pair, error) {
	der, err := x509.CreateCertificate(rand.Reader, tmpl, a.cert, key.Public(), a.key)
	if err != nil {
		return pair{}, fmt.Errorf("sign the certificate of %s: %w", tmpl.Subject.CommonName, err)
	}
	keyPEM, err := encodeKey(key)
	if err != nil {
		return pair{}, err
	}
	return pair{cert: encode("CERTIFICATE", der), key: keyPEM}, nil
}

func template(s subject) *x509.Certificate {
	now := time.Now()
	serial, _ := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120)) // rand.Reader never fails
	tmpl := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: s.user},
		NotBefore:    now.Add(-time.Hour), // tolerates clocks that are slightly behind
		NotAfter:     now.Add(lifetime),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	if s.group != "" {
		tmpl.Subject.Organization = []string{s.group}
	}
	for _, h := range s.hosts {
		if ip := net.ParseIP(h); ip != nil {
			tmpl.IPAddresses = append(tmpl.IPAddresses, ip)
			continue
		}
		tmpl.DNSNames = append(tmpl.DNSNames, h)
	}
	if len(s.hosts) > 0 {
		tmpl.ExtKeyUsage = append(tmpl.ExtKeyUsage, x509.ExtKeyUsageServerAuth)
	}
	return tmpl
}

func newKey() (crypto.Signer, error) {
	return ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
}

func encodeKey(key crypto.Signer) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode a key: %w", err)
	}
	return encode("PRIVATE KEY", der), nil
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
