package rig

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"
)

// A Proxy is an HTTP proxy between one server and the API server.
type Proxy struct {
	URL string

	forward *httputil.ReverseProxy
	server  *http.Server

	mu      sync.Mutex
	faults  []*Fault
	cuts    map[int]context.CancelFunc // of requests in progress
	next    int
	changed chan struct{} // closed at the next hit of a fault
}

// newProxy starts a proxy in front of the API server of these settings.
func newProxy(settings *rest.Config) (*Proxy, error) {
	target, err := url.Parse(settings.Host)
	if err != nil {
		return nil, fmt.Errorf("proxy: %w", err)
	}
	transport, err := rest.TransportFor(settings)
	if err != nil {
		return nil, fmt.Errorf("proxy: %w", err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("proxy: %w", err)
	}
	p := &Proxy{
		URL:     "http://" + listener.Addr().String(),
		cuts:    map[int]context.CancelFunc{},
		changed: make(chan struct{}),
		forward: &httputil.ReverseProxy{
			Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
			Transport:     transport,
			FlushInterval: -1,
			ErrorHandler:  func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
		},
	}
	p.serve(listener)
	return p, nil
}

func (p *Proxy) serve(listener net.Listener) {
	server := &http.Server{Handler: p, ReadHeaderTimeout: time.Minute}
	p.server = server
	go func() { _ = server.Serve(listener) }()
}

// Close stops the proxy. To its server the API server seems to be stopped.
func (p *Proxy) Close() { _ = p.server.Close() }

// Open starts a closed proxy again at the same address.
func (p *Proxy) Open() error {
	listener, err := net.Listen("tcp", strings.TrimPrefix(p.URL, "http://"))
	if err != nil {
		return fmt.Errorf("open the proxy again: %w", err)
	}
	p.serve(listener)
	return nil
}

// Put puts a fault in place. lift removes the fault.
func (p *Proxy) Put(f *Fault) (lift func()) {
	f.lifted = make(chan struct{})
	f.chance = rand.New(rand.NewPCG(1, uint64(f.Chance*1000)))
	p.mu.Lock()
	p.faults = append(p.faults, f)
	if f.Cut && f.Match == nil { // breaks requests in progress, too
		for _, cut := range p.cuts {
			cut()
		}
	}
	p.mu.Unlock()
	var once sync.Once
	return func() {
		once.Do(func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			for i, other := range p.faults {
				if other == f {
					p.faults = append(p.faults[:i:i], p.faults[i+1:]...)
					break
				}
			}
			close(f.lifted)
		})
	}
}

// Hits waits until n requests have hit the fault.
func (p *Proxy) Hits(ctx context.Context, f *Fault, n int) error {
	for {
		p.mu.Lock()
		hits, changed := f.hits, p.changed
		p.mu.Unlock()
		if hits >= n {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("waiting for %d requests to meet the fault %q: %w; %d have", n, f.Name, context.Cause(ctx), hits)
		}
	}
}

// meet returns the first fault that matches a request, or nil.
func (p *Proxy) meet(r *http.Request) *Fault {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, f := range p.faults {
		if f.Stall || f.Match != nil && !f.Match(r) || f.Chance > 0 && f.chance.Float64() >= f.Chance {
			continue
		}
		if !f.Commit && !f.Mute {
			p.hit(f)
		}
		return f
	}
	return nil
}

// hit counts a request. The caller holds the lock.
func (p *Proxy) hit(f *Fault) {
	f.hits++
	close(p.changed)
	p.changed = make(chan struct{})
}

// ServeHTTP forwards a request, or applies a fault to it.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx, cut := context.WithCancel(r.Context())
	defer cut()
	p.mu.Lock()
	p.next++
	n := p.next
	p.cuts[n] = cut
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		delete(p.cuts, n)
		p.mu.Unlock()
	}()
	if Watches(r) {
		w = &watched{w, p, r.Context().Done()}
	}
	f := p.meet(r)
	switch {
	case f == nil:
	case f.Cut:
		panic(http.ErrAbortHandler)
	case f.Code != 0:
		refuse(w, f.Code)
		return
	default:
		// The request arrives even if its client gives up.
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		var end context.CancelFunc
		ctx, end = context.WithCancel(context.WithoutCancel(ctx))
		defer end()
		if f.Commit || f.Mute {
			w = &mute{w, p, f, r.Context().Done()}
		} else {
			f.wait()
		}
	}
	p.forward.ServeHTTP(w, r.WithContext(ctx))
}
