package auth

import (
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"k8s-cli/pkg/task"
)

const (
	knownAtOnce   = 64 // questions under way about tokens that were taken before
	unknownAtOnce = 16 // and about others

	checkedAtOnce = 256 // ID tokens, which mostly need no question

	peerRate, peerBurst   = 10, 30  // tokens of one address that nobody has seen, per second and at once
	totalRate, totalBurst = 50, 100 // and of all addresses
	maxPeers              = 10_000  // addresses that are told apart
)

var errBusy = task.Error(task.ErrUnavailable, "too many tokens are being checked; try again")

// lookups bounds the questions about tokens that go to the API server or an issuer.
// Tokens that were taken before do not wait for those that nobody has seen.
type lookups struct {
	known, unknown chan struct{} // hold one for each question under way
	total          *rate.Limiter // nil for no limit of questions a second

	mu    sync.Mutex
	peers map[netip.Prefix]*rate.Limiter
}

// newChecks returns the bound of ID tokens: the issuer is asked at most once a second
// for its keys, whatever tokens are shown.
func newChecks() *lookups {
	return &lookups{known: make(chan struct{}, checkedAtOnce), unknown: make(chan struct{}, checkedAtOnce)}
}

func newLookups() *lookups {
	return &lookups{
		known: make(chan struct{}, knownAtOnce), unknown: make(chan struct{}, unknownAtOnce),
		total: rate.NewLimiter(totalRate, totalBurst), peers: map[netip.Prefix]*rate.Limiter{},
	}
}

// acquire takes a place for one question, which end gives back. The error is of kind
// task.ErrTooMany or task.ErrUnavailable and says nothing about the token.
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

// delay takes one token of a limiter, or returns how long it takes to get one.
func delay(l *rate.Limiter, now time.Time) time.Duration {
	r := l.ReserveN(now, 1)
	after := r.DelayFrom(now)
	if after > 0 {
		r.CancelAt(now)
	}
	return after
}

// ofPeer returns the limiter of an address; those of one IPv6 network of 64 bits,
// which one machine may have for itself, share theirs.
func (l *lookups) ofPeer(peer netip.Addr) *rate.Limiter {
	peer = peer.Unmap()
	network, _ := peer.Prefix(min(peer.BitLen(), 64)) // the zero Prefix for no address
	l.mu.Lock()
	defer l.mu.Unlock()
	limiter, ok := l.peers[network]
	if !ok {
		if len(l.peers) >= maxPeers {
			clear(l.peers) // the limiter of all still holds
		}
		limiter = rate.NewLimiter(peerRate, peerBurst)
		l.peers[network] = limiter
	}
	return limiter
}
