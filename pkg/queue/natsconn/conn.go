// Package natsconn connects to NATS, and reconnects for as long as it takes.
package natsconn

import (
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// How the server uses NATS.
const (
	ClientName     = "k8s-cli-server" // of our connections, as NATS' monitoring shows them
	MaxPayload     = 1 << 20          // bytes of a message that every NATS server has to accept; NATS' default
	RequestTimeout = 2 * time.Second  // for one question to NATS
)

// A Conn is a connection to NATS.
type Conn = nats.Conn

// Options returns the options of a connection that is made again for as long as
// it takes.
func Options() []nats.Option {
	return []nats.Option{
		nats.Name(ClientName),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(250 * time.Millisecond),
		nats.ReconnectBufSize(-1), // an append fails at once and is repeated, rather than wait in a buffer
	}
}

// Dial connects to a NATS server elsewhere and keeps connecting for as long as
// it takes. creds is the path of a credentials file, or empty.
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

// WithoutPasswords returns the URLs of NATS servers, with commas between them, as
// they may be shown.
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
