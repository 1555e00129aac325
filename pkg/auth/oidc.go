package auth

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
)

// OIDCConfig defines which ID tokens the server accepts.
type OIDCConfig struct {
	Issuer      string // URL, exactly as in the tokens
	Audience    string // client id for which the tokens are issued
	UserClaim   string // claim with the user name; empty means sub
	GroupsClaim string // claim with the groups, a list or one name; empty means groups
	CAFile      string // certificate authority of the issuer; empty means the authorities of the system

	RequireVerified bool // reject an e-mail address without the claim email_verified
}

// OIDC accepts ID tokens of an OpenID Connect issuer. OIDC fetches the keys of the issuer
// at the first token, and again when a token names an unknown key.
type OIDC struct {
	config OIDCConfig
	http   *http.Client
	cache  *tokenCache

	lookups *lookups // of ID tokens
	codes   *lookups // of authorization codes; each is a request to the issuer

	mu       sync.Mutex
	endpoint oauth2.Endpoint       // of the authorization code flow; set with verifier
	verifier *oidc.IDTokenVerifier // nil until the issuer has answered
	tried    time.Time             // time of the last attempt to reach the issuer
	failed   error
}

// NewOIDC returns a method. NewOIDC sends no request to the issuer.
func NewOIDC(c OIDCConfig) (*OIDC, error) {
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12}, TLSHandshakeTimeout: lookupTimeout}
	if c.CAFile != "" {
		pem, err := os.ReadFile(c.CAFile)
		if err != nil {
			return nil, err
		}
		transport.TLSClientConfig.RootCAs = x509.NewCertPool()
		if !transport.TLSClientConfig.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s contains no certificate", c.CAFile)
		}
	}
	client := &http.Client{Transport: &cachingTransport{next: transport, responses: map[string]cachedResponse{}}, Timeout: lookupTimeout}
	return &OIDC{config: c, http: client, cache: newTokenCache(), lookups: newChecks(), codes: newLookups()}, nil
}

// Identify returns the principal of the token.
func (o *OIDC) Identify(ctx context.Context, c task.Credentials) (Principal, error) {
	token, err := tokenOf(c)
	if err != nil {
		return Principal{}, err
	}
	if strings.Count(token, ".") != 2 {
		return Principal{}, rejected(errForm)
	}
	sum := sha256.Sum256([]byte(token))
	f, holds, known := o.cache.find(sum, time.Now())
	if holds {
		return f.principal, f.err
	}
	end, err := o.lookups.acquire(c.Peer, known)
	if err != nil {
		return Principal{}, err
	}
	defer end()
	checked, err := o.check(ctx, token)
	if err != nil {
		return Principal{}, err
	}
	p, err := o.principal(checked)
	if err == nil {
		now := time.Now()
		o.cache.put(sum, cacheEntry{p, nil, earlier(now.Add(positiveTTL), checked.Expiry)}, now)
	}
	return p, err
}

// check verifies the signature, the issuer, the audience and the expiry of a token.
func (o *OIDC) check(ctx context.Context, token string) (*oidc.IDToken, error) {
	verifier, err := o.Verifier(ctx)
	if err != nil {
		return nil, err
	}
	away := false
	ctx, cancel := context.WithTimeout(context.WithValue(oidc.ClientContext(ctx, o.http), awayKey{}, &away), lookupTimeout)
	defer cancel()
	checked, err := verifier.Verify(ctx, token)
	switch {
	case err != nil && (away || ctx.Err() != nil):
		return nil, problem.New(problem.Unavailable, fmt.Sprintf("the keys of %s cannot be fetched: %v; try again", o.config.Issuer, err))
	case err != nil:
		return nil, rejected(reason(err))
	}
	return checked, nil
}

// reason replaces the error of an expired token, so that the response does not contain
// details of the token.
func reason(err error) error {
	if _, ok := errors.AsType[*oidc.TokenExpiredError](err); ok {
		return errors.New("it has expired")
	}
	return err
}

// Verifier returns the verifier of ID tokens. The first successful call fetches the
// configuration of the issuer. The error is of kind problem.Unavailable.
func (o *OIDC) Verifier(ctx context.Context) (*oidc.IDTokenVerifier, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.verifier != nil {
		return o.verifier, nil
	}
	if o.failed == nil || time.Since(o.tried) > cacheTTL {
		ctx, cancel := context.WithTimeout(oidc.ClientContext(context.WithoutCancel(ctx), o.http), lookupTimeout)
		defer cancel()
		provider, err := oidc.NewProvider(ctx, o.config.Issuer)
		if err == nil {
			o.endpoint = provider.Endpoint()
			o.verifier, err = o.verify(ctx, provider)
		}
		if o.tried, o.failed = time.Now(), err; err == nil {
			return o.verifier, nil
		}
	}
	return nil, problem.New(problem.Unavailable, fmt.Sprintf("the keys of the issuer %s cannot be located: %v; try again", o.config.Issuer, o.failed))
}

// signatures lists the accepted signature algorithms. All are asymmetric, so that only the
// issuer can sign.
var signatures = []string{oidc.RS256, oidc.RS384, oidc.RS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.EdDSA}

func (o *OIDC) verify(ctx context.Context, provider *oidc.Provider) (*oidc.IDTokenVerifier, error) {
	var says struct {
		Keys string `json:"jwks_uri"`
	}
	if err := provider.Claims(&says); err != nil || says.Keys == "" {
		return nil, errors.New("the issuer's configuration has no jwks_uri")
	}
	return oidc.NewVerifier(o.config.Issuer, keys{oidc.NewRemoteKeySet(ctx, says.Keys)}, &oidc.Config{
		ClientID: o.config.Audience, SupportedSigningAlgs: signatures,
	}), nil
}

// keys notes in the context that the keys cannot be fetched. Without this note the caller
// cannot tell a wrong signature from an unavailable issuer, because the verifier keeps only
// the text of the error.
type keys struct{ oidc.KeySet }

type awayKey struct{} // context key of a *bool that becomes true if the issuer did not answer

// VerifySignature implements oidc.KeySet.
func (k keys) VerifySignature(ctx context.Context, jwt string) ([]byte, error) {
	payload, err := k.KeySet.VerifySignature(ctx, jwt)
	if away, ok := ctx.Value(awayKey{}).(*bool); ok && errors.Is(err, errIssuerUnavailable) {
		*away = true
	}
	return payload, err
}

// principal reads the claims of a verified token.
func (o *OIDC) principal(checked *oidc.IDToken) (Principal, error) {
	var claims map[string]json.RawMessage
	if err := checked.Claims(&claims); err != nil {
		return Principal{}, rejected(fmt.Errorf("its claims cannot be read: %w", err))
	}
	claim, in := o.config.UserClaim, o.config.GroupsClaim
	if claim == "" {
		claim = "sub"
	}
	if in == "" {
		in = "groups"
	}
	var user string
	if err := json.Unmarshal(claims[claim], &user); err != nil {
		return Principal{}, rejected(fmt.Errorf("its claim %q is not a name", claim))
	}
	verified, says := claims["email_verified"]
	if claim == "email" && (says || o.config.RequireVerified) && string(verified) != "true" {
		return Principal{}, rejected(errors.New("its e-mail address is not verified (claim email_verified)"))
	}
	var groups []string
	if raw, ok := claims[in]; ok && json.Unmarshal(raw, &groups) != nil {
		var one string
		if json.Unmarshal(raw, &one) != nil {
			return Principal{}, rejected(fmt.Errorf("its claim %q is neither a name nor a list of names", in))
		}
		groups = []string{one}
	}
	p, err := newPrincipal(user, groups)
	p.Unverified = claim == "email" && !says
	return p, err
}
