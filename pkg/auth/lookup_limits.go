package auth

import (
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
)

const (
	knownAtOnce   = 64 // concurrent lookups of tokens that were accepted before
	unknownAtOnce = 16 // concurrent lookups of all other tokens

	checkedAtOnce = 256 // concurrent checks of ID tokens; most checks need no request to the issuer

	peerRate, peerBurst   = 10, 30  // unknown tokens from one address, per second and at once
	totalRate, totalBurst = 50, 100 // unknown tokens from all addresses, per second and at once
	maxPeers              = 10_000  // addresses with a limiter of their own
)

var errBusy = problem.New(problem.Unavailable, "too many tokens are being checked; try again")

// lookups bounds the requests about tokens to the API server or to an issuer. Tokens that
// were accepted before do not wait behind unknown tokens.
type lookups struct {
	known, unknown chan struct{} // semaphores with one element for each lookup in flight
	total          *rate.Limiter // nil means that the lookups per second are not limited

	mu    sync.Mutex
	peers map[netip.Prefix]*rate.Limiter
}

// newChecks returns the bound for ID tokens. A bound on requests per second is not
// necessary, because cachingTransport requests the keys of the issuer at most once a
// second.
func newChecks() *lookups {
	return &lookups{known: make(chan struct{}, checkedAtOnce), unknown: make(chan struct{}, checkedAtOnce)}
}

func newLookups() *lookups {
	return &lookups{
		known: make(chan struct{}, knownAtOnce), unknown: make(chan struct{}, unknownAtOnce),
		total: rate.NewLimiter(totalRate, totalBurst), peers: map[netip.Prefix]*rate.Limiter{},
	}
}

// acquire takes a slot for one lookup, and end returns the slot. The error is of kind
// problem.LimitReached or problem.Unavailable and says nothing about the token.
func (l *lookups) acquire(peer netip.Addr, known bool) (end func(), err error) {
	places := l.known
	if !known {
		places = l.unknown
		if err := l.allow(peer, time.Now()); err != nil {
			return nil, err
		}
	}
	select {
	case places <- struct{}{}:
		return func() { <-places }, nil
	default:
		return nil, errBusy
	}
}

func (l *lookups) allow(peer netip.Addr, now time.Time) error {
	if l.total == nil {
		return nil
	}
	if after := delay(l.ofPeer(peer), now); after > 0 {
		return task.ErrLimit(after, "this address sent %d unknown tokens at once, and the server checks %d per second; try again", peerBurst, peerRate)
	}
	if delay(l.total, now) > 0 {
		return errBusy
	}
	return nil
}

// delay takes one token from a rate limiter, or returns the time until the limiter has one.
func delay(l *rate.Limiter, now time.Time) time.Duration {
	r := l.ReserveN(now, 1)
	after := r.DelayFrom(now)
	if after > 0 {
		r.CancelAt(now)
	}
	return after
}

// ofPeer returns the limiter of an address. The addresses of one IPv6 /64 network share a
// limiter, because one machine may own the whole network.
func (l *lookups) ofPeer(peer netip.Addr) *rate.Limiter {
	peer = peer.Unmap()
	network, _ := peer.Prefix(min(peer.BitLen(), 64)) // without an address, the zero Prefix
	l.mu.Lock()
	defer l.mu.Unlock()
	limiter, ok := l.peers[network]
	if !ok {
		if len(l.peers) >= maxPeers {
			clear(l.peers) // the total limiter still applies
		}
		limiter = rate.NewLimiter(peerRate, peerBurst)
		l.peers[network] = limiter
	}
	return limiter
}
