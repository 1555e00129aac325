package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"k8s-cli/test/testkit"
)

// A mode is a configuration of the server.
type mode string

// The modes. The server of each mode has its own namespace, log and process.
const (
	byHeader  mode = "header" // trusts X-User
	byToken   mode = "token"  // accepts the tokens of a file; root is an administrator
	byOIDC    mode = "oidc"   // accepts ID tokens; the user is the subject
	byEmail   mode = "email"  // accepts ID tokens; the user is the e-mail address; root@example.com is an administrator
	farProxy  mode = "far"    // trusts X-User from 10.0.0.0/8
	nearProxy mode = "near"   // trusts X-User from 127.0.0.0/8; root is an administrator
)

// An environment is the target of attacks: servers and their cluster.
type environment struct {
	options options
	dir     string
	cluster kubernetes.Interface
	issuer  *issuer
	servers servers
	mark    string // label of the namespaces of this run

	mu         sync.Mutex
	belongings map[mode]*belongings
	homes      int
}

func newEnvironment(o options, dir string) (*environment, error) {
	cluster, err := testkit.Connect(o.kubeconfig, "k8s-cli-attack")
	if err != nil {
		return nil, fmt.Errorf("-kubeconfig: %w", err)
	}
	if o.programs, err = filepath.Abs(o.programs); err != nil {
		return nil, fmt.Errorf("-programs: %w", err)
	}
	if _, err := cluster.Discovery().ServerVersion(); err != nil {
		return nil, fmt.Errorf("reach the cluster: %w", err)
	}
	w := &environment{options: o, dir: dir, cluster: cluster, mark: strings.ToLower(rand.Text()[:6]), belongings: map[mode]*belongings{}}
	w.servers.started = map[mode]*starting{}
	w.issuer = newIssuer()
	return w, nil
}

// close ends the servers and deletes their namespaces.
func (w *environment) close() (failed error) {
	ctx := context.Background() // the context of the run may have ended
	for _, s := range w.servers.all() {
		s.Kill()
		failed = errors.Join(failed, w.cluster.CoreV1().Namespaces().Delete(ctx, s.namespace, metav1.DeleteOptions{}))
	}
	w.issuer.Close()
	return failed
}

// serve returns the server of a mode, and starts it at the first call.
func (w *environment) serve(ctx context.Context, m mode) (*server, error) {
	return w.servers.get(m, func() (*server, error) { return w.start(context.WithoutCancel(ctx), m) })
}

func (w *environment) start(ctx context.Context, m mode) (*server, error) {
	s := &server{mode: m, world: w, namespace: "attack-" + string(m) + "-" + w.mark}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.namespace}}
	if _, err := w.cluster.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
		return nil, fmt.Errorf("start the server for %s: %w", m, err)
	}
	flags, err := w.flags(m, s)
	if err != nil {
		return nil, fmt.Errorf("start the server for %s: %w", m, err)
	}
	if err := s.launch(ctx, filepath.Join(w.options.programs, "k8s-cli-server"), flags); err != nil {
		return nil, fmt.Errorf("start the server for %s: %w", m, err)
	}
	return s, nil
}

// flags returns the flags of the server of a mode.
func (w *environment) flags(m mode, s *server) ([]string, error) {
	var own []string
	switch m {
	case byToken:
		path, err := w.tokensFile()
		if err != nil {
			return nil, err
		}
		own = []string{"--auth", "token", "--tokens-file", path, "--admins", "root"}
	case byOIDC:
		own = []string{"--auth", "oidc", "--oidc-issuer", w.issuer.URL, "--oidc-client-id", audience, "--admins", "root,group:ops"}
	case byEmail:
		own = []string{"--auth", "oidc", "--oidc-issuer", w.issuer.URL, "--oidc-client-id", audience, "--oidc-user-claim", "email", "--admins", "root@example.com"}
	case farProxy:
		own = []string{"--trusted-proxies", "10.0.0.0/8"}
	case nearProxy:
		own = []string{"--trusted-proxies", "127.0.0.0/8", "--admins", "root,group:ops"}
	}
	s.nats = "off"
	if m == byHeader || m == byToken {
		address, err := testkit.FreeAddress()
		if err != nil {
			return nil, err
		}
		s.nats = address
	}
	return append([]string{
		"--listen", "127.0.0.1:0", "--namespace", s.namespace, "--kubeconfig", w.options.kubeconfig, "--data-dir", filepath.Join(w.dir, string(m)),
		"--durability", "os", "--nats-listen", s.nats, "--advertise-url", "http://127.0.0.1:1",
	}, own...), nil
}

// tokenOf returns the token of a user in the mode byToken.
func tokenOf(user string) string {
	return fmt.Sprintf("%x", sha256.Sum256([]byte("the token of "+user)))
}

// tokensFile writes the tokens file of the mode byToken. The token of eve has expired.
func (w *environment) tokensFile() (string, error) {
	var text strings.Builder
	for _, user := range []string{"ann", "bob", "root", "*", ">", "ann.>", "eve until=2020-01-01T00:00:00Z"} {
		name, _, _ := strings.Cut(user, " ")
		fmt.Fprintf(&text, "%x %s\n", sha256.Sum256([]byte(tokenOf(name))), user)
	}
	path := filepath.Join(w.dir, "tokens")
	return path, os.WriteFile(path, []byte(text.String()), 0o600)
}

// home returns a new directory.
func (w *environment) home() (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.homes++
	dir := filepath.Join(w.dir, fmt.Sprintf("home-%d", w.homes))
	return dir, os.Mkdir(dir, 0o700)
}
