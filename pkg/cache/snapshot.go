package cache

import (
	"fmt"
	"io"

	"k8s-cli/pkg/cache/state"
	"k8s-cli/pkg/task"
)

// takeSnapshot notes the snapshot that was taken at a mark, and hashes it meanwhile.
func (m *model) takeSnapshot(s *state.Snapshot) {
	if s != nil {
		m.taken = s
		go s.Hash()
	}
}

// Snapshot returns what this pod took at the last mark; ok is false if it has
// seen none since it began, or since one was stored.
func (s *Store) Snapshot() (taken task.Snapshot, ok bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.taken, s.taken != nil
}

// verifySnapshot holds this pod's snapshot against the one that was stored of the same
// entry. It waits for the hash, which began at the mark.
func (s *Store) verifySnapshot(kept *task.SnapshotStored) error {
	taken, ok := s.Snapshot()
	if kept == nil || !ok {
		return nil
	}
	s.mu.Lock()
	s.taken = nil
	s.mu.Unlock()
	if own := taken.Hash(); taken.Seq() == kept.Seq && own != kept.Hash {
		return fmt.Errorf("%w: after entry %d, this pod has the hash %s, the other pods have %s", task.ErrDiverged, kept.Seq, own, kept.Hash)
	}
	return nil
}

// Written returns the number of the last entry of a writer that is in the
// store, 0 if there is none, and the verdicts on it.
func (s *Store) Written(writer string) (number uint64, results []task.Result) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.state.Written(writer)
}

// Restore replaces what the log says by what a snapshot of it says, and keeps
// what the cluster shows. If it fails, nothing has changed.
func (s *Store) Restore(snapshot io.Reader) error {
	next, err := state.Decode(snapshot)
	if err != nil {
		return err
	}
	s.rebuild(next)
	return nil
}

// Reset forgets the log, and keeps what the cluster shows. Listeners are notified of
// every object, since the log has nothing of it for a while.
func (s *Store) Reset() { s.rebuild(state.New()) }

// Submissions returns which of the entries from first to last are those in which
// tasks were submitted that are still answered for.
func (s *Store) Submissions(first, last uint64) map[uint64]bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.index.submissions(first, last)
}
