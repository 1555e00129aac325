// Package slots shares the concurrent operations of one pod among users.
package slots

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
)

// A Limit bounds how many slots of a pool are in use at once.
type Limit struct {
	Total   int // for all users
	PerUser int
}

const (
	slotWait            = 5 * time.Second  // longest wait for a slot before a request is rejected
	stallLimit          = 30 * time.Second // time without a byte after which a transfer is aborted
	contendedStallLimit = 3 * time.Second  // stallLimit while a request waits for the slot

	reservedShare = 4 // one of this number of slots is reserved for users who hold few
	contended     = 8 // a user who holds up to 1/contended of PerUser holds few

	maxWaiting        = 256 // requests that wait for slots of one pool
	maxWaitingPerUser = 64
)

// A Kind describes the slots of a pool.
type Kind struct {
	Name  string // label in the metrics
	Units string // noun in error messages, in the plural
	Flag  string // flag that sets the share of a user; may be empty
	Waits bool   // whether a request waits for a slot; otherwise the request is rejected at once
}

// A Pool contains slots that users share. One user holds at most PerUser slots, and the
// last quarter of all slots is reserved for users who hold few slots, so that no user can
// lock out the others. A free slot goes to the waiting user who holds the fewest slots. A
// slot can also stand for a unit, such as a byte.
type Pool struct {
	kind  Kind
	limit Limit

	mu      sync.Mutex
	inUse   int
	held    map[string]int     // by user
	moving  map[*Slot]struct{} // slots of transfers
	waiting []*waiter
}

// A waiter is a request that waits for more slots.
type waiter struct {
	slot    *Slot
	n       int
	granted chan struct{} // closed when the waiter gets the slots
}

// A Slot is the part of a pool that one request holds.
type Slot struct {
	of         *Pool
	user       string
	n          int
	deadline   func(time.Time) error // sets the deadline of a transfer's connection; nil if the slot is not of a transfer
	progressed time.Time             // time of the last progress of the transfer
}

// NewPool returns a pool with all slots free.
func NewPool(kind Kind, limit Limit) *Pool {
	return &Pool{kind: kind, limit: limit, held: map[string]int{}, moving: map[*Slot]struct{}{}}
}

// Take returns one slot for a user. The caller must call Release. The error is of kind
// problem.LimitReached if the user's share is used up, or else of kind problem.PodBusy.
func (p *Pool) Take(ctx context.Context, user string) (*Slot, error) {
	k := p.Empty(user)
	if err := k.Add(ctx, 1); err != nil {
		return nil, err
	}
	return k, nil
}

// Empty returns a Slot without units, to which the caller adds units.
func (p *Pool) Empty(user string) *Slot { return &Slot{of: p, user: user} }

// Add adds n units to a Slot, and waits up to slotWait if the pool does not have n units.
// The error is of the same kinds as the error of Take.
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

// fits reports whether a user may take n more units now. The caller of fits and of the
// other unexported methods holds the lock.
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
	return problem.New(problem.PodBusy, fmt.Sprintf("this pod of the server has %d %s, which is its limit; try again later", p.inUse, p.kind.Units))
}

// Release returns the units of a Slot to the pool and serves waiting requests. A second
// call does nothing.
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

// next returns the index of the waiter to serve next, or -1. Among the users whose requests
// fit, next chooses the user who holds the fewest units, and of that user the oldest
// request.
func (p *Pool) next() int {
	best := -1
	for i, w := range p.waiting {
		if p.fits(w.slot.user, w.n) && (best < 0 || p.held[w.slot.user] < p.held[p.waiting[best].slot.user]) {
			best = i
		}
	}
	return best
}

// Track marks a Slot as that of a transfer over a connection. Progress calls deadline to
// extend the deadline of the connection.
func (k *Slot) Track(deadline func(time.Time) error) {
	k.of.mu.Lock()
	defer k.of.mu.Unlock()
	k.deadline, k.progressed = deadline, time.Now()
	k.of.moving[k] = struct{}{}
}

// Progress extends the deadline of a transfer by stallLimit, or by contendedStallLimit if
// another request waits for the slot.
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

// markContended shortens the deadlines of the transfers whose slots another request waits
// for.
func (p *Pool) markContended() {
	for k := range p.moving {
		if p.isAwaited(k) {
			_ = k.deadline(k.progressed.Add(contendedStallLimit))
		}
	}
}

// isAwaited reports whether a waiting request could use the slot: a request of the same
// user, or of a user whose share is not used up.
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
