package rig

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"
)

// A Fault says what a proxy does to the requests that match, while the fault is in place.
type Fault struct {
	Name   string
	Match  func(*http.Request) bool // nil matches all requests
	Chance float64                  // 0 means always

	Cut    bool          // break the connection before the request arrives
	Code   int           // answer with this status; the request does not arrive
	Delay  time.Duration // delay the request, even if its client gives up
	Hold   bool          // delay the request until the fault is lifted, even if its client gives up
	Commit bool          // break the connection after the request has arrived, before the answer
	Mute   bool          // delay the answer until the fault is lifted
	Stall  bool          // delay the events of watches until the fault is lifted, of existing watches too

	lifted chan struct{}
	hits   int
	chance *rand.Rand
}

// wait waits for the delay, or until the fault is lifted.
func (f *Fault) wait() {
	if f.Delay == 0 && !f.Hold {
		return // a fault that only counts requests
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

// A mute withholds an answer.
type mute struct {
	http.ResponseWriter
	proxy *Proxy
	fault *Fault
	gone  <-chan struct{}
}

// WriteHeader withholds the answer. The proxy calls WriteHeader after the request has taken
// effect.
func (m *mute) WriteHeader(code int) {
	m.withhold()
	m.ResponseWriter.WriteHeader(code)
}

// Unwrap gives the proxy access to Flush.
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

// A watched is the response writer of a watch.
type watched struct {
	http.ResponseWriter
	proxy *Proxy
	gone  <-chan struct{}
}

// Unwrap gives the proxy access to Flush.
func (w *watched) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Write writes bytes once no fault stalls watches.
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

// On matches requests with a method to a resource in a namespace. An empty method matches
// all methods.
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

// Watches matches watch requests.
func Watches(r *http.Request) bool { return r.URL.Query().Get("watch") == "true" }

// Writes matches requests that change anything except Leases.
func Writes(r *http.Request) bool {
	return r.Method != http.MethodGet && !On("", "leases")(r)
}
