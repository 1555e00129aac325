package logs

import (
	"bytes"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// A kubelet serves the log of one pod like the real kubelet (k8s.io/cri-client, pkg/logs).
// The container runtime writes a file in pieces of at most 16 KiB, each with its time, and
// sometimes rotates the file. Only readers that already read a rotated file can still read
// it.
type kubelet struct {
	mu      sync.Mutex
	file    *logFile
	ended   bool // the container has ended
	changed chan struct{}
	cuts    int // number of connections to break after some bytes
	most    int // largest number of concurrent connections
	now     int
	total   int

	written []byte // all lines that were written
	at      time.Time
}

type logFile struct {
	pieces []piece
	next   *logFile // file that replaced this file
}

type piece struct {
	at   time.Time
	text []byte // without a newline if the line continues
}

const pieceSize = 16 << 10

func newKubelet() *kubelet {
	return &kubelet{file: &logFile{}, changed: make(chan struct{}), at: time.Date(2025, 10, 5, 12, 0, 0, 0, time.UTC)}
}

// change wakes all readers. The caller holds the lock.
func (k *kubelet) change() {
	close(k.changed)
	k.changed = make(chan struct{})
}

// write writes a line, later than the previous line by the given duration. A negative
// duration stands for a delayed line of the other stream.
func (k *kubelet) write(line []byte, later time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	at := k.at.Add(later)
	if later > 0 {
		k.at = at
	}
	k.written = append(append(k.written, line...), '\n')
	for ; len(line) > pieceSize; line = line[pieceSize:] {
		k.file.pieces = append(k.file.pieces, piece{at, line[:pieceSize]})
		at = at.Add(time.Microsecond)
	}
	k.file.pieces = append(k.file.pieces, piece{at, append(bytes.Clone(line), '\n')})
	k.change()
}

func (k *kubelet) rotate() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.file.next = &logFile{}
	k.file = k.file.next
	k.change()
}

func (k *kubelet) end() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.ended = true
	k.change()
}

// breaks makes the next n connections, present connections included, break.
func (k *kubelet) breaks(n int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.cuts = n
	k.change()
}

func (k *kubelet) streams() (now, most, total int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.now, k.most, k.total
}

// A reading is one connection.
type reading struct {
	k      *kubelet
	file   *logFile
	next   int // index of the next piece
	follow bool
	since  time.Time
	begins bool // the next piece begins a line
}

func (k *kubelet) open(r *http.Request) *reading {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.total++
	k.now++
	k.most = max(k.most, k.now)
	q := r.URL.Query()
	g := &reading{k: k, file: k.file, follow: q.Get("follow") == "true", begins: true}
	if s := q.Get("sinceTime"); s != "" {
		g.since, _ = time.Parse(time.RFC3339, s)
	}
	if n, err := strconv.Atoi(q.Get("tailLines")); err == nil {
		g.next = max(len(g.file.pieces)-n, 0)
	}
	return g
}

// more returns the next bytes to send.
func (r *reading) more(gone <-chan struct{}) (text []byte, cut bool) {
	for {
		r.k.mu.Lock()
		if r.k.cuts > 0 && r.follow {
			r.k.cuts--
			cut = true
		}
		for ; r.next < len(r.file.pieces) && len(text) < 100_000; r.next++ {
			text = r.send(text, r.file.pieces[r.next])
		}
		turned := r.next == len(r.file.pieces) && r.file.next != nil && r.follow
		if turned {
			r.file, r.next = r.file.next, 0
		}
		over := r.next == len(r.file.pieces) && (!r.follow || r.k.ended)
		changed := r.k.changed
		r.k.mu.Unlock()
		if len(text) > 0 || cut || over {
			return text, cut
		}
		if turned {
			continue
		}
		select {
		case <-changed:
		case <-gone:
			return nil, false
		}
	}
}

func (r *reading) send(text []byte, p piece) []byte {
	if !p.at.Before(r.since) {
		if r.begins {
			text = append(p.at.AppendFormat(text, "2006-01-02T15:04:05.000000000Z07:00"), ' ')
		}
		text = append(text, p.text...)
	}
	r.begins = bytes.HasSuffix(p.text, []byte("\n"))
	return text
}

func (k *kubelet) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g := k.open(r)
	defer func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.now--
	}()
	w.WriteHeader(http.StatusOK)
	_ = http.NewResponseController(w).Flush()
	for {
		text, cut := g.more(r.Context().Done())
		if cut {
			_, _ = w.Write(text[:rand.IntN(len(text)+1)])
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
		if len(text) == 0 {
			return
		}
		if _, err := w.Write(text); err != nil {
			return
		}
		_ = http.NewResponseController(w).Flush()
	}
}
