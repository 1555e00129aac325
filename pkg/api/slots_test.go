package api

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"k8s-cli/pkg/task"
)

func testSlots(total, perUser int) *slots {
	return newSlots("tests", "tests under way", "--max-tests", SlotLimit{total, perUser}, slotWait)
}

// hold takes slots for a user until one is refused.
func (s *slots) hold(t *testing.T, user string) (all []*slot, refused error) {
	t.Helper()
	for {
		k, err := s.take(t.Context(), user)
		if err != nil {
			return all, err
		}
		all = append(all, k)
	}
}

// Whatever some users hold, there is a slot for others.
func TestSlotsAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := testSlots(16, 8)
		ann, err := s.hold(t, "ann")
		if len(ann) != 8 || !errors.Is(err, task.ErrTooMany) || err.Error() != "you have 8 tests under way, and the limit per user on one pod of this server is 8 (--max-tests); end some, or try again later" {
			t.Errorf("ann holds %d: %v", len(ann), err)
		}
		bob, err := s.hold(t, "bob")
		if len(bob) != 4 || !errors.Is(err, task.ErrUnavailable) || err.Error() != "this pod of the server has 12 tests under way, which is its limit; try again later" {
			t.Errorf("bob holds %d: %v", len(bob), err)
		}
		for _, user := range []string{"cat", "dan", "eve", "fay"} {
			if _, err := s.take(t.Context(), user); err != nil {
				t.Errorf("%s holds nothing: %v", user, err)
			}
		}
		if _, err := s.take(t.Context(), "gus"); !errors.Is(err, task.ErrUnavailable) {
			t.Errorf("with all slots in use: %v", err)
		}
		for _, k := range slices.Concat(ann, bob) {
			k.release()
			k.release()
		}
		if s.inUse != 4 || len(s.held) != 4 {
			t.Errorf("after release: %d in use, %v", s.inUse, s.held)
		}
	})
}

// Of those that wait, the user who holds least is next.
func TestSlotsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := testSlots(3, 3)
		var first []*slot
		for range 3 {
			first = append(first, s.none("ann"))
			s.grant(first[len(first)-1], 1)
		}
		var order []string
		for _, user := range []string{"ann", "ann", "bob", "cat", "bob"} {
			go func() {
				if _, err := s.take(t.Context(), user); err == nil {
					order = append(order, user)
				}
			}()
			synctest.Wait()
		}
		for _, k := range first {
			k.release()
			synctest.Wait()
		}
		if want := []string{"bob", "cat", "ann"}; !slices.Equal(order, want) {
			t.Errorf("got slots: %v, want %v", order, want)
		}
	})
}

// Nobody waits for ever, and no number of requests.
func TestWaitingForSlotsIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := testSlots(2, 1)
		if _, err := s.take(t.Context(), "ann"); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if _, err := s.take(t.Context(), "ann"); !errors.Is(err, task.ErrTooMany) || time.Since(began) != slotWait {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		refused := make(chan error, maxWaitingPerUser)
		for range maxWaitingPerUser {
			go func() {
				_, err := s.take(ctx, "ann")
				refused <- err
			}()
		}
		synctest.Wait()
		began = time.Now()
		if _, err := s.take(t.Context(), "ann"); err == nil || time.Since(began) != 0 {
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

// A transfer that stalls has less time while somebody waits for its slot, and as much
// as ever while nobody does.
func TestStalledTransfersMakeWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := testSlots(2, 1)
		began, ends := time.Now(), map[string]time.Duration{}
		for _, user := range []string{"ann", "bob"} {
			k, err := s.take(t.Context(), user)
			if err != nil {
				t.Fatal(err)
			}
			k.track(func(at time.Time) error { ends[user] = at.Sub(began); return nil })
			k.progress()
		}
		if ends["ann"] != stallLimit || ends["bob"] != stallLimit {
			t.Errorf("while nobody waits: %v", ends)
		}
		time.Sleep(time.Second)
		_, _ = s.take(t.Context(), "bob")
		if ends["ann"] != stallLimit || ends["bob"] != contendedStallLimit {
			t.Errorf("after the same user waited: %v", ends)
		}
		_, _ = s.take(t.Context(), "cat")
		if ends["ann"] != contendedStallLimit || ends["bob"] != contendedStallLimit {
			t.Errorf("after another user waited: %v", ends)
		}
	})
}
