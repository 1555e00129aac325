// Package cluster starts a cluster, keeps it running, and stops it.
package cluster

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"k8s-cli/deploy/local/layout"
	"k8s-cli/deploy/local/pki"
)

// A client sends requests to the servers of the cluster. All servers trust the same
// certificate authority.
type client struct {
	http   *http.Client
	server string // the API server's address
}

func newClient(l layout.Layout) (*client, error) {
	pair, err := tls.LoadX509KeyPair(l.PKI(pki.Launcher+".crt"), l.PKI(pki.Launcher+".key"))
	if err != nil {
		return nil, fmt.Errorf("read the launcher's certificate: %w", err)
	}
	ca, err := os.ReadFile(l.PKI("ca.crt"))
	if err != nil {
		return nil, fmt.Errorf("read the cluster's authority: %w", err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	return &client{
		http: &http.Client{
			Timeout:   5 * time.Second,
			Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{pair}}},
		},
		server: l.URL(layout.APIServer),
	}, nil
}

// healthy returns nil if the health endpoint of a server reports success.
func (c *client) healthy(ctx context.Context, url string) error {
	_, err := c.do(ctx, http.MethodGet, url, nil)
	return err
}

// read decodes an object of the API server into v.
func (c *client) read(ctx context.Context, path string, v any) error {
	body, err := c.do(ctx, http.MethodGet, c.server+path, nil)
	if err != nil {
		return err
	}
	return json.Unmarshal(body, v)
}

// create creates an object, unless an object of this name exists.
func (c *client) create(ctx context.Context, path string, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = c.do(ctx, http.MethodPost, c.server+path, body)
	if s, ok := errors.AsType[statusError](err); ok && s.code == http.StatusConflict {
		return nil
	}
	return err
}

// remove deletes the object at path.
func (c *client) remove(ctx context.Context, path string) error {
	_, err := c.do(ctx, http.MethodDelete, c.server+path, nil)
	return err
}

func (c *client) do(ctx context.Context, method, url string, body []byte) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode >= 300 {
		return nil, statusError{resp.StatusCode, fmt.Sprintf("%s %s: %s: %s", method, req.URL.Path, resp.Status, answer)}
	}
	return answer, nil
}

type statusError struct {
	code int
	text string
}

func (e statusError) Error() string { return e.text }
