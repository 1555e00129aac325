package testkit

import (
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// A Condition says what a link does to the bytes that pass through it. The zero Condition is
// a healthy link.
type Condition struct {
	Cut     bool          // connections are reset, new ones are refused
	Forth   bool          // bytes towards the target vanish; connections stay open
	Back    bool          // bytes from the target vanish; connections stay open
	Rate    int           // bytes per second of each direction; 0 means no limit
	Latency time.Duration // of each direction
}

// BlackHole is the condition in which all bytes vanish and new connections hang.
var BlackHole = Condition{Forth: true, Back: true}

// A Link is a TCP proxy between two programs that can fail in the ways of a network.
type Link struct {
	From, To string // names of the program that dials and of the other one, optional

	address string

	mu        sync.Mutex
	target    string
	listener  net.Listener // nil while the link is cut
	condition Condition
	changed   chan struct{} // closed when the condition changes
	sent      [2]time.Time  // when the last byte of each direction leaves a slow link
	carried   map[*carriage]struct{}
}

// NewLink returns a link that listens at address and connects to target. Port 0 means any
// free port.
func NewLink(address, target string) (*Link, error) {
	l := &Link{address: address, target: target, changed: make(chan struct{}), carried: map[*carriage]struct{}{}}
	return l, l.listen()
}

// Address is the address at which the link listens.
func (l *Link) Address() string { return l.address }

// listen requires the lock, or a link that no other goroutine has yet.
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

// Set changes the condition of the link. A connection that lost bytes is reset once bytes
// pass again, because a byte stream with a hole cannot continue.
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

// LeadTo resets all connections and connects new ones to target.
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

// Connections returns the number of connections that have reached the target.
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

// Close stops the link and resets its connections.
func (l *Link) Close() { _ = l.Set(Condition{Cut: true}) }

// The directions of a link.
const (
	forth = 0 // to the target
	back  = 1
)

// A carriage is one connection on a link.
type carriage struct {
	link *Link
	near net.Conn
	over chan struct{} // closed when the connection has ended
	once sync.Once

	// The lock of the link guards the fields below.
	far    net.Conn
	dialed bool
	lost   [2]bool // by direction: bytes vanished
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
	case cut: // accepted just before the link was cut
		k.reset()
		return
	case hole: // the target does not learn of the connection
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

// reset ends the connection with a TCP reset, as a firewall does.
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

// A parcel is bytes that are delivered together at one time.
type parcel struct {
	bytes []byte
	due   time.Time
}

const (
	parcelSize = 32 << 10
	parcels    = 16 // buffered in each direction; the kernel's buffers of the sender hold the rest
)

// pump copies one direction. When that direction ends, pump ends the whole connection.
func (k *carriage) pump(to, from net.Conn, direction int) {
	queue := make(chan parcel, parcels)
	var writer sync.WaitGroup
	writer.Go(func() {
		for p := range queue {
			if err := k.deliver(to, p, direction); err != nil {
				k.once.Do(func() { close(k.over) })
				_ = from.Close()
				for range queue { // drained, so that the reader does not block
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

// due returns when n bytes that are sent now arrive at the other end.
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

// deliver writes a parcel when the parcel is due, or earlier if the link becomes fast.
// deliver drops the parcel if bytes vanish by then.
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
