package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"k8s-cli/cmd/k8s-cli/internal/show"
	"k8s-cli/pkg/task"
)

var errNotLoggedIn = errors.New("Not logged in. Run 'k8s-cli auth login <username>' first") //nolint:staticcheck // the original's words

func newLoginCommand(e *env) *cobra.Command {
	var how loginOptions
	cmd := &cobra.Command{
		Use:   "login USERNAME",
		Short: "Log in to the server",
		Long: `Log in to the server. The following commands act as the user that you log in as.

Without arguments, the command asks the server for its login method. USERNAME
logs in by name, if the server accepts names. With an OpenID Connect issuer, the
command opens a browser. The command sends the token of your kubeconfig only
with --from-kubeconfig, or after you confirm it at a prompt.

The command stores the credentials for this server only, in a file that only you
can read.`,
		Example: `  # Log in by the method that the server uses
  k8s-cli auth login

  # Log in by name, to a server that trusts names
  k8s-cli auth login ann@example.com

  # Log in with a Kubernetes token
  kubectl create token ann | k8s-cli auth login --token-stdin

  # Log in from a machine without a browser
  k8s-cli auth login --device`,
		Args:              takes(0, 1),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				how.name = args[0]
			}
			how.named = len(args) == 1
			return e.login(cmd.Context(), how)
		},
	}
	f := cmd.Flags()
	f.StringVar(&how.token, "token", "", "token to log in with; prefer --token-stdin, which keeps the token out of the process list")
	f.BoolVar(&how.tokenStdin, "token-stdin", false, "read the token from standard input")
	f.BoolVar(&how.kubeconfig, "from-kubeconfig", false, "log in with the token of the current kubeconfig context, or of its credential plugin")
	f.BoolVar(&how.device, "device", false, "log in at the OpenID Connect issuer of the server with a code that you enter in any browser")
	f.BoolVar(&how.noBrowser, "no-browser", false, "do not open a browser on this machine; use --device if the server has an issuer")
	return cmd
}

func newLogoutCommand(e *env) *cobra.Command {
	return &cobra.Command{
		Use:               "logout",
		Short:             "Log out of the server: delete the stored credentials",
		Example:           "  k8s-cli auth logout",
		Args:              takes(0, 0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(*cobra.Command, []string) error {
			if err := e.saveCredential(nil); err != nil {
				return err
			}
			show.Done(e.out, e.style, "Logged out of "+e.url())
			return nil
		},
	}
}

// loginName sets the user by name alone.
func (e *env) loginName(name string) error {
	name = strings.TrimSpace(name)
	if err := checkUser(name); err != nil {
		return err
	}
	err := e.saveUser(name)
	if err == nil {
		err = e.saveCredential(nil)
	}
	if err != nil {
		return fmt.Errorf("Failed to save user: %w", err) //nolint:staticcheck // the original's words
	}
	show.Done(e.out, e.style, "Logged in as: "+name)
	return nil
}

// A login is the file that remembers who is logged in.
type login struct {
	Username string `json:"username"`
}

func (e *env) loginFile() string { return filepath.Join(e.config, "user.json") }

// user returns who is logged in.
func (e *env) user() (string, error) {
	data, err := os.ReadFile(e.loginFile())
	if errors.Is(err, fs.ErrNotExist) || e.config == "" {
		return "", errNotLoggedIn
	}
	if err != nil {
		return "", err
	}
	var l login
	if err := json.Unmarshal(data, &l); err != nil {
		return "", fmt.Errorf("cannot read %s: %w; run 'k8s-cli auth login <username>' to write it again", e.loginFile(), err)
	}
	if l.Username == "" {
		return "", errNotLoggedIn
	}
	return l.Username, checkUser(l.Username)
}

func (e *env) saveUser(name string) error { return e.save("user.json", login{name}) }

// save replaces a file of the user's settings as a whole, so that nobody reads
// half of it, and nobody else any of it.
func (e *env) save(name string, content any) error {
	if e.config == "" {
		return errors.New("no home directory; set HOME or XDG_CONFIG_HOME")
	}
	data, err := json.Marshal(content)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(e.config, 0o700); err != nil {
		return err
	}
	file, err := os.CreateTemp(e.config, name+"-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(file.Name()) // is gone after the rename
	_, err = file.Write(append(data, '\n'))
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), filepath.Join(e.config, name))
}

// checkUser reports whether the server could take name in a header.
func checkUser(name string) error {
	if err := task.CheckUser(name); err != nil {
		return fmt.Errorf("the username %w", err)
	}
	return nil
}
