package auth

import (
	"crypto/sha256"
	"sync"
	"time"
)

const (
	remembered = 10_000           // tokens that were taken, and as many that were not
	yesFor     = 30 * time.Second // a token that was taken is not looked at again for so long, or until it expires
	noFor      = 5 * time.Second  // nor one that was not taken
)

type tokenSum = [sha256.Size]byte

// A memory keeps what was found out about tokens for a short time. Tokens that
// were taken have a place of their own, from which made-up ones cannot drive them.
type memory struct {
	mu        sync.Mutex
	good, bad map[tokenSum]finding
}

type finding struct {
	person Person
	err    error // of kind task.ErrUnauthorized, or nil
	until  time.Time
}

func newMemory() *memory {
	return &memory{good: map[tokenSum]finding{}, bad: map[tokenSum]finding{}}
}

// find returns what was found out about a token, if that still holds. known means
// that the token was taken the last time, even if that is too long ago.
func (m *memory) find(sum tokenSum, now time.Time) (f finding, holds, known bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f, known = m.good[sum]
	if !known {
		f = m.bad[sum]
	}
	return f, now.Before(f.until), known
}

// keep remembers a finding.
func (m *memory) keep(sum tokenSum, f finding, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	into, from := m.good, m.bad
	if f.err != nil {
		into, from = from, into
	}
	delete(from, sum)
	makeRoom(into, now)
	into[sum] = f
}

// makeRoom drops findings that are out of date if there are too many, or else any
// tenth of them.
func makeRoom(findings map[tokenSum]finding, now time.Time) {
	if len(findings) < remembered {
		return
	}
	for sum, f := range findings {
		if !now.Before(f.until) {
			delete(findings, sum)
		}
	}
	for sum := range findings {
		if len(findings) <= remembered-remembered/10 {
			return
		}
		delete(findings, sum)
	}
}
