package main

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// A fakeConfirmer reports the end of the log as confirmed or unconfirmed, as the test
// decides.
type fakeConfirmer struct{ changed chan bool }

func (c fakeConfirmer) AwaitAvailable(ctx context.Context) error { return c.await(ctx, true) }

func (c fakeConfirmer) AwaitUnavailable(ctx context.Context, long time.Duration) error {
	if err := c.await(ctx, false); err != nil {
		return err
	}
	select {
	case <-time.After(long):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c fakeConfirmer) await(ctx context.Context, want bool) error {
	for {
		select {
		case is := <-c.changed:
			if is == want {
				return nil
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func TestTheLeaseIsGivenUpWithoutALog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := fakeConfirmer{make(chan bool)}
		working := make(chan struct{})
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			whileLogAvailable(t.Context(), log, func(ctx context.Context) {
				close(working)
				<-ctx.Done()
			})
		}()
		synctest.Wait()
		select {
		case <-working:
			t.Fatal("it works before the end of the log is confirmed")
		default:
		}
		log.changed <- true
		<-working
		began := time.Now()
		log.changed <- false
		<-ended
		if took := time.Since(began); took != logUnavailable {
			t.Errorf("it gave up after %s, want %s", took, logUnavailable)
		}
	})
}
