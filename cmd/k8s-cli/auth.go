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
		Short: "Set the user that the next commands act for",
		Long: `Set the user that the next commands act for: by a name, where the server believes
names, or by something that proves who you are. Without any argument the server
is asked which of them it wants. A token of your kubeconfig is sent only if you
say so, by --from-kubeconfig or to a question on the terminal.

What proves who you are is kept for this server alone, in a file that only you
can read.`,
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
	f.StringVar(&how.token, "token", "", "a token that the server knows; --token-stdin keeps it out of the list of processes")
	f.BoolVar(&how.tokenStdin, "token-stdin", false, "read the token from standard input")
	f.BoolVar(&how.kubeconfig, "from-kubeconfig", false, "show what the current context of your kubeconfig shows to Kubernetes: a token, or what its command gives")
	f.BoolVar(&how.device, "device", false, "log in at the server's OpenID Connect issuer with a code, which any browser takes")
	f.BoolVar(&how.noBrowser, "no-browser", false, "open no browser on this machine: log in with a code, as with --device, if the server has an issuer")
	return cmd
}

func newLogoutCommand(e *env) *cobra.Command {
	return &cobra.Command{
		Use:               "logout",
		Short:             "Forget what proves to this server who you are",
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
		return "", fmt.Errorf("%s is not readable, 'k8s-cli auth login <username>' writes it anew: %w", e.loginFile(), err)
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
		return errors.New("there is no home directory, set HOME or XDG_CONFIG_HOME")
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
