package rig

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"k8s-cli/test/testkit/must"
)

// behind returns a proxy in front of a server, and a channel that receives each request.
func behind(t *testing.T) (*Proxy, <-chan string) {
	t.Helper()
	arrived := make(chan string, 10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		arrived <- r.Method + " " + r.URL.Path + " " + string(body)
		_, _ = io.WriteString(w, "answer")
	}))
	t.Cleanup(server.Close)
	p, err := newProxy(&rest.Config{Host: server.URL})
	must.Succeed(t, err)
	t.Cleanup(p.Close)
	return p, arrived
}

func post(ctx context.Context, t *testing.T, p *Proxy, path string) (code int, err error) {
	t.Helper()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, p.URL+path, strings.NewReader("body"))
	must.Succeed(t, err)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	_, err = io.ReadAll(response.Body)
	return response.StatusCode, err
}

func TestProxy(t *testing.T) {
	jobs := On(http.MethodPost, "jobs")
	for _, tt := range []struct {
		name    string
		fault   *Fault
		code    int // 0 means no answer
		arrives bool
	}{
		{"nothing", nil, 200, true},
		{"another resource", &Fault{Match: On("", "leases"), Cut: true}, 200, true},
		{"cut", &Fault{Match: jobs, Cut: true}, 0, false},
		{"refused", &Fault{Match: jobs, Code: 429}, 429, false},
		{"answer lost after the commit", &Fault{Match: jobs, Commit: true}, 0, true},
		{"late", &Fault{Match: jobs, Delay: time.Millisecond}, 200, true},
		{"only counted", &Fault{Match: jobs}, 200, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, arrived := behind(t)
			if tt.fault != nil {
				defer p.Put(tt.fault)()
			}
			code, err := post(t.Context(), t, p, "/apis/batch/v1/namespaces/n/jobs")
			if code != tt.code || (err != nil) != (tt.code == 0) {
				t.Errorf("code %d, %v; want %d", code, err, tt.code)
			}
			if tt.arrives {
				if got := <-arrived; got != "POST /apis/batch/v1/namespaces/n/jobs body" {
					t.Errorf("what arrived is %q", got)
				}
			}
			if len(arrived) > 0 {
				t.Errorf("more arrived: %q", <-arrived)
			}
		})
	}
}

// A held request arrives once the fault is lifted, although its client gave up long before.
func TestProxyHolds(t *testing.T) {
	p, arrived := behind(t)
	f := &Fault{Match: On(http.MethodPost, "jobs"), Hold: true}
	lift := p.Put(f)
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan error)
	go func() {
		_, err := post(ctx, t, p, "/jobs")
		left <- err
	}()
	must.Succeed(t, p.Hits(t.Context(), f, 1))
	leave()
	if err := <-left; err == nil {
		t.Error("the sender got an answer")
	}
	if len(arrived) > 0 {
		t.Error("it arrived though it was held")
	}
	lift()
	if got := <-arrived; got != "POST /jobs body" {
		t.Errorf("what arrived is %q", got)
	}
}
