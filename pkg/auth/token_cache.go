package auth

import (
	"crypto/sha256"
	"sync"
	"time"
)

const (
	// accepted tokens in the cache; the cache holds as many rejected tokens
	maxCached = 10_000
	// how long an accepted token is not checked again, unless the token expires earlier
	positiveTTL = 30 * time.Second
	// how long a rejected token is not checked again
	negativeTTL = 5 * time.Second
)

type tokenSum = [sha256.Size]byte

// A tokenCache holds the results of token checks for a short time. Accepted and rejected
// tokens have separate maps, so that invented tokens cannot evict accepted tokens.
type tokenCache struct {
	mu                 sync.Mutex
	accepted, rejected map[tokenSum]cacheEntry
}

type cacheEntry struct {
	principal Principal
	err       error // of kind problem.Unauthorized, or nil
	until     time.Time
}

func newTokenCache() *tokenCache {
	return &tokenCache{accepted: map[tokenSum]cacheEntry{}, rejected: map[tokenSum]cacheEntry{}}
}

// find returns the cached result for a token. holds reports whether the result is still
// valid. known reports whether the last check accepted the token, even if the result has
// expired.
func (c *tokenCache) find(sum tokenSum, now time.Time) (f cacheEntry, holds, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f, known = c.accepted[sum]
	if !known {
		f = c.rejected[sum]
	}
	return f, now.Before(f.until), known
}

// put stores a result and removes an earlier result of the opposite kind.
func (c *tokenCache) put(sum tokenSum, f cacheEntry, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	into, from := c.accepted, c.rejected
	if f.err != nil {
		into, from = from, into
	}
	delete(from, sum)
	evict(into, now)
	into[sum] = f
}

// evict makes room in a full map: evict deletes the expired entries, and then arbitrary
// entries until the map is at most nine tenths full.
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
