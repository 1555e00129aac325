package cache

import (
	"fmt"
	"io"

	"k8s-cli/pkg/cache/state"
	"k8s-cli/pkg/task"
)

// takeSnapshot records the snapshot of a marker and starts to hash it in the background.
func (m *model) takeSnapshot(s *state.Snapshot) {
	if s != nil {
		m.taken = s
		go s.Hash()
	}
}

// Snapshot returns the snapshot that this pod took at the last marker; ok is false if there
// was no marker since the start or since the last stored snapshot.
func (s *Store) Snapshot() (taken task.Snapshot, ok bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.taken, s.taken != nil
}

// verifySnapshot compares this pod's snapshot with the snapshot that the leader stored for the
// same entry. verifySnapshot waits for the hash, whose computation began at the marker.
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

// Written returns the number of the last folded entry of a writer or 0, and the results of its
// commands.
func (s *Store) Written(writer string) (number uint64, results []task.Result) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.state.Written(writer)
}

// Restore replaces the state of the log with a snapshot and retains the objects of the
// cluster. If Restore fails, nothing has changed.
func (s *Store) Restore(snapshot io.Reader) error {
	next, err := state.Decode(snapshot)
	if err != nil {
		return err
	}
	s.rebuild(next)
	return nil
}

// Reset discards the state of the log and retains the objects of the cluster. Listeners are
// notified of every object, because the log contains none of them until it is read again.
func (s *Store) Reset() { s.rebuild(state.New()) }

// Submissions returns those entries from first to last in which a task that has a record was
// submitted.
func (s *Store) Submissions(first, last uint64) map[uint64]bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.index.submissions(first, last)
}
