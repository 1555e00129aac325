package cache

import (
	"fmt"
	"io"

	"k8s-cli/pkg/cache/state"
	"k8s-cli/pkg/task"
)

// takeSnapshot notes the snapshot that was taken at a mark, and hashes it meanwhile.
func (p *Store) takeSnapshot(s *state.Snapshot) {
	if s != nil {
		p.taken = s
		go s.Hash()
	}
}

// Snapshot returns what this pod took at the last mark; ok is false if it has
// seen none since it began, or since one was stored.
func (p *Store) Snapshot() (s task.Snapshot, ok bool) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.taken, p.taken != nil
}

// verifySnapshot holds this pod's snapshot against the one that was stored of the same
// entry. It waits for the hash, which began at the mark.
func (p *Store) verifySnapshot(kept *task.SnapshotStored) error {
	taken, ok := p.Snapshot()
	if kept == nil || !ok {
		return nil
	}
	p.mu.Lock()
	p.taken = nil
	p.mu.Unlock()
	if own := taken.Hash(); taken.Seq() == kept.Seq && own != kept.Hash {
		return fmt.Errorf("%w: after entry %d, this pod has the hash %s, the other pods have %s", task.ErrDiverged, kept.Seq, own, kept.Hash)
	}
	return nil
}

// Written returns the number of the last entry of a writer that is in the
// store, 0 if there is none, and the verdicts on it.
func (p *Store) Written(writer string) (number uint64, results []task.Result) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.state.Written(writer)
}

// Restore replaces what the log says by what a snapshot of it says, and keeps
// what the cluster shows. If it fails, nothing has changed.
func (p *Store) Restore(snapshot io.Reader) error {
	s, err := state.Decode(snapshot)
	if err != nil {
		return err
	}
	p.rebuild(s)
	return nil
}
