package rig

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
	"path/filepath"
	"strconv"
)

// A store is a client of etcd's JSON gateway.
type store struct {
	url    string
	client *http.Client
}

func newStore(url, pki string) (*store, error) {
	pair, err := tls.LoadX509KeyPair(filepath.Join(pki, "apiserver.crt"), filepath.Join(pki, "apiserver.key"))
	if err != nil {
		return nil, fmt.Errorf("etcd: %w", err)
	}
	authority, err := os.ReadFile(filepath.Join(pki, "ca.crt"))
	if err != nil {
		return nil, fmt.Errorf("etcd: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(authority) {
		return nil, errors.New("etcd: the cluster's authority has no certificate")
	}
	settings := &tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: roots, MinVersion: tls.VersionTLS12}
	return &store{url: url, client: &http.Client{Transport: &http.Transport{TLSClientConfig: settings}}}, nil
}

// A put is a key and its value.
type put struct{ key, value []byte }

// putAll stores the puts in one transaction. The maximum is 128 puts.
func (s *store) putAll(ctx context.Context, puts []put) error {
	type one struct {
		Key   []byte `json:"key"`
		Value []byte `json:"value"`
	}
	type operation struct {
		Put one `json:"requestPut"`
	}
	var body struct {
		Success []operation `json:"success"`
	}
	for _, p := range puts {
		body.Success = append(body.Success, operation{one{p.key, p.value}})
	}
	return s.ask(ctx, "/v3/kv/txn", body, nil)
}

// A keyRange is the range of all keys with a prefix.
type keyRange struct {
	Key   []byte `json:"key"`
	End   []byte `json:"range_end"`
	Count bool   `json:"count_only,omitempty"`
}

func prefixed(prefix string) keyRange {
	end := []byte(prefix)
	end[len(end)-1]++
	return keyRange{Key: []byte(prefix), End: end}
}

func (s *store) count(ctx context.Context, prefix string) (int, error) {
	r := prefixed(prefix)
	r.Count = true
	var answer struct {
		Count string `json:"count"`
	}
	if err := s.ask(ctx, "/v3/kv/range", r, &answer); err != nil {
		return 0, err
	}
	if answer.Count == "" {
		return 0, nil
	}
	return strconv.Atoi(answer.Count)
}

func (s *store) remove(ctx context.Context, prefix string) error {
	return s.ask(ctx, "/v3/kv/deleterange", prefixed(prefix), nil)
}

// ask posts a JSON request and decodes the answer unless answer is nil.
func (s *store) ask(ctx context.Context, path string, question, answer any) error {
	raw, err := json.Marshal(question)
	if err != nil {
		return fmt.Errorf("etcd: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+path, bytes.NewReader(raw))
	if err != nil {
		return fmt.Errorf("etcd: %w", err)
	}
	response, err := s.client.Do(request)
	if err != nil {
		return fmt.Errorf("etcd: %w", err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return fmt.Errorf("etcd: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("etcd: %s: %s", response.Status, text)
	}
	if answer == nil {
		return nil
	}
	return json.Unmarshal(text, answer)
}
