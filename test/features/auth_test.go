package features

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"k8s-cli/test/testkit/must"
)

// with returns a user of s who authenticates with a token.
func (s *server) with(t *testing.T, token string) *user {
	t.Helper()
	u := s.as(t, "")
	u.Client = u.WithToken(func(context.Context) (string, error) { return token, nil }).AllowPlainHTTP()
	return u
}

// tokensFile writes a tokens file for these users. Each argument is user[,group...]. The
// token of user ann is token-of-ann.
func tokensFile(t *testing.T, users ...string) string {
	t.Helper()
	var text strings.Builder
	for _, u := range users {
		name, _, _ := strings.Cut(u, ",")
		fmt.Fprintf(&text, "%x %s\n", sha256.Sum256([]byte("token-of-"+name)), u)
	}
	return file(t, "tokens", text.String())
}

// The server serves HTTPS with the certificate of a file.
func TestHTTPS(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	selfSigned(t, filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"))
	c := join(t)
	s := &server{cluster: c, flags: []string{"--tls-cert", filepath.Join(dir, "cert.pem"), "--tls-key", filepath.Join(dir, "key.pem")}}
	s.launch(t)
	s.url = "https://" + s.process.address(t)
	ann := s.as(t, "ann")
	run := func(arguments ...string) result {
		cmd := ann.prepare(t, arguments...)
		cmd.Env = append(cmd.Env, "SSL_CERT_FILE="+filepath.Join(dir, "cert.pem"))
		cmd.start(t)
		return cmd.end(t)
	}
	if r := run("auth", "login", "ann"); r.code != 0 {
		t.Fatalf("log in: %+v", r)
	}
	must.Write(t, filepath.Join(ann.home, "task.yaml"), "run: echo over TLS\n")
	if r := run("jobs", "submit", "task.yaml"); r.code != 0 || !strings.Contains(r.out, "over TLS\n") {
		t.Errorf("submit: %+v", r)
	}
	if _, err := ann.Tasks(t.Context(), false); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("without the certificate: %v", err)
	}
}

// selfSigned writes a certificate for this machine and its key.
func selfSigned(t *testing.T, cert, key string) {
	t.Helper()
	example := httptest.NewTLSServer(nil)
	defer example.Close()
	pair := example.TLS.Certificates[0]
	secret, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	must.Succeed(t, err)
	must.Write(t, cert, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]})))
	must.Write(t, key, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})))
}
