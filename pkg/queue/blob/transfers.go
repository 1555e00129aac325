package blob

import "context"

// transfers holds one element for each chunk in flight. A nil transfers has no bound.
type transfers chan struct{}

// acquire waits until a chunk may be sent or requested; the caller must call done afterwards.
func (t transfers) acquire(ctx context.Context) (done func(), err error) {
	if t == nil {
		return func() {}, nil
	}
	select {
	case t <- struct{}{}:
		return func() { <-t }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
