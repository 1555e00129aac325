package cache

import "time"

// LongestHold returns the longest time for which a writer has held the lock of the store since the
// last call.
func (s *Store) LongestHold() (longest time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	longest, s.longestHold = s.longestHold, 0
	return longest
}
