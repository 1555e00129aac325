package auth

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
	"k8s-cli/test/testkit/must"
)

func from(address, token string) task.Credentials {
	return task.Credentials{Peer: netip.MustParseAddr(address), Token: token}
}

// isBusy reports whether an error says nothing about the token.
func isBusy(err error) bool {
	return (errors.Is(err, problem.Unavailable) || errors.Is(err, problem.LimitReached)) && !errors.Is(err, problem.Unauthorized)
}

// TestUnknownTokensAreLimited checks that invented tokens cause a bounded number of
// TokenReviews. Further tokens get an error that asks for a retry and does not reject the
// token.
func TestUnknownTokensAreLimited(t *testing.T) { synctest.Test(t, testUnknownTokens) }

func testUnknownTokens(t *testing.T) {
	r, asked := reviewer("", func(spec authenticationv1.TokenReviewSpec) (authenticationv1.TokenReviewStatus, error) {
		if spec.Token == "anns" || spec.Token == "bobs" {
			return yes(spec.Token[:3]), nil
		}
		return authenticationv1.TokenReviewStatus{}, nil
	})
	wants(t, r, from("192.0.2.1", "anns"), "ann", "")
	const shown = 5_000
	busy := 0
	for n := range shown {
		_, err := r.Identify(t.Context(), from("192.0.2.1", fmt.Sprint("made-up-", n)))
		if isBusy(err) {
			busy++
		}
	}
	if *asked != peerBurst || busy != shown-(peerBurst-1) { // one of the questions was about the token of ann
		t.Errorf("%d made-up tokens were %d questions, %d are allowed; %d refusals", shown, *asked-1, peerBurst-1, busy)
	}
	wants(t, r, from("192.0.2.1", "anns"), "ann", "")  // the result is cached
	wants(t, r, from("192.0.2.99", "bobs"), "bob", "") // other addresses are not affected
	before := *asked
	wants(t, r, from("192.0.2.3", "no token at all"), "", "it is malformed")
	if *asked != before {
		t.Error("what is no token is asked about")
	}
}

// TestUnknownTokensOfManyAddressesAreLimited checks that the total limit applies to any
// number of addresses.
func TestUnknownTokensOfManyAddressesAreLimited(t *testing.T) {
	l, now, passed := newLookups(), time.Now(), 0
	for n := range 2 * maxPeers {
		if l.allow(netip.AddrFrom4([4]byte{10, byte(n >> 16), byte(n >> 8), byte(n)}), now) == nil {
			passed++
		}
	}
	if passed != totalBurst || len(l.peers) > maxPeers {
		t.Errorf("%d tokens were let through, want %d; %d addresses are remembered", passed, totalBurst, len(l.peers))
	}
	one := newLookups()
	for n := range peerBurst + 1 {
		err := one.allow(netip.MustParseAddr(fmt.Sprintf("2001:db8::%x", n+1)), now) // one machine may own the whole network
		if (err == nil) != (n < peerBurst) || err != nil && !errors.Is(err, problem.LimitReached) {
			t.Errorf("address %d of an IPv6 network: %v", n, err)
		}
	}
}

// TestQuestionsUnderWayAreBounded checks that concurrent lookups are bounded, that
// concurrent lookups of one token share one request, and that a token that was accepted
// before is checked even while invented tokens take all their slots.
func TestQuestionsUnderWayAreBounded(t *testing.T) { synctest.Test(t, testQuestionsUnderWay) }

func testQuestionsUnderWay(t *testing.T) {
	var underWay, most, asked atomic.Int32
	release := make(chan struct{})
	r := NewTokenReview(reviews(func(spec authenticationv1.TokenReviewSpec) (authenticationv1.TokenReviewStatus, error) {
		if spec.Token == "anns" {
			return yes("ann"), nil
		}
		asked.Add(1)
		for now := underWay.Add(1); ; {
			if old := most.Load(); now <= old || most.CompareAndSwap(old, now) {
				break
			}
		}
		defer underWay.Add(-1)
		<-release
		return authenticationv1.TokenReviewStatus{}, nil
	}), "")
	wants(t, r, from("192.0.2.1", "anns"), "ann", "")
	var all sync.WaitGroup
	for n := range unknownAtOnce {
		for range 3 { // the same token three times
			all.Go(func() { _, _ = r.Identify(t.Context(), from("192.0.2.1", fmt.Sprint("t", n))) })
		}
	}
	synctest.Wait()
	if _, err := r.Identify(t.Context(), from("192.0.2.2", "another")); !isBusy(err) {
		t.Errorf("with all places taken: %v", err)
	}
	expire(r.cache)
	wants(t, r, from("192.0.2.1", "anns"), "ann", "")
	close(release)
	all.Wait()
	if most.Load() > unknownAtOnce || asked.Load() != unknownAtOnce {
		t.Errorf("%d questions about %d tokens, %d at once", asked.Load(), unknownAtOnce, most.Load())
	}
}

// expire makes all accepted entries of a cache expire.
func expire(m *tokenCache) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for sum, f := range m.accepted {
		f.until = time.Time{}
		m.accepted[sum] = f
	}
}

// TestMadeUpTokensEvictNoGoodOnes checks that invented tokens do not evict accepted tokens.
func TestMadeUpTokensEvictNoGoodOnes(t *testing.T) {
	m, now := newTokenCache(), time.Now()
	good := sha256.Sum256([]byte("good"))
	m.put(good, cacheEntry{until: now.Add(time.Hour)}, now)
	for _, err := range []error{problem.Unauthorized, nil} {
		for n := range 3 * maxCached {
			m.put([32]byte{1, byte(n), byte(n >> 8), byte(n >> 16)}, cacheEntry{err: err, until: now.Add(time.Hour)}, now)
		}
		if _, holds, known := m.find(good, now); err != nil && (!holds || !known) {
			t.Error("a token that was taken is forgotten for made-up ones")
		}
		if len(m.accepted) > maxCached || len(m.rejected) > maxCached {
			t.Errorf("it remembers %d and %d tokens, at most %d each", len(m.accepted), len(m.rejected), maxCached)
		}
	}
	m.put(good, cacheEntry{err: problem.Unauthorized, until: now.Add(time.Hour)}, now)
	if f, _, known := m.find(good, now); known || f.err == nil {
		t.Error("a token that was withdrawn is still taken")
	}
}

// TestOIDCLookupsAreLimited checks that requests to an unavailable issuer are as rare as
// requests to an available issuer, and that forged tokens then get an error that says
// nothing about the token.
func TestOIDCLookupsAreLimited(t *testing.T) {
	i := newIssuer(t)
	o := i.oidc(t)
	wants(t, o, from("192.0.2.1", i.token(nil)), "1234", "")
	i.beAway()
	asked := i.Lookups()
	forget(o)
	forged := func(n int) string {
		return i.sign(map[string]any{"alg": "RS256", "kid": fmt.Sprint("made-up-", n)}, map[string]any{"iss": i.URL, "aud": "k8s-cli", "sub": "root", "exp": time.Now().Add(time.Hour).Unix()})
	}
	began := time.Now()
	// While a request for the keys ends, go-oidc gives its keys to callers that come later.
	for n := -1; ; n-- {
		_, err := o.Identify(t.Context(), from("192.0.2.1", forged(n)))
		if isBusy(err) {
			break
		}
		if !errors.Is(err, problem.Unauthorized) || n < -1000 {
			t.Fatal(err)
		}
	}
	for n := range 60 {
		if _, err := o.Identify(t.Context(), from("192.0.2.1", forged(n))); !isBusy(err) {
			t.Errorf("token %d: %v", n, err)
		}
	}
	if most := 2 + int(time.Since(began)/cacheTTL); i.Lookups()-asked > most {
		t.Errorf("60 tokens of keys that do not exist had the keys fetched %d times, at most %d are allowed", i.Lookups()-asked, most)
	}
}

// TestUnverifiedEmails checks that a user is an administrator by an e-mail address
// only if the issuer verified the address.
func TestUnverifiedEmails(t *testing.T) {
	i := newIssuer(t)
	for _, tt := range []struct {
		name          string
		claims        map[string]any
		required      bool
		taken, admins bool
	}{
		{"verified", map[string]any{"email": "root@example.com", "email_verified": true}, false, true, true},
		{"not verified", map[string]any{"email": "root@example.com", "email_verified": false}, false, false, false},
		{"a word for true", map[string]any{"email": "root@example.com", "email_verified": "true"}, false, false, false},
		{"not said", map[string]any{"email": "root@example.com"}, false, true, false},
		{"not said, by group", map[string]any{"email": "root@example.com", "groups": []string{"ops"}}, false, true, true},
		{"not said, but required", map[string]any{"email": "root@example.com"}, true, false, false},
		{"verified and required", map[string]any{"email": "root@example.com", "email_verified": true}, true, true, true},
	} {
		o, err := NewOIDC(OIDCConfig{Issuer: i.URL, Audience: "k8s-cli", UserClaim: "email", RequireVerified: tt.required})
		must.Succeed(t, err)
		who, err := New(o, task.Admins{"root@example.com", "group:ops"}).Identify(t.Context(), task.Credentials{Token: i.token(tt.claims)})
		if (err == nil) != tt.taken || who.Admin != tt.admins || err != nil && !errors.Is(err, problem.Unauthorized) {
			t.Errorf("%s: %+v, %v", tt.name, who, err)
		}
	}
}

// TestNamesAreReadAlike checks that every authentication method trims spaces around a user
// name and rejects a name with invisible characters.
func TestNamesAreReadAlike(t *testing.T) {
	i := newIssuer(t)
	o := i.oidc(t)
	for name, want := range map[string]string{" \tann ": "ann", "ann\u200b": "", "\u00a0ann": "", "ann\u202e": ""} {
		r, _ := reviewer("", func(authenticationv1.TokenReviewSpec) (authenticationv1.TokenReviewStatus, error) {
			return yes(name), nil
		})
		wants(t, r, task.Credentials{Token: "anns"}, want, "the name of its user")
		wants(t, o, task.Credentials{Token: i.token(map[string]any{"sub": name})}, want, "the name of its user")
		_, h, err := parseHolder(hash("anns") + " " + name)
		if h.User != want || (err == nil) != (want != "") {
			t.Errorf("a line with %q: %+v, %v", name, h, err)
		}
	}
}
