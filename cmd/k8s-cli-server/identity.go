package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/spf13/pflag"
	"k8s.io/client-go/kubernetes"

	"k8s-cli/pkg/auth"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
)

// The authentication methods, as the values of --auth.
const (
	byHeader = "header"
	byToken  = "token"
	byReview = "tokenreview"
	byOIDC   = "oidc"
)

// identityConfig holds the settings for authentication, administrators and TLS.
type identityConfig struct {
	by      string
	admins  string
	proxies string
	hosts   string

	tokensFile string
	audience   string

	issuer     string
	clientID   string
	userClaim  string
	groupClaim string
	issuerCA   string
	verified   bool

	tlsCert string
	tlsKey  string
}

// identityFlags maps a flag to the only value of --auth with which the flag is valid.
var identityFlags = map[string]string{
	"allowed-hosts":  byHeader,
	"tokens-file":    byToken,
	"token-audience": byReview,
	"oidc-issuer":    byOIDC, "oidc-client-id": byOIDC, "oidc-user-claim": byOIDC, "oidc-groups-claim": byOIDC, "oidc-ca-file": byOIDC,
	"oidc-require-verified-email": byOIDC,
}

func (c *identityConfig) define(f *pflag.FlagSet) {
	f.StringVar(&c.by, "auth", byHeader, "how to identify users: header (X-User), token (tokens of --tokens-file), tokenreview (Kubernetes tokens) or oidc (ID tokens of --oidc-issuer)")
	f.StringVar(&c.admins, "admins", "", "users, and groups as group:NAME, that may read, stop and delete the tasks and volumes of all users, separated by commas")
	f.StringVar(&c.proxies, "trusted-proxies", "", "networks and addresses of proxies, separated by commas: with --auth header, the server accepts X-User and X-Groups only from them (default: X-User from every address); with other methods, their X-Forwarded-For names the client, for the limits of unknown tokens and of logins")
	f.StringVar(&c.hosts, "allowed-hosts", "", "values of the Host header to accept besides localhost, separated by commas; with --auth header, the server rejects other values on loopback addresses and requests from web pages of other hosts, which prevents DNS rebinding")
	f.StringVar(&c.tokensFile, "tokens-file", "", "file with a line HEX_SHA256_OF_TOKEN USER[,GROUP...] [until=RFC3339_TIME] for each token; the server reloads a changed file")
	f.StringVar(&c.audience, "token-audience", "", "audience that Kubernetes tokens must have (default: the audience of the API server)")
	f.StringVar(&c.issuer, "oidc-issuer", "", "URL of the OpenID Connect issuer")
	f.StringVar(&c.clientID, "oidc-client-id", "", "client ID that ID tokens must have; the CLI logs in with this client ID")
	f.StringVar(&c.userClaim, "oidc-user-claim", "sub", "claim of the ID token that contains the user name; for email, the server rejects tokens with email_verified=false")
	f.StringVar(&c.groupClaim, "oidc-groups-claim", "groups", "claim of the ID token that contains the groups of the user")
	f.StringVar(&c.issuerCA, "oidc-ca-file", "", "file with the CA certificates of the issuer (default: those of the system)")
	f.BoolVar(&c.verified, "oidc-require-verified-email", false, "if the user name is the claim email, also reject tokens without the claim email_verified")
}

func (c *identityConfig) defineTLS(f *pflag.FlagSet) {
	f.StringVar(&c.tlsCert, "tls-cert", "", "file with the certificate chain for HTTPS; the server reloads a changed file")
	f.StringVar(&c.tlsKey, "tls-key", "", "file with the private key of --tls-cert")
}

func (c *identityConfig) check(f *pflag.FlagSet) error {
	modes := []string{byHeader, byToken, byReview, byOIDC}
	if !slices.Contains(modes, c.by) {
		return usagef("--auth: %q is not one of %s", c.by, strings.Join(modes, ", "))
	}
	var misplaced []string
	for name, by := range identityFlags {
		if f.Changed(name) && by != c.by {
			misplaced = append(misplaced, name)
		}
	}
	if slices.Sort(misplaced); len(misplaced) > 0 {
		return usagef("--%s requires --auth %s", misplaced[0], identityFlags[misplaced[0]])
	}
	if err := c.administrators().Check(); err != nil {
		return usagef("--admins: %w", err)
	}
	if _, err := auth.ParseNetworks(c.proxies); err != nil {
		return usagef("--trusted-proxies: %w", err)
	}
	issuer, err := url.Parse(c.issuer)
	for _, host := range c.allowedHosts() {
		if strings.ContainsAny(host, "/@ ") {
			return usagef("--allowed-hosts: %q is not a host name, for example tasks.example.com", host)
		}
	}
	switch {
	case c.by == byToken && c.tokensFile == "":
		return usagef("--auth token requires --tokens-file")
	case c.by == byOIDC && (err != nil || issuer.Host == "" || issuer.Scheme != "https" && issuer.Scheme != "http"):
		return usagef("--oidc-issuer: %q is not the URL of an issuer", c.issuer)
	case c.by == byOIDC && c.clientID == "":
		return usagef("--auth oidc requires --oidc-client-id")
	case (c.tlsCert == "") != (c.tlsKey == ""):
		return usagef("--tls-cert and --tls-key must be set together")
	}
	return nil
}

func (c *identityConfig) administrators() task.Admins { return splitList(c.admins) }

func (c *identityConfig) allowedHosts() []string { return splitList(c.hosts) }

// trustedProxies returns the networks of --trusted-proxies, which check has checked.
func (c *identityConfig) trustedProxies() auth.Proxies {
	all, _ := auth.ParseNetworks(c.proxies)
	return all
}

// splitList splits text at commas. It removes blanks around the parts, and empty parts.
func splitList(text string) (list []string) {
	for one := range strings.SplitSeq(text, ",") {
		if one = strings.Trim(one, " \t"); one != "" {
			list = append(list, one)
		}
	}
	return list
}

// authenticator returns the authenticator for --auth, or nil if the server trusts
// X-User from every address.
func (c *identityConfig) authenticator(ctx context.Context, k8s kubernetes.Interface, logger *slog.Logger) (*auth.Authenticator, error) {
	method, err := c.method(ctx, k8s, logger)
	if method == nil || err != nil {
		return nil, err
	}
	return auth.New(method, c.administrators()), nil
}

func (c *identityConfig) method(ctx context.Context, k8s kubernetes.Interface, logger *slog.Logger) (auth.Method, error) {
	switch c.by {
	case byToken:
		tokens, err := auth.ReadStaticTokens(c.tokensFile, logger)
		if err != nil {
			return nil, fmt.Errorf("--tokens-file: %w", err)
		}
		return tokens, nil
	case byReview:
		return auth.NewTokenReview(k8s.AuthenticationV1().TokenReviews(), c.audience), nil
	case byOIDC:
		issuer, err := auth.NewOIDC(auth.OIDCConfig{Issuer: c.issuer, Audience: c.clientID, UserClaim: c.userClaim, GroupsClaim: c.groupClaim, CAFile: c.issuerCA, RequireVerified: c.verified})
		if err != nil {
			return nil, fmt.Errorf("--oidc-ca-file: %w", err)
		}
		if _, err := issuer.Verifier(ctx); err != nil {
			logger.Warn("the OpenID Connect issuer does not answer; requests with a token get 503 until a retry succeeds", "err", err)
		}
		return issuer, nil
	}
	trusted := c.trustedProxies()
	if len(trusted) == 0 {
		logger.Warn("clients are not authenticated: X-User is trusted from every address; set --trusted-proxies, or choose another --auth")
		if c.admins == "" {
			return nil, nil
		}
	}
	return auth.UserHeader{Trusted: trusted}, nil
}

// A lateAuthenticator authenticates subscribers of the embedded NATS. The embedded NATS
// starts before the authenticator exists; until then, every subscriber is rejected.
type lateAuthenticator struct {
	authenticator atomic.Pointer[auth.Authenticator]
}

// Set sets the authenticator.
func (a *lateAuthenticator) Set(who *auth.Authenticator) { a.authenticator.Store(who) }

// Identify returns the identity of the subscriber with this token.
func (a *lateAuthenticator) Identify(ctx context.Context, token string) (task.Identity, error) {
	who := a.authenticator.Load()
	if who == nil {
		return task.Identity{}, problem.New(problem.Starting, "the server is starting; try again")
	}
	return who.Identify(ctx, task.Credentials{Token: token})
}

// login returns the settings that a client needs to log in.
func (c *identityConfig) login() task.Login {
	return task.Login{By: c.by, Issuer: c.issuer, ClientID: c.clientID, Audience: c.audience}
}

// listen returns the listener for the addresses of a flag. The listener uses TLS if a
// certificate is configured.
func (c *identityConfig) listen(flag, addresses string, logger *slog.Logger) (*listeners, error) {
	if c.tlsCert == "" {
		return listen(flag, addresses, nil)
	}
	settings, err := auth.ServerTLSConfig(c.tlsCert, c.tlsKey, logger)
	if err != nil {
		return nil, fmt.Errorf("--tls-cert: %w", err)
	}
	return listen(flag, addresses, settings)
}
