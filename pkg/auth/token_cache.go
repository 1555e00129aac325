package auth

import (
	"crypto/sha256"
	"sync"
	"time"
)

const (
	maxCached   = 10_000           // tokens that were taken, and as many that were not
	positiveTTL = 30 * time.Second // a token that was taken is not looked at again for so long, or until it expires
	negativeTTL = 5 * time.Second  // nor one that was not taken
)

type tokenSum = [sha256.Size]byte

// A tokenCache keeps what was found out about tokens for a short time. Tokens that
// were taken have a place of their own, from which made-up ones cannot drive them.
type tokenCache struct {
	mu                 sync.Mutex
	accepted, rejected map[tokenSum]cacheEntry
}

type cacheEntry struct {
	principal Principal
	err       error // of kind task.ErrUnauthorized, or nil
	until     time.Time
}

func newTokenCache() *tokenCache {
	return &tokenCache{accepted: map[tokenSum]cacheEntry{}, rejected: map[tokenSum]cacheEntry{}}
}

// find returns what was found out about a token, if that still holds. known means
// that the token was taken the last time, even if that is too long ago.
func (m *tokenCache) find(sum tokenSum, now time.Time) (f cacheEntry, holds, known bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f, known = m.accepted[sum]
	if !known {
		f = m.rejected[sum]
	}
	return f, now.Before(f.until), known
}

// put stores an entry.
func (m *tokenCache) put(sum tokenSum, f cacheEntry, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	into, from := m.accepted, m.rejected
	if f.err != nil {
		into, from = from, into
	}
	delete(from, sum)
	evict(into, now)
	into[sum] = f
}

// evict drops findings that are out of date if there are too many, or else any
// tenth of them.
func evict(findings map[tokenSum]cacheEntry, now time.Time) {
	if len(findings) < maxCached {
		return
	}
	for sum, f := range findings {
		if !now.Before(f.until) {
			delete(findings, sum)
		}
	}
	for sum := range findings {
		if len(findings) <= maxCached-maxCached/10 {
			return
		}
		delete(findings, sum)
	}
}
