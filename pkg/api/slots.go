package api

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s-cli/pkg/task"
)

// A SlotLimit bounds what is under way at once on one pod of the server.
type SlotLimit struct {
	Total   int // of all users
	PerUser int
}

const (
	slotWait            = 5 * time.Second  // for a slot, before a request is refused
	stallLimit          = 30 * time.Second // without a byte, after which a transfer ends
	contendedStallLimit = 3 * time.Second  // the same while somebody waits for its slot

	reservedShare = 4 // one of so many slots is for users who hold few
	contended     = 8 // one of so many slots that a user may hold is few

	maxWaiting        = 256 // requests that wait for slots of one kind
	maxWaitingPerUser = 64
)

// slots share among users what a server does at once. One user holds at most a share
// of them, and the last quarter goes to users who hold few: however much somebody
// holds, others get theirs. Requests that wait get slots in turn, first those of
// the user who holds least. Slots may also be units of something, such as bytes.
type slots struct {
	kind  string // as metrics show it
	name  string // as sentences call it, in the plural
	flag  string // that sets the share of a user; empty if none does
	limit SlotLimit
	wait  time.Duration // 0: a request that finds no slot is refused at once

	mu      sync.Mutex
	inUse   int
	held    map[string]int     // by user
	moving  map[*slot]struct{} // transfers
	waiting []*waiter
}

// A waiter is a request that waits for more slots.
type waiter struct {
	slot    *slot
	n       int
	granted chan struct{} // closed once it has them
}

// A slot is what one request holds.
type slot struct {
	of         *slots
	user       string
	n          int
	deadline   func(time.Time) error // of the connection of a transfer; nil for anything else
	progressed time.Time             // when the transfer last made progress
}

func newSlots(kind, what, flag string, share SlotLimit, wait time.Duration) *slots {
	return &slots{kind: kind, name: what, flag: flag, limit: share, wait: wait, held: map[string]int{}, moving: map[*slot]struct{}{}}
}

// take returns one slot for a user, who has to release it. The error is of kind
// task.ErrTooMany if the user's share is used up, else of kind task.ErrUnavailable.
func (s *slots) take(ctx context.Context, user string) (*slot, error) {
	k := s.none(user)
	if err := k.more(ctx, 1); err != nil {
		return nil, err
	}
	return k, nil
}

// none returns a slot of no units, for more to be added.
func (s *slots) none(user string) *slot { return &slot{of: s, user: user} }

// more adds n units to a slot, or waits until there are so many, within bounds.
func (k *slot) more(ctx context.Context, n int) error {
	s := k.of
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fits(k.user, n) {
		s.grant(k, n)
		return nil
	}
	if s.wait == 0 || !s.mayWait(k.user) {
		return s.refusal(k.user, n)
	}
	w := &waiter{k, n, make(chan struct{})}
	s.waiting = append(s.waiting, w)
	s.markContended()
	s.mu.Unlock()
	late := time.NewTimer(s.wait)
	defer late.Stop()
	select {
	case <-w.granted:
	case <-late.C:
	case <-ctx.Done():
	}
	s.mu.Lock()
	if at := slices.Index(s.waiting, w); at >= 0 {
		s.waiting = slices.Delete(s.waiting, at, at+1)
		return s.refusal(k.user, n)
	}
	return nil
}

// fits reports whether a user may have n units more now. As below, it is called with
// the lock held.
func (s *slots) fits(user string, n int) bool {
	has, left := s.held[user]+n, s.limit.Total
	if has > max(1, s.limit.PerUser/contended) {
		left -= s.limit.Total / reservedShare
	}
	return has <= s.limit.PerUser && s.inUse+n <= left
}

func (s *slots) mayWait(user string) bool {
	own := 0
	for _, w := range s.waiting {
		if w.slot.user == user {
			own++
		}
	}
	return own < maxWaitingPerUser && len(s.waiting) < maxWaiting
}

func (s *slots) grant(k *slot, n int) {
	k.n += n
	s.inUse += n
	s.held[k.user] += n
}

func (s *slots) refusal(user string, n int) error {
	if s.held[user]+n > s.limit.PerUser {
		flag := ""
		if s.flag != "" {
			flag = " (" + s.flag + ")"
		}
		return task.ErrLimit(slotWait, "you have %d %s, and the limit per user on one pod of this server is %d%s; end some, or try again later", s.held[user], s.name, s.limit.PerUser, flag)
	}
	return task.Error(task.ErrUnavailable, fmt.Sprintf("this pod of the server has %d %s, which is its limit; try again later", s.inUse, s.name))
}

// release gives a slot back, and to those that wait. A second call does nothing.
func (k *slot) release() {
	s := k.of
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.moving, k)
	s.inUse -= k.n
	if s.held[k.user] -= k.n; s.held[k.user] == 0 {
		delete(s.held, k.user)
	}
	k.n = 0
	for next := s.next(); next >= 0; next = s.next() {
		w := s.waiting[next]
		s.waiting = slices.Delete(s.waiting, next, next+1)
		s.grant(w.slot, w.n)
		close(w.granted)
	}
}

// next returns whose turn it is of those that wait, or -1: of the users for whom
// there is room, the one who holds least; of that user's requests, the oldest.
func (s *slots) next() int {
	best := -1
	for i, w := range s.waiting {
		if s.fits(w.slot.user, w.n) && (best < 0 || s.held[w.slot.user] < s.held[s.waiting[best].slot.user]) {
			best = i
		}
	}
	return best
}

// track makes a slot that of a transfer over a connection, of which deadline is set
// whenever the transfer makes progress.
func (k *slot) track(deadline func(time.Time) error) {
	k.of.mu.Lock()
	defer k.of.mu.Unlock()
	k.deadline, k.progressed = deadline, time.Now()
	k.of.moving[k] = struct{}{}
}

// progress notes that a transfer goes on. It may stall for some time from now on, and
// for less while others wait for its slot.
func (k *slot) progress() {
	s := k.of
	s.mu.Lock()
	defer s.mu.Unlock()
	k.progressed = time.Now()
	limit := stallLimit
	if s.isAwaited(k) {
		limit = contendedStallLimit
	}
	_ = k.deadline(k.progressed.Add(limit))
}

// markContended ends the patience with transfers that stall while somebody waits.
func (s *slots) markContended() {
	for k := range s.moving {
		if s.isAwaited(k) {
			_ = k.deadline(k.progressed.Add(contendedStallLimit))
		}
	}
}

// isAwaited reports whether a request waits that could have the slot: one of the same
// user, or one of a user with less than a share.
func (s *slots) isAwaited(k *slot) bool {
	return slices.ContainsFunc(s.waiting, func(w *waiter) bool {
		return w.slot.user == k.user || s.held[w.slot.user]+w.n <= s.limit.PerUser
	})
}

// of returns how many slots a user holds.
func (s *slots) of(user string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held[user]
}

// count returns how many slots are in use, and how many requests wait.
func (s *slots) count() (inUse, waiting int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.inUse, len(s.waiting)
}
