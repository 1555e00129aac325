// Package natsconn connects to NATS and reconnects without a limit.
package natsconn

import (
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// The use of NATS by the server.
const (
	ClientName = "k8s-cli-server" // of each connection, shown by the monitoring of NATS
	MaxPayload = 1 << 20          // bytes of a message that every NATS server must accept; the default of NATS
)

// RequestTimeout is the limit of one request to NATS. Only tests change it, before they connect.
var RequestTimeout = 2 * time.Second

// A Conn is a connection to NATS.
type Conn = nats.Conn

// Options returns the options of a connection that reconnects without a limit.
func Options() []nats.Option {
	return []nats.Option{
		nats.Name(ClientName),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(250 * time.Millisecond),
		nats.ReconnectBufSize(-1), // an append fails at once and is repeated, so that no buffer delays it
	}
}

// A Remote describes an external NATS. The files are read again for each connection.
type Remote struct {
	URL   string // URLs, separated by commas
	Creds string // path of a credentials file; empty for none
	CA    string // path of a file with CA certificates in PEM; empty: the certificates of the system
	Cert  string // path of the certificate of this client in PEM; empty for none
	Key   string // path of the private key of Cert
}

// Dial connects to r and reconnects without a limit.
func (r Remote) Dial() (*Conn, error) {
	return r.dial(append(Options(), nats.PingInterval(5*time.Second), nats.MaxPingsOutstanding(2)))
}

// DialOnce connects to r and does not reconnect, so that no message is missed without an error.
func (r Remote) DialOnce() (*Conn, error) {
	return r.dial([]nats.Option{nats.Name(ClientName), nats.NoReconnect()})
}

func (r Remote) dial(options []nats.Option) (*Conn, error) {
	if r.Creds != "" {
		options = append(options, nats.UserCredentials(r.Creds))
	}
	if r.CA != "" {
		options = append(options, nats.RootCAs(r.CA))
	}
	if r.Cert != "" {
		options = append(options, nats.ClientCert(r.Cert, r.Key))
	}
	nc, err := nats.Connect(r.URL, options...)
	if err != nil {
		return nil, fmt.Errorf("connect to NATS at %s: %w", WithoutPasswords(r.URL), err)
	}
	return nc, nil
}

// WithoutPasswords returns comma-separated URLs of NATS servers without user names and
// passwords.
func WithoutPasswords(urls string) string {
	var shown []string
	for one := range strings.SplitSeq(urls, ",") {
		scheme, rest, found := strings.Cut(one, "://")
		if !found {
			scheme, rest = "nats", one
		}
		if at := strings.LastIndexByte(rest, '@'); at >= 0 {
			rest = rest[at+1:]
		}
		shown = append(shown, scheme+"://"+rest)
	}
	return strings.Join(shown, ",")
}
