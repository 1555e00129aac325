package testkit

import (
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// A Condition is what a link does to the bytes that it carries. The zero
// Condition is a healthy link.
type Condition struct {
	Cut     bool          // connections are reset, new ones are refused
	Forth   bool          // bytes towards the target vanish; connections stay open
	Back    bool          // bytes from the target vanish; connections stay open
	Rate    int           // bytes per second of each direction; 0 means no limit
	Latency time.Duration // of each direction
}

// BlackHole is the condition in which all bytes vanish and new connections hang.
var BlackHole = Condition{Forth: true, Back: true}

// A Link is a TCP proxy that carries the connections of one party to another
// one, and fails as a network does.
type Link struct {
	From, To string // names of the party that dials and of the other one, if they matter

	address string

	mu        sync.Mutex
	target    string
	listener  net.Listener // nil while the link is cut
	condition Condition
	changed   chan struct{} // closed when the condition changes
	sent      [2]time.Time  // when the last byte of each direction has left a slow link
	carried   map[*carriage]struct{}
}

// NewLink returns a link that listens at address, at any port if that is 0, and
// carries to target.
func NewLink(address, target string) (*Link, error) {
	l := &Link{address: address, target: target, changed: make(chan struct{}), carried: map[*carriage]struct{}{}}
	return l, l.listen()
}

// Address is where the link listens.
func (l *Link) Address() string { return l.address }

// listen is called with the lock held, or before anybody else knows the link.
func (l *Link) listen() error {
	listener, err := net.Listen("tcp", l.address)
	if err != nil {
		return fmt.Errorf("link to %s: %w", l.target, err)
	}
	l.listener, l.address = listener, listener.Addr().String()
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			go l.carry(c)
		}
	}()
	return nil
}

// Set puts the link into a condition. A connection that lost bytes is reset once
// bytes pass again: a byte stream cannot go on with a hole in it.
func (l *Link) Set(c Condition) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.condition = c
	close(l.changed)
	l.changed = make(chan struct{})
	for k := range l.carried {
		if c.Cut || k.lost[forth] && !c.Forth || k.lost[back] && !c.Back || !k.dialed && c != BlackHole {
			k.reset()
		}
	}
	switch {
	case c.Cut && l.listener != nil:
		_ = l.listener.Close()
		l.listener = nil
	case !c.Cut && l.listener == nil:
		return l.listen()
	}
	return nil
}

// Heal makes the link healthy.
func (l *Link) Heal() error { return l.Set(Condition{}) }

// LeadTo resets all connections; new ones lead to target.
func (l *Link) LeadTo(target string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.target = target
	for k := range l.carried {
		k.reset()
	}
}

// Break resets all connections.
func (l *Link) Break() { l.LeadTo(l.target) }

// Connections returns how many connections reach the target.
func (l *Link) Connections() (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for k := range l.carried {
		if k.dialed {
			n++
		}
	}
	return n
}

// Close ends the link.
func (l *Link) Close() { _ = l.Set(Condition{Cut: true}) }

// The directions of a link.
const (
	forth = 0 // towards the target
	back  = 1
)

// A carriage is one connection on a link.
type carriage struct {
	link *Link
	near net.Conn
	over chan struct{} // closed once it has ended
	once sync.Once

	// What follows is guarded by the link's lock.
	far    net.Conn
	dialed bool
	lost   [2]bool // bytes, by direction
}

// carry serves one connection until either side ends it.
func (l *Link) carry(near net.Conn) {
	k := &carriage{link: l, near: near, over: make(chan struct{})}
	l.mu.Lock()
	l.carried[k] = struct{}{}
	cut, hole, target := l.condition.Cut, l.condition == BlackHole, l.target
	l.mu.Unlock()
	defer k.end()
	switch {
	case cut: // it was accepted just before
		k.reset()
		return
	case hole: // nobody hears of it
		_, _ = io.Copy(io.Discard, near)
		<-k.over
		return
	}
	far, err := net.Dial("tcp", target)
	if err != nil {
		k.reset()
		return
	}
	l.mu.Lock()
	k.far, k.dialed = far, true
	late := k.ended() || l.condition.Cut
	l.mu.Unlock()
	if late {
		k.reset()
	}
	var both sync.WaitGroup
	both.Go(func() { k.pump(far, near, forth) })
	both.Go(func() { k.pump(near, far, back) })
	both.Wait()
}

func (k *carriage) ended() bool {
	select {
	case <-k.over:
		return true
	default:
		return false
	}
}

// reset ends the connection as a firewall does.
func (k *carriage) reset() {
	k.once.Do(func() { close(k.over) })
	for _, c := range []net.Conn{k.near, k.far} {
		if tcp, ok := c.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
			_ = tcp.Close()
		}
	}
}

func (k *carriage) end() {
	k.once.Do(func() { close(k.over) })
	k.link.mu.Lock()
	defer k.link.mu.Unlock()
	_ = k.near.Close()
	if k.far != nil {
		_ = k.far.Close()
	}
	delete(k.link.carried, k)
}

// A parcel is bytes that arrive at a time.
type parcel struct {
	bytes []byte
	due   time.Time
}

const (
	parcelSize = 32 << 10
	parcels    = 16 // of one direction on their way; the sender's own buffers hold the rest
)

// pump carries one direction, and ends both when it ends.
func (k *carriage) pump(to, from net.Conn, direction int) {
	queue := make(chan parcel, parcels)
	var writer sync.WaitGroup
	writer.Go(func() {
		for p := range queue {
			if err := k.deliver(to, p, direction); err != nil {
				k.once.Do(func() { close(k.over) })
				_ = from.Close()
				for range queue { // so that the reader ends
				}
				return
			}
		}
	})
	for {
		buffer := make([]byte, parcelSize)
		n, err := from.Read(buffer)
		if n > 0 {
			queue <- parcel{buffer[:n], k.link.due(n, direction)}
		}
		if err != nil {
			break
		}
	}
	close(queue)
	writer.Wait()
	_ = to.Close()
}

// due returns when so many bytes that are sent now arrive.
func (l *Link) due(n, direction int) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if l.condition.Rate == 0 {
		return now.Add(l.condition.Latency)
	}
	if l.sent[direction].Before(now) {
		l.sent[direction] = now
	}
	l.sent[direction] = l.sent[direction].Add(time.Duration(n) * time.Second / time.Duration(l.condition.Rate))
	return l.sent[direction].Add(l.condition.Latency)
}

var errOver = errors.New("the connection has ended")

// deliver writes a parcel when it is due, or at once when the link is not slow any
// more, unless bytes vanish by then.
func (k *carriage) deliver(to net.Conn, p parcel, direction int) error {
	for {
		k.link.mu.Lock()
		c, changed := k.link.condition, k.link.changed
		if direction == forth && c.Forth || direction == back && c.Back {
			k.lost[direction] = true
			k.link.mu.Unlock()
			return nil
		}
		k.link.mu.Unlock()
		left := time.Until(p.due)
		if left <= 0 || c.Rate == 0 && c.Latency == 0 {
			_, err := to.Write(p.bytes)
			return err
		}
		timer := time.NewTimer(left)
		select {
		case <-timer.C:
		case <-changed:
		case <-k.over:
			timer.Stop()
			return errOver
		}
		timer.Stop()
	}
}
