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
	ClientName     = "k8s-cli-server" // of each connection, shown by the monitoring of NATS
	MaxPayload     = 1 << 20          // bytes of a message that every NATS server must accept; the default of NATS
	RequestTimeout = 2 * time.Second  // for one request to NATS
)

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

// Dial connects to an external NATS server and reconnects without a limit. creds is the path
// of a credentials file, or empty.
func Dial(url, creds string) (*Conn, error) {
	options := append(Options(), nats.PingInterval(5*time.Second), nats.MaxPingsOutstanding(2))
	if creds != "" {
		options = append(options, nats.UserCredentials(creds))
	}
	nc, err := nats.Connect(url, options...)
	if err != nil {
		return nil, fmt.Errorf("connect to NATS at %s: %w", WithoutPasswords(url), err)
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
