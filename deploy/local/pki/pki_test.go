package pki

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"strings"
	"testing"

	"k8s-cli/deploy/local/layout"
)

func ensured(t *testing.T) layout.Layout {
	t.Helper()
	l := layout.Layout{Dir: t.TempDir(), Nodes: layout.Kubelet}
	if err := Ensure(l); err != nil {
		t.Fatal(err)
	}
	return l
}

func load(t *testing.T, l layout.Layout, name string) *x509.Certificate {
	t.Helper()
	p, err := tls.LoadX509KeyPair(l.PKI(name+".crt"), l.PKI(name+".key"))
	if err != nil {
		t.Fatal(err)
	}
	return p.Leaf
}

func TestCertificatesChainToTheAuthority(t *testing.T) {
	l := ensured(t)
	roots := x509.NewCertPool()
	roots.AddCert(load(t, l, "ca"))
	for name, s := range subjects(l) {
		cert := load(t, l, name)
		client := x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
		if _, err := cert.Verify(client); err != nil {
			t.Errorf("%s as a client: %v", name, err)
		}
		if got := strings.Join(cert.Subject.Organization, ","); got != s.group {
			t.Errorf("%s is in group %q, want %q", name, got, s.group)
		}
		for _, host := range s.hosts {
			if _, err := cert.Verify(x509.VerifyOptions{Roots: roots, DNSName: host}); err != nil {
				t.Errorf("%s as the server %s: %v", name, host, err)
			}
		}
	}
}

func TestOnlyServersMayServe(t *testing.T) {
	l := ensured(t)
	for _, usage := range load(t, l, Admin).ExtKeyUsage {
		if usage == x509.ExtKeyUsageServerAuth {
			t.Error("the admin's certificate may be used by a server")
		}
	}
}

func TestASecondStartKeepsTheCertificates(t *testing.T) {
	l := ensured(t)
	before := load(t, l, Admin).SerialNumber
	if err := os.Remove(l.Kubeconfig()); err != nil {
		t.Fatal(err)
	}
	if err := Ensure(l); err != nil {
		t.Fatal(err)
	}
	if after := load(t, l, Admin).SerialNumber; before.Cmp(after) != 0 {
		t.Error("the certificates were made anew")
	}
	if _, err := os.Stat(l.Kubeconfig()); err != nil {
		t.Errorf("the kubeconfig is not back: %v", err)
	}
}

func TestKubeconfigIsPrivateAndLocal(t *testing.T) {
	l := ensured(t)
	info, err := os.Stat(l.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, want 0600", info.Mode().Perm())
	}
	text, err := os.ReadFile(l.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "server: https://127.0.0.1:17600\n") {
		t.Errorf("the server is not on 127.0.0.1:\n%s", text)
	}
}
