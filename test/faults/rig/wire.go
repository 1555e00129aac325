package rig

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A Wire is a TCP proxy between one server and NATS that parses the NATS protocol. A Wire
// can lose one acknowledgement and deliver other messages late, as a network can.
type Wire struct {
	URL string

	listener net.Listener
	target   string

	mu       sync.Mutex
	armed    bool
	repeated chan struct{} // closed at the next repeated entry
}

func newWire(target string) (*Wire, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("a wire to NATS: %w", err)
	}
	w := &Wire{
		URL: "nats://" + listener.Addr().String(), listener: listener, target: strings.TrimPrefix(target, "nats://"), repeated: make(chan struct{}),
	}
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			go w.carry(c)
		}
	}()
	return w, nil
}

// Close stops the wire.
func (w *Wire) Close() { _ = w.listener.Close() }

// LoseAck loses the acknowledgement of the next entry, and delivers the entry only after the
// server has sent it again. LoseAck returns when that has happened.
func (w *Wire) LoseAck(ctx context.Context) error {
	w.mu.Lock()
	w.armed = true
	repeated := w.repeated
	w.mu.Unlock()
	select {
	case <-repeated:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting for an entry to be sent twice: %w", context.Cause(ctx))
	}
}

// A connection is a connection of the server to NATS.
type connection struct {
	wire  *Wire
	mu    sync.Mutex // guards the fields below and writes to the server
	out   net.Conn   // to the server
	sent  int        // entries sent since the wire manipulates this connection
	hand  bool
	acked bool     // the acknowledgement was lost
	late  [][]byte // delayed messages
}

func (w *Wire) carry(c net.Conn) {
	defer c.Close()
	n, err := net.Dial("tcp", w.target)
	if err != nil {
		return
	}
	defer n.Close()
	k := &connection{wire: w, out: c}
	go func() {
		defer c.Close()
		defer n.Close()
		each(n, k.fromNATS)
	}()
	each(c, func(f frame) error {
		if err := k.fromServer(f); err != nil {
			return err
		}
		_, err := n.Write(f.raw)
		return err
	})
}

func (k *connection) fromServer(f frame) error {
	if f.subject != "log" || f.verb != "PUB" && f.verb != "HPUB" {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.hand && k.wire.take() {
		k.hand, k.sent, k.acked = true, 0, false
	}
	if k.hand {
		k.sent++
	}
	return nil
}

// take reports whether LoseAck is waiting, and lets only one connection serve it.
func (w *Wire) take() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	was := w.armed
	w.armed = false
	return was
}

func (w *Wire) note() {
	w.mu.Lock()
	defer w.mu.Unlock()
	close(w.repeated)
	w.repeated = make(chan struct{})
}

// fromNATS forwards a frame to the server. On a manipulated connection, fromNATS drops the
// first acknowledgement and holds entries back until the second entry is to be delivered.
// Then both entries arrive before the second acknowledgement.
func (k *connection) fromNATS(f frame) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case !k.hand:
	case bytes.Contains(f.payload, []byte(`"stream":"LOG"`)) && bytes.Contains(f.payload, []byte(`"seq":`)) && len(f.payload) < 200:
		if !k.acked {
			k.acked = true
			return nil
		}
		k.late = append(k.late, f.raw) // the second acknowledgement
		return k.release()
	case f.subject == "log":
		k.late = append(k.late, f.raw)
		return k.release()
	}
	_, err := k.out.Write(f.raw)
	return err
}

// ackDelay is the delay of the second acknowledgement after both entries. In this time the
// server folds both entries, which is the case under test.
const ackDelay = 300 * time.Millisecond

// release forwards the delayed messages once both entries and the second acknowledgement are
// there. The entries go first.
func (k *connection) release() error {
	const all = 3
	if k.sent < 2 || len(k.late) < all {
		return nil
	}
	var acks [][]byte
	for _, raw := range k.late {
		if bytes.HasPrefix(raw, []byte("MSG log ")) || bytes.HasPrefix(raw, []byte("HMSG log ")) {
			if _, err := k.out.Write(raw); err != nil {
				return err
			}
			continue
		}
		acks = append(acks, raw)
	}
	k.late, k.hand = nil, false
	time.AfterFunc(ackDelay, func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		_, _ = k.out.Write(bytes.Join(acks, nil)) // a closed connection needs no acknowledgement
		k.wire.note()
	})
	return nil
}

// A frame is a message of the NATS protocol.
type frame struct {
	verb, subject string
	payload       []byte
	raw           []byte
}

// each reads frames until the connection ends or take fails.
func each(c io.Reader, take func(frame) error) {
	in := bufio.NewReaderSize(c, 64<<10)
	for {
		f, err := readFrame(in)
		if err != nil || take(f) != nil {
			return
		}
	}
}

func readFrame(in *bufio.Reader) (frame, error) {
	line, err := in.ReadBytes('\n')
	if err != nil {
		return frame{}, err
	}
	words := strings.Fields(string(line))
	f := frame{raw: line}
	if len(words) == 0 {
		return f, nil
	}
	f.verb = strings.ToUpper(words[0])
	if f.verb != "PUB" && f.verb != "HPUB" && f.verb != "MSG" && f.verb != "HMSG" || len(words) < 3 {
		return f, nil
	}
	f.subject = words[1]
	size, err := strconv.Atoi(words[len(words)-1])
	if err != nil {
		return f, fmt.Errorf("a frame without a size: %w", err)
	}
	body := make([]byte, size+2)
	if _, err := io.ReadFull(in, body); err != nil {
		return f, err
	}
	f.payload = body
	f.raw = append(line, body...)
	return f, nil
}
