package auth

import (
	"crypto/sha256"
	"sync"
	"time"
)

const (
	remembered = 10_000           // tokens
	yesFor     = 30 * time.Second // a token that was taken is not looked at again for so long, or until it expires
	noFor      = 5 * time.Second  // nor one that was not taken
)

// A memory keeps what was found out about tokens for a short time.
type memory struct {
	mu    sync.Mutex
	known map[[sha256.Size]byte]finding
}

type finding struct {
	person Person
	err    error // of kind task.ErrUnauthorized, or nil
	until  time.Time
}

func newMemory() *memory { return &memory{known: map[[sha256.Size]byte]finding{}} }

func (m *memory) find(sum [sha256.Size]byte, now time.Time) (finding, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f, ok := m.known[sum]
	return f, ok && now.Before(f.until)
}

// keep remembers a finding; if there are too many, those that are out of date go,
// or else all.
func (m *memory) keep(sum [sha256.Size]byte, f finding, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.known) >= remembered {
		for old, known := range m.known {
			if !now.Before(known.until) {
				delete(m.known, old)
			}
		}
		if len(m.known) >= remembered {
			clear(m.known)
		}
	}
	m.known[sum] = f
}
