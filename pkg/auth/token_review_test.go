package auth

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
)

// reviews is an API server that answers only TokenReviews.
type reviews func(spec authenticationv1.TokenReviewSpec) (authenticationv1.TokenReviewStatus, error)

func (r reviews) Create(_ context.Context, review *authenticationv1.TokenReview, _ metav1.CreateOptions) (*authenticationv1.TokenReview, error) {
	status, err := r(review.Spec)
	return &authenticationv1.TokenReview{Status: status}, err
}

// reviewer returns a TokenReview whose API server answers by answer, and the number of
// TokenReviews.
func reviewer(audience string, answer reviews) (*TokenReview, *int) {
	asked := 0
	return NewTokenReview(reviews(func(spec authenticationv1.TokenReviewSpec) (authenticationv1.TokenReviewStatus, error) {
		asked++
		return answer(spec)
	}), audience), &asked
}

func yes(name string, audiences ...string) authenticationv1.TokenReviewStatus {
	return authenticationv1.TokenReviewStatus{Authenticated: true, User: authenticationv1.UserInfo{Username: name}, Audiences: audiences}
}

func TestReview(t *testing.T) { synctest.Test(t, testReview) }

func testReview(t *testing.T) {
	away := errors.New("connection refused")
	r, asked := reviewer("k8s-cli", func(spec authenticationv1.TokenReviewSpec) (authenticationv1.TokenReviewStatus, error) {
		if len(spec.Audiences) != 1 || spec.Audiences[0] != "k8s-cli" {
			t.Errorf("asked for %v", spec.Audiences)
		}
		switch spec.Token {
		case "right":
			return yes("system:serviceaccount:team:ann", "k8s-cli"), nil
		case "for-others":
			return yes("ann", "https://kubernetes.default.svc"), nil
		case "for-nobody":
			return yes("ann"), nil
		case "nameless":
			return yes("", "k8s-cli"), nil
		case "away":
			return authenticationv1.TokenReviewStatus{}, away
		}
		return authenticationv1.TokenReviewStatus{Error: "invalid bearer token"}, nil
	})
	for _, tt := range []struct{ token, want, text string }{
		{"right", "system:serviceaccount:team:ann", ""},
		{"for-others", "", "audience"},
		{"for-nobody", "", "audience"},
		{"wrong", "", "it is unknown"},
		{"nameless", "", "is empty"},
		{"", "", "Bearer TOKEN"},
	} {
		before := *asked
		wants(t, r, task.Credentials{Token: tt.token}, tt.want, tt.text)
		wants(t, r, task.Credentials{Token: tt.token}, tt.want, tt.text)
		if want := 1; tt.token != "" && *asked-before != want {
			t.Errorf("%q: asked %d times, want %d", tt.token, *asked-before, want)
		}
	}
	for range 2 {
		if _, err := r.Identify(t.Context(), task.Credentials{Token: "away"}); !errors.Is(err, problem.Unavailable) {
			t.Errorf("with nobody to ask: %v", err)
		}
	}
}

// TestReviewIsNotCachedBeyondTheToken checks that a result is cached for some time, but not
// after the token expires.
func TestReviewIsNotCachedBeyondTheToken(t *testing.T) { synctest.Test(t, testReviewInCache) }

func testReviewInCache(t *testing.T) {
	jwt := func(expires time.Time) string {
		claims := base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, `{"exp":%d}`, expires.Unix()))
		return "h." + claims + ".s"
	}
	r, asked := reviewer("", func(authenticationv1.TokenReviewSpec) (authenticationv1.TokenReviewStatus, error) {
		return yes("ann"), nil
	})
	for _, tt := range []struct {
		name  string
		token string
		asks  int
	}{
		{"one that lasts", jwt(time.Now().Add(time.Hour)), 1},
		{"one that has expired meanwhile", jwt(time.Now().Add(-time.Second)), 2},
		{"one that does not say", "opaque", 1},
	} {
		*asked = 0
		for range 2 {
			wants(t, r, task.Credentials{Token: tt.token}, "ann", "")
		}
		if *asked != tt.asks {
			t.Errorf("%s: asked %d times, want %d", tt.name, *asked, tt.asks)
		}
	}
}
