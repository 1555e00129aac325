package client

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s-cli/pkg/client/account"
	"k8s-cli/test/testkit/must"
)

func TestFromEnvironment(t *testing.T) {
	var user, proof string
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		user, proof = r.Header.Get("X-User"), r.Header.Get("Authorization")
		answering(http.StatusOK, `{}`)(w, r)
	})
	files := map[string]string{
		"name":    `{"username": "ann@example.com"}`,
		"token":   fmt.Sprintf(`{"servers": {%q: {"user": "ann", "token": "secret"}}}`, server.url),
		"another": `{"servers": {"https://elsewhere": {"user": "ann", "token": "secret"}}}`,
	}
	for _, tt := range []struct {
		name, user, credentials, variable string
		wantUser, wantProof               string
	}{
		{"the stored name", "name", "another", "", "ann@example.com", ""},
		{"K8S_CLI_USER before the stored name", "name", "another", "bob@example.com", "bob@example.com", ""},
		{"K8S_CLI_USER alone", "", "", "bob@example.com", "bob@example.com", ""},
		{"the stored token before all names", "name", "token", "bob@example.com", "", "Bearer secret"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			useSettings(t, map[string]string{"user.json": files[tt.user], "credentials.json": files[tt.credentials]})
			t.Setenv("K8S_CLI_API_URL", server.url+"/")
			t.Setenv("K8S_CLI_USER", tt.variable)
			c, err := FromEnvironment()
			must.Succeed(t, err)
			defer c.Close()
			if _, err := c.Whoami(t.Context()); err != nil || user != tt.wantUser || proof != tt.wantProof {
				t.Errorf("user %q, proof %q, %v", user, proof, err)
			}
		})
	}
}

// useSettings makes a directory with settings the directory of the environment.
func useSettings(t *testing.T, files map[string]string) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", dir)
	must.Succeed(t, os.Mkdir(filepath.Join(dir, "k8s-cli"), 0o700))
	for name, content := range files {
		if content == "" {
			continue
		}
		must.Write(t, filepath.Join(dir, "k8s-cli", name), content)
	}
}

func TestFromEnvironmentWithoutServerOrUser(t *testing.T) {
	useSettings(t, nil)
	t.Setenv("K8S_CLI_API_URL", "")
	t.Setenv("K8S_CLI_USER", "")
	if _, err := FromEnvironment(); !errors.Is(err, account.ErrNotLoggedIn) || !strings.Contains(err.Error(), "K8S_CLI_USER") {
		t.Errorf("no user: %v", err)
	}
	t.Setenv("K8S_CLI_USER", "a\nb")
	if _, err := FromEnvironment(); err == nil || !strings.HasPrefix(err.Error(), "K8S_CLI_USER: ") {
		t.Errorf("a name that no header can carry: %v", err)
	}
	t.Setenv("K8S_CLI_USER", "ann")
	if c, err := FromEnvironment(); err != nil || c.url != "http://localhost:8000" || c.plain {
		t.Errorf("no URL: %+v, %v", c, err)
	}
	t.Setenv("K8S_CLI_INSECURE_HTTP", "true")
	if c, err := FromEnvironment(); err != nil || !c.plain {
		t.Errorf("plain HTTP: %+v, %v", c, err)
	}
}
