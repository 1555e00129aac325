package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

const credentialsFile = "credentials.json"

// credentials are what proves to each server who the user is. None is ever sent
// to another server.
type credentials struct {
	Servers map[string]credential `json:"servers"` // by URL
}

// A credential is one of its three kinds.
type credential struct {
	User       string           `json:"user"` // who the server said it is
	Token      string           `json:"token,omitempty"`
	Kubeconfig *kubeconfigPlace `json:"kubeconfig,omitempty"`
	Session    *session         `json:"session,omitempty"`
}

// credential returns what proves to the server who the user is, nil if a name
// has to do.
func (e *env) credential() (*credential, error) {
	all, err := e.readCredentials()
	if err != nil {
		return nil, err
	}
	if c, ok := all.Servers[serverKey(e.url())]; ok {
		return &c, nil
	}
	return nil, nil
}

// serverKey names a server by its URL, however that is written.
func serverKey(url string) string {
	if !strings.Contains(url, "://") {
		url = "http://" + url
	}
	return strings.TrimRight(url, "/")
}

// saveCredential keeps what proves to the server who the user is, or forgets it.
func (e *env) saveCredential(c *credential) error {
	all, err := e.readCredentials()
	if err != nil {
		return err
	}
	key := serverKey(e.url())
	if _, ok := all.Servers[key]; c == nil && !ok {
		return nil
	}
	if all.Servers == nil {
		all.Servers = map[string]credential{}
	}
	if delete(all.Servers, key); c != nil {
		all.Servers[key] = *c
	}
	return e.save(credentialsFile, all)
}

func (e *env) readCredentials() (all credentials, err error) {
	path := filepath.Join(e.config, credentialsFile)
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || e.config == "" {
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

// tokens returns what gives the token that a credential stands for.
func (e *env) tokens(c credential) func(context.Context) (string, error) {
	switch {
	case c.Kubeconfig != nil:
		return once(func(ctx context.Context) (string, error) { return c.Kubeconfig.token(ctx, e.errOut) })
	case c.Session != nil:
		return e.sessionTokens(c)
	}
	return func(context.Context) (string, error) { return c.Token, nil }
}
