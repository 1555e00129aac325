// Package account reads the server and the stored login of the CLI. The server and the user
// come from the environment, and the login from the files that `k8s-cli auth login` writes.
// The CLI and client.FromEnvironment use the package.
package account

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
)

// DefaultURL is the URL of the server without K8S_CLI_API_URL.
const DefaultURL = "http://localhost:8000"

// The environment variables of the CLI and of the clients.
const (
	URLEnv          = "K8S_CLI_API_URL"       // URL of the server
	UserEnv         = "K8S_CLI_USER"          // name of the user, for servers with --auth header
	InsecureHTTPEnv = "K8S_CLI_INSECURE_HTTP" // a boolean: send tokens over plain HTTP to other machines
)

// An Environment looks up an environment variable, as os.LookupEnv does.
type Environment func(name string) (string, bool)

// Get returns the value of an environment variable, or "" if the variable is not set.
func (e Environment) Get(name string) string {
	value, _ := e(name)
	return value
}

// URL returns the URL of the server.
func (e Environment) URL() string { return cmp.Or(e.Get(URLEnv), DefaultURL) }

// AllowsPlainHTTP reports whether the user accepts that tokens are sent unencrypted. A value that
// is not a boolean counts as false.
func (e Environment) AllowsPlainHTTP() bool {
	yes, _ := strconv.ParseBool(e.Get(InsecureHTTPEnv))
	return yes
}

// Settings returns the directory with the user's settings, which is empty without a home
// directory.
func (e Environment) Settings() Settings {
	base := e.Get("XDG_CONFIG_HOME")
	if home, err := os.UserHomeDir(); err == nil && !filepath.IsAbs(base) {
		base = filepath.Join(home, ".config")
	}
	if !filepath.IsAbs(base) {
		return ""
	}
	return Settings(filepath.Join(base, "k8s-cli"))
}

// A Login is what a client sends to prove or to name its user.
type Login struct {
	User  string                                // name of the user
	Token func(context.Context) (string, error) // proves the user; nil if the client sends only the name
}

// Login returns the login at the server at url: the stored credential for this server, the user in
// K8S_CLI_USER, or the stored name of the user. A credential plugin of a kubeconfig writes its
// messages to w. The error is ErrNotLoggedIn if there is no login.
func (s Settings) Login(url string, e Environment, w io.Writer) (Login, error) {
	c, err := s.Credential(url)
	if err != nil {
		return Login{}, err
	}
	if c != nil {
		return Login{c.User, s.Tokens(url, *c, w)}, nil
	}
	if name := e.Get(UserEnv); name != "" {
		if err := CheckUser(name); err != nil {
			return Login{}, fmt.Errorf("%s: %w", UserEnv, err)
		}
		return Login{User: name}, nil
	}
	name, err := s.user()
	return Login{User: name}, err
}

// Tokens returns a function that returns the token of a credential for the server at url. The
// function stores a renewed session.
func (s Settings) Tokens(url string, c Credential, w io.Writer) func(context.Context) (string, error) {
	switch {
	case c.Kubeconfig != nil:
		return once(func(ctx context.Context) (string, error) { return c.Kubeconfig.token(ctx, w) })
	case c.Session != nil:
		return sessionTokens(*c.Session, func(renewed Session) error {
			c.Session = &renewed
			return s.SaveCredential(url, &c)
		})
	}
	return func(context.Context) (string, error) { return c.Token, nil }
}
