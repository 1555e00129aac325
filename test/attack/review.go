package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"k8s-cli/test/testkit"
)

// A counter is a proxy in front of the API server that counts TokenReviews.
type counter struct {
	*httptest.Server
	reviews atomic.Int64
}

func newCounter(config *rest.Config) (*counter, error) {
	to, err := url.Parse(config.Host)
	if err != nil {
		return nil, err
	}
	transport, err := rest.TransportFor(config)
	if err != nil {
		return nil, err
	}
	c := &counter{}
	proxy := &httputil.ReverseProxy{Transport: transport, FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/tokenreviews") {
			c.reviews.Add(1)
		}
		proxy.ServeHTTP(w, r)
	}))
	return c, nil
}

// kubeconfig writes a kubeconfig for the counter.
func (c *counter) kubeconfig(dir string) (string, error) {
	path := filepath.Join(dir, "counted.kubeconfig")
	return path, testkit.WriteKubeconfig(path, c.URL)
}

// accountToken creates a service account in the namespace of s and returns a token of the
// account for an audience.
func (w *environment) accountToken(ctx context.Context, s *server, name, audience string) (string, error) {
	accounts := w.cluster.CoreV1().ServiceAccounts(s.namespace)
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := accounts.Create(ctx, account, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return "", err
	}
	q := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: []string{audience}}}
	got, err := accounts.CreateToken(ctx, name, q, metav1.CreateOptions{})
	if err != nil {
		return "", err
	}
	return got.Status.Token, nil
}

// whoami authenticates with a token, and tries again while the server answers that it has
// too many requests.
func (s *server) whoami(ctx context.Context, token string) answer {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		a := s.send(ctx, request{method: "GET", path: "/whoami", header: []string{"Authorization", "Bearer " + token}})
		if a.code != http.StatusServiceUnavailable && a.code != http.StatusTooManyRequests {
			return a
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return a
		}
	}
}

// reviewAttacks cause TokenReviews with invented tokens.
func reviewAttacks() []attack {
	word := func(string) string { return rand.Text() + rand.Text() }
	forgery := func(good string) string { return good[:len(good)-40] + rand.Text() + rand.Text()[:14] }
	same := func(string) string { return "the-same-word-each-time" }
	const bounded = "30 TokenReviews at once, and 10 a second; a good token is served"
	return []attack{
		control(scene("a token", "200", func(ctx context.Context, w *environment) error {
			return reviewed(ctx, w, audience, nil, 200)
		})),
		scene("a token for another audience", "401", func(ctx context.Context, w *environment) error {
			return reviewed(ctx, w, "grafana", nil, 401)
		}),
		scene("a changed token", "401", func(ctx context.Context, w *environment) error { return reviewed(ctx, w, audience, forgery, 401) }),
		scene("an unsigned token", "401", func(ctx context.Context, w *environment) error {
			return reviewed(ctx, w, audience, func(good string) string { return good[:strings.LastIndex(good, ".")+1] }, 401)
		}),
		scene("one made-up word, often", "a few TokenReviews", func(ctx context.Context, w *environment) error { return flooded(ctx, w, 300, 20, 1, same) }),
		scene("made-up words", bounded, func(ctx context.Context, w *environment) error { return flooded(ctx, w, 400, 40, 10, word) }),
		scene("forged tokens", bounded, func(ctx context.Context, w *environment) error { return flooded(ctx, w, 400, 40, 10, forgery) }),
		long(scene("more forged tokens than are remembered", bounded, func(ctx context.Context, w *environment) error { return flooded(ctx, w, 12_000, 40, 10, forgery) })),
	}
}

func long(a attack) attack {
	a.long = true
	return a
}

// reviewed authenticates with a token of a service account, after change if change is not
// nil.
func reviewed(ctx context.Context, w *environment, audience string, change func(string) string, code int) error {
	s, err := w.serve(ctx, byReview)
	if err != nil {
		return err
	}
	token, err := w.accountToken(ctx, s, "ann", audience)
	if err != nil {
		return err
	}
	if change != nil {
		token = change(token)
	}
	if a := s.whoami(ctx, token); a.code != code {
		return fmt.Errorf("%s", a)
	}
	return nil
}

// flooded authenticates with many invented tokens, and with valid tokens during and after
// the invented ones. The server may send burst TokenReviews at once and then rate per second.
func flooded(ctx context.Context, w *environment, tokens, burst, rate int, makeUp func(good string) string) error {
	s, err := w.serve(ctx, byReview)
	if err != nil {
		return err
	}
	good, err := w.accountToken(ctx, s, "ann", audience)
	if err != nil {
		return err
	}
	if a := s.whoami(ctx, good); a.code != 200 { // from now on the token is in the cache of the server
		return fmt.Errorf("a good token before: %s", a)
	}
	before, began := w.counter.reviews.Load(), time.Now()
	var next, taken atomic.Int64
	var running sync.WaitGroup
	for range 8 {
		running.Go(func() {
			for next.Add(1) <= int64(tokens) {
				a := s.send(ctx, request{method: "GET", path: "/whoami", header: []string{
					"Authorization", "Bearer " + makeUp(good), "X-Forwarded-For", fmt.Sprintf("203.0.113.%d", next.Load()%250), // not from a trusted proxy
				}})
				if a.code == 200 || a.code == 0 {
					taken.Add(1)
				}
			}
		})
	}
	meanwhile := s.whoami(ctx, good)
	running.Wait()
	asked := w.counter.reviews.Load() - before
	took := time.Since(began)
	switch {
	case asked > int64(float64(burst)+float64(rate)*took.Seconds()):
		return fmt.Errorf("%d TokenReviews for %d tokens within %s", asked, tokens, took.Round(time.Millisecond))
	case taken.Load() > 0:
		return fmt.Errorf("%d of the tokens were taken or got no answer", taken.Load())
	case meanwhile.code != 200:
		return fmt.Errorf("a good token meanwhile: %s", meanwhile)
	}
	fresh, err := w.accountToken(ctx, s, "fresh", audience)
	if err != nil {
		return err
	}
	if a := s.whoami(ctx, fresh); a.code != 200 {
		return fmt.Errorf("a good token that is new: %s", a)
	}
	return nil
}
