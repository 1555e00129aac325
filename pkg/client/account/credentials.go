package account

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

const credentialsFile = "credentials.json"

// credentials are the stored credentials of the user. A credential is sent only to its
// own server.
type credentials struct {
	Servers map[string]Credential `json:"servers"` // by URL
}

// A Credential is a token, a kubeconfig context or a session.
type Credential struct {
	User       string       `json:"user"` // the user that the server reported
	Token      string       `json:"token,omitempty"`
	Kubeconfig *KubeContext `json:"kubeconfig,omitempty"`
	Session    *Session     `json:"session,omitempty"`
}

// Credential returns the credential for a server, or nil if the user logs in by name.
func (s Settings) Credential(url string) (*Credential, error) {
	all, err := s.credentials()
	if err != nil {
		return nil, err
	}
	if c, ok := all.Servers[serverKey(url)]; ok {
		return &c, nil
	}
	return nil, nil
}

// serverKey returns the key of a server in credentials. Different spellings of the same
// URL have one key.
func serverKey(url string) string {
	if !strings.Contains(url, "://") {
		url = "http://" + url
	}
	return strings.TrimRight(url, "/")
}

// SaveCredential stores the credential for a server. If c is nil, it deletes the
// credential.
func (s Settings) SaveCredential(url string, c *Credential) error {
	all, err := s.credentials()
	if err != nil {
		return err
	}
	key := serverKey(url)
	if _, ok := all.Servers[key]; c == nil && !ok {
		return nil
	}
	if all.Servers == nil {
		all.Servers = map[string]Credential{}
	}
	if delete(all.Servers, key); c != nil {
		all.Servers[key] = *c
	}
	return s.save(credentialsFile, all)
}

func (s Settings) credentials() (all credentials, err error) {
	path := s.path(credentialsFile)
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || s == "" {
		return all, nil
	}
	if err != nil {
		return all, err
	}
	if info.Mode().Perm()&0o077 != 0 {
		return all, fmt.Errorf("%s is readable by other users, who could log in as you; run chmod 600 on it, and log in again if others may have read it", path)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return all, err
	}
	if err := json.Unmarshal(data, &all); err != nil {
		return all, fmt.Errorf("cannot read %s: %w; remove it and log in again", path, err)
	}
	return all, nil
}
