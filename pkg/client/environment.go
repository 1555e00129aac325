package client

import (
	"errors"
	"fmt"
	"os"

	"k8s-cli/pkg/client/account"
)

// FromEnvironment returns a client of the server and the user of the CLI. The server is
// K8S_CLI_API_URL, or http://localhost:8000. The user is the stored login of `k8s-cli auth login`
// at this server, the name in K8S_CLI_USER, or the stored name of `k8s-cli auth login NAME`. With
// K8S_CLI_INSECURE_HTTP=true, the client may send a token over plain HTTP to another machine. The
// error is of kind account.ErrNotLoggedIn if there is no user.
func FromEnvironment() (*Client, error) {
	e := account.Environment(os.LookupEnv)
	login, err := e.Settings().Login(e.URL(), e, os.Stderr)
	if errors.Is(err, account.ErrNotLoggedIn) {
		err = fmt.Errorf("%w, or set %s", err, account.UserEnv)
	}
	if err != nil {
		return nil, err
	}
	c := New(e.URL(), login.User).WithToken(login.Token)
	if e.AllowsPlainHTTP() {
		c.AllowPlainHTTP()
	}
	return c, nil
}
