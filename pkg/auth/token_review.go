package auth

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/singleflight"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authclient "k8s.io/client-go/kubernetes/typed/authentication/v1"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
)

// TokenReview asks the Kubernetes API server for the owner of a token (API kind TokenReview),
// and caches the result for a short time.
type TokenReview struct {
	reviews  authclient.TokenReviewInterface
	audience string // audience that tokens must have; empty means the audience of the API server
	asked    singleflight.Group
	cache    *tokenCache
	lookups  *lookups
}

// NewTokenReview returns a method that creates TokenReviews. If audience is set, the method
// rejects tokens that lack the audience.
func NewTokenReview(reviews authclient.TokenReviewInterface, audience string) *TokenReview {
	return &TokenReview{reviews: reviews, audience: audience, cache: newTokenCache(), lookups: newLookups()}
}

// Identify returns the principal of the token.
func (r *TokenReview) Identify(ctx context.Context, c task.Credentials) (Principal, error) {
	token, err := tokenOf(c)
	if err != nil {
		return Principal{}, err
	}
	sum := sha256.Sum256([]byte(token))
	f, holds, known := r.cache.find(sum, time.Now())
	if holds {
		return f.principal, f.err
	}
	found, err, _ := r.asked.Do(string(sum[:]), func() (any, error) {
		if f, holds, _ := r.cache.find(sum, time.Now()); holds { // a lookup ended between find and Do
			return f.principal, f.err
		}
		end, err := r.lookups.acquire(c.Peer, known)
		if err != nil {
			return Principal{}, err
		}
		defer end()
		p, err := r.ask(context.WithoutCancel(ctx), token)
		if err != nil && !errors.Is(err, problem.Unauthorized) {
			return Principal{}, err
		}
		now := time.Now()
		f := cacheEntry{p, err, now.Add(negativeTTL)}
		if err == nil {
			f.until = earlier(now.Add(positiveTTL), expiry(token))
		}
		r.cache.put(sum, f, now)
		return p, err
	})
	p, _ := found.(Principal)
	return p, err
}

func (r *TokenReview) ask(ctx context.Context, token string) (Principal, error) {
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	question := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}
	if r.audience != "" {
		question.Spec.Audiences = []string{r.audience}
	}
	answer, err := r.reviews.Create(ctx, question, metav1.CreateOptions{})
	switch {
	case err != nil:
		return Principal{}, problem.New(problem.Unavailable, fmt.Sprintf("the token cannot be reviewed by Kubernetes: %v; try again", err))
	case !answer.Status.Authenticated:
		return Principal{}, rejected(errUnknown)
	case r.audience != "" && !slices.Contains(answer.Status.Audiences, r.audience):
		// An authenticator of Kubernetes that does not support audiences returns none.
		return Principal{}, rejected(fmt.Errorf("it is not for the audience %q", r.audience))
	}
	return newPrincipal(answer.Status.User.Username, answer.Status.User.Groups)
}

// expiry returns the expiry claim of a token if the token is a JWT, or else the zero time.
// expiry does not verify the token; the result can only shorten the time in the cache.
func expiry(token string) time.Time {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return time.Time{}
	}
	raw, err := base64.RawURLEncoding.DecodeString(parts[1])
	var claims struct {
		Expiry float64 `json:"exp"`
	}
	if err != nil || json.Unmarshal(raw, &claims) != nil || claims.Expiry <= 0 {
		return time.Time{}
	}
	return time.Unix(int64(claims.Expiry), 0)
}

// earlier returns the earlier of two times. A zero b means no time.
func earlier(a, b time.Time) time.Time {
	if b.IsZero() || a.Before(b) {
		return a
	}
	return b
}
