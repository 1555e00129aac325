package notify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"syscall"
	"time"

	"k8s-cli/pkg/release"
	"k8s-cli/pkg/task"
)

const (
	requestTimeout = 10 * time.Second // for one attempt, with the whole response
	firstPause     = time.Second      // after the first failed attempt; doubles with each attempt
	longestPause   = time.Minute
	idleTimeout    = 90 * time.Second
	maxIdle        = 256      // idle connections to all hosts: one user may name any number of hosts
	maxResponse    = 64 << 10 // bytes of a response that are read so that the connection can be used again
	maxHeader      = 64 << 10 // bytes of the header of a response
)

// An addressCheck returns an error if the server may not connect to an address of a host.
type addressCheck func(host, port string, to netip.Addr) error

// newClient returns a client that connects only to the addresses that check allows. It uses no
// proxy and follows no redirect.
func newClient(check addressCheck) *http.Client {
	return &http.Client{
		Timeout:       requestTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DialContext:            func(ctx context.Context, network, to string) (net.Conn, error) { return dial(ctx, check, network, to) },
			ForceAttemptHTTP2:      true,
			DisableCompression:     true,
			MaxIdleConns:           maxIdle,
			MaxIdleConnsPerHost:    1,
			IdleConnTimeout:        idleTimeout,
			MaxResponseHeaderBytes: maxHeader,
		},
	}
}

// dial connects to a host. It checks the address after the name was resolved, so that no name
// leads to an address that check does not allow.
func dial(ctx context.Context, check addressCheck, network, to string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(to)
	if err != nil {
		return nil, err
	}
	dialer := net.Dialer{Control: func(_, address string, _ syscall.RawConn) error {
		resolved, err := netip.ParseAddrPort(address)
		if err != nil {
			return err
		}
		return check(host, port, resolved.Addr())
	}}
	return dialer.DialContext(ctx, network, to)
}

// deliver sends an event until the receiver accepts it, or until the event expires. It returns
// the number of attempts; done is false if the run ends before.
func (r *run) deliver(to *receiver, target string, stored task.StoredEvent) (attempts int, done bool) {
	if r.gone.has(to.key, stored.Event.TaskID) {
		return 0, true
	}
	m, err := newMessage(stored)
	if err != nil {
		r.config.Logger.Error("encoding a notification failed", "event", stored.Event.ID.String(), "err", err)
		return 0, true
	}
	log := r.config.Logger.With("task", stored.Event.TaskID, "event", stored.Event.ID.String(), "host", hostOf(target))
	for wait := firstPause; ; wait = min(2*wait, longestPause) {
		attempts++
		status, err := r.send(target, m, r.config.Secret(to.User))
		switch {
		case r.ctx.Err() != nil:
			return attempts, err == nil && isSuccess(status)
		case err == nil && isSuccess(status):
			r.counters.delivered.Add(1)
			if attempts > 1 {
				log.Info("notification delivered after failures", "attempts", attempts)
			}
			return attempts, true
		case err == nil && status == http.StatusGone:
			r.counters.gone.Add(1)
			r.gone.add(to.key, stored.Event.TaskID)
			log.Info("a receiver wants no more notifications of the task")
			return attempts, true
		case time.Since(stored.Event.Time) > r.config.Retention:
			r.counters.expired.Add(1)
			log.Warn("a notification expired before the receiver accepted it", "attempts", attempts)
			return attempts, true
		}
		r.counters.failed.Add(1)
		r.setWaiting(to, stored.Event.Time)
		if attempts == 1 {
			log.Warn("sending a notification failed; retrying", "status", status, "err", err)
		}
		if !pause(r.ctx, wait/2+rand.N(wait/2)) { //nolint:gosec // spreads retries
			return attempts, false
		}
	}
}

func isSuccess(status int) bool { return status/100 == http.StatusOK/100 }

// hostOf returns the host of a URL for log messages. The path may be a secret.
func hostOf(target string) string {
	u, err := url.Parse(target)
	if err != nil {
		return ""
	}
	return u.Host
}

// send sends a message once, and returns the status of the response. The error does not contain
// the URL.
func (r *run) send(target string, m message, secret []byte) (status int, err error) {
	request, err := http.NewRequestWithContext(r.ctx, http.MethodPost, target, bytes.NewReader(m.body))
	if err != nil {
		return 0, errors.New("the URL cannot be used")
	}
	now := time.Now()
	request.Header = http.Header{
		"Content-Type":      {contentType},
		"User-Agent":        {"k8s-cli-server/" + release.Read().Version},
		"Webhook-Id":        {m.id},
		"Webhook-Timestamp": {strconv.FormatInt(now.Unix(), 10)},
		"Webhook-Signature": {Sign(secret, m.id, now, m.body)},
	}
	response, err := r.client.Do(request)
	if failed, ok := errors.AsType[*url.Error](err); ok {
		err = failed.Err
	}
	if err != nil {
		return 0, fmt.Errorf("no response: %w", err)
	}
	defer response.Body.Close()
	_, _ = io.CopyN(io.Discard, response.Body, maxResponse)
	return response.StatusCode, nil
}
