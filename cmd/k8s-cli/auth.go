package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"k8s-cli/cmd/k8s-cli/internal/show"
)

var errNotLoggedIn = errors.New("Not logged in. Run 'k8s-cli auth login <username>' first") //nolint:staticcheck // the original's words

func newLoginCommand(e *env) *cobra.Command {
	return &cobra.Command{
		Use:               "login USERNAME",
		Short:             "Set the user that the next commands act for",
		Args:              takes(1, 1),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(_ *cobra.Command, args []string) error { return e.login(args[0]) },
	}
}

func newWhoamiCommand(e *env) *cobra.Command {
	cmd := &cobra.Command{
		Use:               "whoami",
		Short:             "Show which user the commands act for",
		Args:              takes(0, 0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(*cobra.Command, []string) error { return e.whoami() },
	}
	outputFlag(cmd, e)
	return cmd
}

func (e *env) login(name string) error {
	name = strings.TrimSpace(name)
	if err := checkUser(name); err != nil {
		return err
	}
	if err := e.saveUser(name); err != nil {
		return fmt.Errorf("Failed to save user: %w", err) //nolint:staticcheck // the original's words
	}
	show.Done(e.out, e.style, "Logged in as: "+name)
	return nil
}

func (e *env) whoami() error {
	name, err := e.user()
	if err != nil && !errors.Is(err, errNotLoggedIn) {
		return err
	}
	return e.present(login{name}, func() {
		if name == "" {
			fmt.Fprintln(e.out, "Not logged in")
			return
		}
		fmt.Fprintln(e.out, "Logged in as: "+name)
	})
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

// saveUser replaces the file as a whole, so that nobody reads half of it.
func (e *env) saveUser(name string) error {
	if e.config == "" {
		return errors.New("there is no home directory, set HOME or XDG_CONFIG_HOME")
	}
	data, err := json.Marshal(login{name})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(e.config, 0o700); err != nil {
		return err
	}
	file, err := os.CreateTemp(e.config, "user-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(file.Name()) // is gone after the rename
	_, err = file.Write(append(data, '\n'))
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), e.loginFile())
}

const maxUser = 253 // bytes, as the server takes them

// checkUser reports whether the server could take name in a header.
func checkUser(name string) error {
	switch {
	case name == "":
		return errors.New("the username is empty")
	case len(name) > maxUser:
		return fmt.Errorf("the username has %d bytes, at most %d are possible", len(name), maxUser)
	case !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl):
		return fmt.Errorf("the username %q holds characters that no name has", name)
	}
	return nil
}
