package features

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s-cli/pkg/client"
	"k8s-cli/pkg/task"
	"k8s-cli/test/testkit"
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

// With --auth=token a name alone gives no access. A user cannot reach the tasks of another
// user; an administrator can. Pods still get their files.
func TestTokenAuthentication(t *testing.T) {
	t.Parallel()
	s := startForFiles(t, "--auth", "token", "--tokens-file", tokensFile(t, "ann", "bob", "root,ops"), "--admins", "group:ops")
	ann, bob, root := s.with(t, "token-of-ann"), s.with(t, "token-of-bob"), s.with(t, "token-of-root")

	login := ann.prepare(t, "auth", "login", "--token-stdin")
	login.Stdin = strings.NewReader("token of ann\n")
	login.start(t)
	if r := login.end(t); r.code == 0 || !strings.Contains(r.errOut, "must be one word") {
		t.Fatalf("log in with words: %+v", r)
	}
	id := ann.submit(t, yaml("run", endless))
	s.get(t, "ann", "/tasks/"+id).detail(t)
	for name, headers := range map[string][]string{
		"a name": {"X-User", "ann"}, "a wrong token": {"Authorization", "Bearer token-of-eve"}, "both": {"X-User", "ann", "Authorization", "Bearer x"},
	} {
		for _, path := range []string{"/tasks", "/tasks/" + id, "/tasks/" + id + "/spec", "/tasks/" + id + "/logs", "/tasks/" + id + "/events", "/events", "/volumes", "/whoami"} {
			if got := s.get(t, "", path, headers...); got.code != http.StatusUnauthorized || got.header.Get("WWW-Authenticate") == "" {
				t.Errorf("GET %s with %s: %d %s", path, name, got.code, got.body)
			}
		}
	}
	if _, err := bob.Task(t.Context(), id); !errors.Is(err, task.ErrNotFound) {
		t.Errorf("another user's look: %v", err)
	}
	if _, err := bob.Tasks(t.Context(), true); !errors.Is(err, task.ErrForbidden) {
		t.Errorf("another user's look at all users: %v", err)
	}
	if _, err := bob.StopAll(t.Context(), true); !errors.Is(err, task.ErrForbidden) {
		t.Errorf("another user's stop of all users: %v", err)
	}
	if all, err := root.Tasks(t.Context(), true); err != nil || len(all) != 1 || all[0].ID != id {
		t.Errorf("an administrator's look at all users: %+v, %v", all, err)
	}
	root.await(t, id, task.Running)
	log := root.follow(t, id, client.LogOptions{})
	log.awaitText(t, "begun\n")
	root.stop(t, id)
	ann.await(t, id, task.Stopped)
	s.awaitNothing(t, id)
}

// The files of a task reach its pods even if users authenticate with tokens.
func TestUploadsWithTokenAuthentication(t *testing.T) {
	t.Parallel()
	s := startForFiles(t, "--auth", "token", "--tokens-file", file(t, "tokens", fmt.Sprintf("%x ann\n", sha256.Sum256([]byte("anns")))))
	ann := s.with(t, "anns")
	login := ann.prepare(t, "auth", "login", "--token-stdin")
	login.Stdin = strings.NewReader("anns\n")
	login.start(t)
	if r := login.end(t); r.code != 0 || !strings.HasSuffix(r.out, "Logged in as: ann\n") {
		t.Fatalf("log in: %+v", r)
	}
	testkit.Write(t, filepath.Join(ann.home, "note.txt"), "from the file\n")
	testkit.Write(t, filepath.Join(ann.home, "task.yaml"), "file_mounts: {/note.txt: note.txt}\nrun: cat /note.txt\n")
	submit := ann.prepare(t, "jobs", "submit", "task.yaml")
	submit.start(t)
	if r := submit.end(t); r.code != 0 || !strings.Contains(r.out, "from the file\n") {
		t.Errorf("submit with a file: %+v", r)
	}
}

// Kubernetes says to which user a token belongs and for which audience it is.
func TestTokenReviewAuthentication(t *testing.T) {
	t.Parallel()
	c := join(t)
	s := c.serve(t, "--auth", "tokenreview", "--token-audience", "k8s-cli")
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "ann"}}
	if _, err := c.CoreV1().ServiceAccounts(c.namespace).Create(t.Context(), account, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	token := func(audience string) string {
		request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: []string{audience}}}
		got, err := c.CoreV1().ServiceAccounts(c.namespace).CreateToken(t.Context(), "ann", request, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return got.Status.Token
	}
	who, err := s.with(t, token("k8s-cli")).Whoami(t.Context())
	if want := "system:serviceaccount:" + c.namespace + ":ann"; err != nil || who.User != want || who.By != "tokenreview" || who.Admin {
		t.Errorf("%+v, %v, want %s", who, err, want)
	}
	right := token("k8s-cli")
	for name, wrong := range map[string]string{"for others": token("grafana"), "changed": right[:len(right)-6] + "AAAAAA", "none": "x"} {
		if _, err := s.with(t, wrong).Whoami(t.Context()); !errors.Is(err, task.ErrUnauthorized) {
			t.Errorf("a token %s: %v", name, err)
		}
	}
}

// The server trusts X-User from proxies only.
func TestTrustedProxies(t *testing.T) {
	t.Parallel()
	s := start(t, "--trusted-proxies", "10.0.0.0/8", "--admins", "root")
	got := s.get(t, "ann", "/tasks")
	if sentence := got.detail(t); got.code != http.StatusUnauthorized || !strings.Contains(sentence, "127.0.0.1 is not one of them") {
		t.Errorf("around the proxy: %d %s", got.code, sentence)
	}
	near := start(t, "--trusted-proxies", "127.0.0.0/8", "--admins", "root,group:ops")
	near.as(t, "ann").tasks(t)
	if got := near.get(t, "ann", "/tasks?all_users=true"); got.code != http.StatusForbidden {
		t.Errorf("all users for a user: %d %s", got.code, got.body)
	}
	if got := near.get(t, "bob", "/tasks?all_users=true", "X-Groups", "ops"); got.code != http.StatusOK {
		t.Errorf("all users for a group of administrators: %d %s", got.code, got.body)
	}
	if got := near.raw(t, "GET /tasks HTTP/1.1\r\nHost: localhost\r\nX-User: ann\r\nx-user: root\r\n\r\n"); got.code != http.StatusUnauthorized {
		t.Errorf("a name beside the proxy's: %d %s", got.code, got.body)
	}
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
	testkit.Write(t, filepath.Join(ann.home, "task.yaml"), "run: echo over TLS\n")
	if r := run("jobs", "submit", "task.yaml"); r.code != 0 || !strings.Contains(r.out, "over TLS\n") {
		t.Errorf("submit: %+v", r)
	}
	if _, err := ann.Tasks(t.Context(), false); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("without the certificate: %v", err)
	}
}

// selfSigned creates a certificate for this machine and its key.
func selfSigned(t *testing.T, cert, key string) {
	t.Helper()
	pair, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	wanted := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "k8s-cli"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	raw, err := x509.CreateCertificate(rand.Reader, wanted, wanted, &pair.PublicKey, pair)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(pair)
	if err != nil {
		t.Fatal(err)
	}
	testkit.Write(t, cert, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw})))
	testkit.Write(t, key, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})))
}
