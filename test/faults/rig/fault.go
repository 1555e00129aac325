package rig

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"
)

// A Fault is what a proxy does to the requests that it matches, for as long as
// it is in place.
type Fault struct {
	Name   string
	Match  func(*http.Request) bool // nil matches all
	Chance float64                  // 0 means always

	Cut    bool          // the connection breaks before the request arrives
	Code   int           // the answer is this, and the request does not arrive
	Delay  time.Duration // the request arrives so much later, even if its sender has left by then
	Hold   bool          // the request arrives when the fault is lifted, even if its sender has left by then
	Commit bool          // the request arrives, and the connection breaks before its answer
	Mute   bool          // the request arrives, and its answer comes when the fault is lifted
	Stall  bool          // the bytes of watches, of those under way too, come when the fault is lifted

	lifted chan struct{}
	hits   int
	chance *rand.Rand
}

// wait lets the time of a delay pass, or that until the fault is lifted.
func (f *Fault) wait() {
	if f.Delay == 0 && !f.Hold {
		return // it only counts
	}
	var enough <-chan time.Time
	if f.Delay > 0 {
		enough = time.After(f.Delay)
	}
	select {
	case <-enough:
	case <-f.lifted:
	}
}

func refuse(w http.ResponseWriter, code int) {
	w.Header().Set("Content-Type", "application/json")
	if code == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "1")
	}
	w.WriteHeader(code)
	reasons := map[int]string{429: "TooManyRequests", 500: "InternalError", 503: "ServiceUnavailable"}
	fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"a fault of the harness","reason":%q,"code":%d}`, reasons[code], code)
}

// A mute keeps an answer to itself.
type mute struct {
	http.ResponseWriter
	proxy *Proxy
	fault *Fault
	gone  <-chan struct{}
}

// WriteHeader is called once the request has had its effect.
func (m *mute) WriteHeader(code int) {
	m.withhold()
	m.ResponseWriter.WriteHeader(code)
}

// Unwrap lets the proxy flush.
func (m *mute) Unwrap() http.ResponseWriter { return m.ResponseWriter }

func (m *mute) withhold() {
	m.proxy.mu.Lock()
	m.proxy.hit(m.fault)
	m.proxy.mu.Unlock()
	if m.fault.Commit {
		panic(http.ErrAbortHandler)
	}
	select {
	case <-m.fault.lifted:
	case <-m.gone:
		panic(http.ErrAbortHandler)
	}
}

// A watched is the answer to a watch.
type watched struct {
	http.ResponseWriter
	proxy *Proxy
	gone  <-chan struct{}
}

// Unwrap lets the proxy flush.
func (w *watched) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Write passes bytes on unless watches are stalled.
func (w *watched) Write(p []byte) (int, error) {
	for {
		f := w.proxy.stalled()
		if f == nil {
			return w.ResponseWriter.Write(p)
		}
		select {
		case <-f.lifted:
		case <-w.gone:
			return 0, http.ErrAbortHandler
		}
	}
}

func (p *Proxy) stalled() *Fault {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, f := range p.faults {
		if f.Stall {
			return f
		}
	}
	return nil
}

// On matches requests of a method to a resource of a namespace; an empty method
// is any.
func On(method, resource string) func(*http.Request) bool {
	return func(r *http.Request) bool {
		if method != "" && r.Method != method {
			return false
		}
		for part := range strings.SplitSeq(r.URL.Path, "/") {
			if part == resource {
				return true
			}
		}
		return false
	}
}

// Watches matches watches.
func Watches(r *http.Request) bool { return r.URL.Query().Get("watch") == "true" }

// Writes matches what changes anything but Leases.
func Writes(r *http.Request) bool {
	return r.Method != http.MethodGet && !On("", "leases")(r)
}
