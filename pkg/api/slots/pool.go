// Package slots shares among users what one pod of a server does at once.
package slots

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s-cli/pkg/task"
)

// A Limit bounds how many slots of a pool are in use at once.
type Limit struct {
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

// A Kind says what the slots of a pool are.
type Kind struct {
	Name  string // as metrics show it
	Units string // as sentences call them, in the plural
	Flag  string // that sets the share of a user; empty if none does
	Waits bool   // whether a request waits for a slot; otherwise it is refused at once
}

// A Pool has slots that users share. One user holds at most a share of them, and the
// last quarter goes to users who hold few: however much somebody holds, others get
// theirs. Requests that wait get slots in turn, first those of the user who holds
// least. Slots may also be units of something, such as bytes.
type Pool struct {
	kind  Kind
	limit Limit

	mu      sync.Mutex
	inUse   int
	held    map[string]int     // by user
	moving  map[*Slot]struct{} // transfers
	waiting []*waiter
}

// A waiter is a request that waits for more slots.
type waiter struct {
	slot    *Slot
	n       int
	granted chan struct{} // closed once it has them
}

// A Slot is what one request holds of a pool.
type Slot struct {
	of         *Pool
	user       string
	n          int
	deadline   func(time.Time) error // of the connection of a transfer; nil for anything else
	progressed time.Time             // when the transfer last made progress
}

// NewPool returns a pool with all of its slots free.
func NewPool(kind Kind, limit Limit) *Pool {
	return &Pool{kind: kind, limit: limit, held: map[string]int{}, moving: map[*Slot]struct{}{}}
}

// Take returns one slot for a user, who has to release it. The error is of kind
// task.ErrTooMany if the user's share is used up, else of kind task.ErrUnavailable.
func (p *Pool) Take(ctx context.Context, user string) (*Slot, error) {
	k := p.Empty(user)
	if err := k.Add(ctx, 1); err != nil {
		return nil, err
	}
	return k, nil
}

// Empty returns a slot of no units, for more to be added.
func (p *Pool) Empty(user string) *Slot { return &Slot{of: p, user: user} }

// Add adds n units to a slot, or waits until there are so many, within bounds. The
// error is of the kinds that Take has.
func (k *Slot) Add(ctx context.Context, n int) error {
	s := k.of
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fits(k.user, n) {
		s.grant(k, n)
		return nil
	}
	if !s.kind.Waits || !s.mayWait(k.user) {
		return s.refusal(k.user, n)
	}
	w := &waiter{k, n, make(chan struct{})}
	s.waiting = append(s.waiting, w)
	s.markContended()
	s.mu.Unlock()
	late := time.NewTimer(slotWait)
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
func (p *Pool) fits(user string, n int) bool {
	has, left := p.held[user]+n, p.limit.Total
	if has > max(1, p.limit.PerUser/contended) {
		left -= p.limit.Total / reservedShare
	}
	return has <= p.limit.PerUser && p.inUse+n <= left
}

func (p *Pool) mayWait(user string) bool {
	own := 0
	for _, w := range p.waiting {
		if w.slot.user == user {
			own++
		}
	}
	return own < maxWaitingPerUser && len(p.waiting) < maxWaiting
}

func (p *Pool) grant(k *Slot, n int) {
	k.n += n
	p.inUse += n
	p.held[k.user] += n
}

func (p *Pool) refusal(user string, n int) error {
	if p.held[user]+n > p.limit.PerUser {
		flag := ""
		if p.kind.Flag != "" {
			flag = " (" + p.kind.Flag + ")"
		}
		return task.ErrLimit(slotWait, "you have %d %s, and the limit per user on one pod of this server is %d%s; end some, or try again later", p.held[user], p.kind.Units, p.limit.PerUser, flag)
	}
	return task.Error(task.ErrUnavailable, fmt.Sprintf("this pod of the server has %d %s, which is its limit; try again later", p.inUse, p.kind.Units))
}

// Release gives a slot back, and to those that wait. A second call does nothing.
func (k *Slot) Release() {
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
func (p *Pool) next() int {
	best := -1
	for i, w := range p.waiting {
		if p.fits(w.slot.user, w.n) && (best < 0 || p.held[w.slot.user] < p.held[p.waiting[best].slot.user]) {
			best = i
		}
	}
	return best
}

// Track makes a slot that of a transfer over a connection, of which deadline is set
// whenever the transfer makes progress.
func (k *Slot) Track(deadline func(time.Time) error) {
	k.of.mu.Lock()
	defer k.of.mu.Unlock()
	k.deadline, k.progressed = deadline, time.Now()
	k.of.moving[k] = struct{}{}
}

// Progress notes that a transfer goes on. It may stall for some time from now on, and
// for less while others wait for its slot.
func (k *Slot) Progress() {
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
func (p *Pool) markContended() {
	for k := range p.moving {
		if p.isAwaited(k) {
			_ = k.deadline(k.progressed.Add(contendedStallLimit))
		}
	}
}

// isAwaited reports whether a request waits that could have the slot: one of the same
// user, or one of a user with less than a share.
func (p *Pool) isAwaited(k *Slot) bool {
	return slices.ContainsFunc(p.waiting, func(w *waiter) bool {
		return w.slot.user == k.user || p.held[w.slot.user]+w.n <= p.limit.PerUser
	})
}

// Limit returns the limit of the pool.
func (p *Pool) Limit() Limit { return p.limit }

// Held returns how many slots a user holds.
func (p *Pool) Held(user string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.held[user]
}

// Count returns how many slots are in use, and how many requests wait.
func (p *Pool) Count() (inUse, waiting int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.inUse, len(p.waiting)
}
