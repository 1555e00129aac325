package slots

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"k8s-cli/pkg/task/problem"
)

func testSlots(total, perUser int) *Pool {
	return NewPool(Kind{Name: "tests", Units: "tests under way", Flag: "--max-tests", Waits: true}, Limit{total, perUser})
}

// hold takes slots for a user until Take returns an error.
func (p *Pool) hold(t *testing.T, user string) (all []*Slot, refused error) {
	t.Helper()
	for {
		k, err := p.Take(t.Context(), user)
		if err != nil {
			return all, err
		}
		all = append(all, k)
	}
}

// TestSlotsAreShared checks that other users get a slot, however many slots some users
// hold.
func TestSlotsAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := testSlots(16, 8)
		ann, err := s.hold(t, "ann")
		if len(ann) != 8 || !errors.Is(err, problem.LimitReached) || err.Error() != "you have 8 tests under way, and the limit per user on one pod of this server is 8 (--max-tests); end some, or try again later" {
			t.Errorf("ann holds %d: %v", len(ann), err)
		}
		bob, err := s.hold(t, "bob")
		if len(bob) != 4 || !errors.Is(err, problem.Unavailable) || err.Error() != "this pod of the server has 12 tests under way, which is its limit; try again later" {
			t.Errorf("bob holds %d: %v", len(bob), err)
		}
		for _, user := range []string{"cat", "dan", "eve", "fay"} {
			if _, err := s.Take(t.Context(), user); err != nil {
				t.Errorf("%s holds nothing: %v", user, err)
			}
		}
		if _, err := s.Take(t.Context(), "gus"); !errors.Is(err, problem.Unavailable) {
			t.Errorf("with all slots in use: %v", err)
		}
		for _, k := range slices.Concat(ann, bob) {
			k.Release()
			k.Release()
		}
		if s.inUse != 4 || len(s.held) != 4 {
			t.Errorf("after release: %d in use, %v", s.inUse, s.held)
		}
	})
}

// TestSlotsTakeTurns checks that the next slot goes to the waiting user who holds the
// fewest.
func TestSlotsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := testSlots(3, 3)
		var first []*Slot
		for range 3 {
			first = append(first, s.Empty("ann"))
			s.grant(first[len(first)-1], 1)
		}
		var order []string
		for _, user := range []string{"ann", "ann", "bob", "cat", "bob"} {
			go func() {
				if _, err := s.Take(t.Context(), user); err == nil {
					order = append(order, user)
				}
			}()
			synctest.Wait()
		}
		for _, k := range first {
			k.Release()
			synctest.Wait()
		}
		if want := []string{"bob", "cat", "ann"}; !slices.Equal(order, want) {
			t.Errorf("got slots: %v, want %v", order, want)
		}
	})
}

// TestWaitingForSlotsIsBounded checks that the time of waiting and the number of waiting
// requests are bounded.
func TestWaitingForSlotsIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := testSlots(2, 1)
		if _, err := s.Take(t.Context(), "ann"); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if _, err := s.Take(t.Context(), "ann"); !errors.Is(err, problem.LimitReached) || time.Since(began) != slotWait {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		refused := make(chan error, maxWaitingPerUser)
		for range maxWaitingPerUser {
			go func() {
				_, err := s.Take(ctx, "ann")
				refused <- err
			}()
		}
		synctest.Wait()
		began = time.Now()
		if _, err := s.Take(t.Context(), "ann"); err == nil || time.Since(began) != 0 {
			t.Errorf("beyond those that wait: %v after %s", err, time.Since(began))
		}
		cancel()
		for range maxWaitingPerUser {
			if err := <-refused; err == nil {
				t.Error("a request that was given up got a slot")
			}
		}
		if time.Since(began) != 0 || len(s.waiting) > 0 {
			t.Errorf("%d wait after %s", len(s.waiting), time.Since(began))
		}
	})
}

// TestStalledTransfersMakeWay checks that a stalled transfer is aborted sooner while
// another request waits for its slot.
func TestStalledTransfersMakeWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := testSlots(2, 1)
		began, ends := time.Now(), map[string]time.Duration{}
		for _, user := range []string{"ann", "bob"} {
			k, err := s.Take(t.Context(), user)
			if err != nil {
				t.Fatal(err)
			}
			k.Track(func(at time.Time) error { ends[user] = at.Sub(began); return nil })
			k.Progress()
		}
		if ends["ann"] != stallLimit || ends["bob"] != stallLimit {
			t.Errorf("while nobody waits: %v", ends)
		}
		time.Sleep(time.Second)
		_, _ = s.Take(t.Context(), "bob")
		if ends["ann"] != stallLimit || ends["bob"] != contendedStallLimit {
			t.Errorf("after the same user waited: %v", ends)
		}
		_, _ = s.Take(t.Context(), "cat")
		if ends["ann"] != contendedStallLimit || ends["bob"] != contendedStallLimit {
			t.Errorf("after another user waited: %v", ends)
		}
	})
}
