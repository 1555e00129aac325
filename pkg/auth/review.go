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
)

// A Review has the Kubernetes API server say whose a token is, and remembers its
// answer for a short time.
type Review struct {
	reviews  authclient.TokenReviewInterface
	audience string // that tokens have to be for; empty for the API server itself
	asked    singleflight.Group
	cache    *tokenCache
	lookups  *lookups
}

// NewReview returns a method that asks reviews. With an audience, a token that
// is for others alone is not taken.
func NewReview(reviews authclient.TokenReviewInterface, audience string) *Review {
	return &Review{reviews: reviews, audience: audience, cache: newTokenCache(), lookups: newLookups()}
}

// Identify returns whose token the caller has.
func (r *Review) Identify(ctx context.Context, c task.Credentials) (Principal, error) {
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
		end, err := r.lookups.acquire(c.Peer, known)
		if err != nil {
			return Principal{}, err
		}
		defer end()
		p, err := r.ask(context.WithoutCancel(ctx), token)
		if err != nil && !errors.Is(err, task.ErrUnauthorized) {
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

func (r *Review) ask(ctx context.Context, token string) (Principal, error) {
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	question := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}
	if r.audience != "" {
		question.Spec.Audiences = []string{r.audience}
	}
	answer, err := r.reviews.Create(ctx, question, metav1.CreateOptions{})
	switch {
	case err != nil:
		return Principal{}, task.Error(task.ErrUnavailable, fmt.Sprintf("the token cannot be reviewed by Kubernetes: %v; try again", err))
	case !answer.Status.Authenticated:
		return Principal{}, rejected(errUnknown)
	case r.audience != "" && !slices.Contains(answer.Status.Audiences, r.audience):
		return Principal{}, rejected(fmt.Errorf("it is not for the audience %q", r.audience)) // an authenticator that knows of no audiences answers without
	}
	return newPrincipal(answer.Status.User.Username, answer.Status.User.Groups)
}

// expiry returns when a token that is a JWT says that it expires; zero if it
// does not say so. It is not checked, and only makes a memory shorter.
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

// earlier returns the earlier of two times, of which the second may be zero.
func earlier(a, b time.Time) time.Time {
	if b.IsZero() || a.Before(b) {
		return a
	}
	return b
}
