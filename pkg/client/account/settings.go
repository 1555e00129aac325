package account

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"k8s-cli/pkg/task"
)

// ErrNotLoggedIn is returned to a user without a stored name or credential.
var ErrNotLoggedIn = errors.New("Not logged in. Run 'k8s-cli auth login <username>' first") //nolint:staticcheck // the original's words

const userFile = "user.json"

// Settings is the directory with the user's settings and credentials. It is empty without
// a home directory.
type Settings string

func (s Settings) path(name string) string { return filepath.Join(string(s), name) }

// A userName is the content of the file with the name of the logged-in user.
type userName struct {
	Username string `json:"username"`
}

// user returns the stored name of the user.
func (s Settings) user() (string, error) {
	data, err := os.ReadFile(s.path(userFile))
	if errors.Is(err, fs.ErrNotExist) || s == "" {
		return "", ErrNotLoggedIn
	}
	if err != nil {
		return "", err
	}
	var l userName
	if err := json.Unmarshal(data, &l); err != nil {
		return "", fmt.Errorf("cannot read %s: %w; run 'k8s-cli auth login <username>' to write it again", s.path(userFile), err)
	}
	if l.Username == "" {
		return "", ErrNotLoggedIn
	}
	return l.Username, CheckUser(l.Username)
}

// SaveUser stores the name of the user.
func (s Settings) SaveUser(name string) error { return s.save(userFile, userName{name}) }

// DeleteUser deletes the stored name of the user.
func (s Settings) DeleteUser() error {
	if s == "" {
		return nil
	}
	if err := os.Remove(s.path(userFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// save replaces a file of the settings atomically, so that a reader never sees a partial
// file. Only the user can read the file.
func (s Settings) save(name string, content any) error {
	if s == "" {
		return errors.New("no home directory; set HOME or XDG_CONFIG_HOME")
	}
	data, err := json.Marshal(content)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(string(s), 0o700); err != nil {
		return err
	}
	file, err := os.CreateTemp(string(s), name+"-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(file.Name()) // the file no longer has this name after the rename
	_, err = file.Write(append(data, '\n'))
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), s.path(name))
}

// CheckUser returns an error if name is not a valid user name in a header.
func CheckUser(name string) error {
	if err := task.CheckUser(name); err != nil {
		return fmt.Errorf("the username %w", err)
	}
	return nil
}
