package browser

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"net"
	"net/netip"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"k8s-cli/pkg/session"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
)

const (
	cookieName  = "k8s-cli-session"
	loginCookie = "k8s-cli-login"       // of the first login at the issuer; see loginCookies
	errorCookie = "k8s-cli-login-error" // why a login at the issuer failed, for the login page
	// hostPrefix makes browsers reject a cookie that another host of the domain sets (RFC
	// 6265bis, section 4.1.3.2). It requires HTTPS, so a server on a loopback address cannot use it.
	hostPrefix = "__Host-"

	requestedWith = "X-Requested-With"
	page          = "k8s-cli-ui" // value of requestedWith

	fetchSite   = "Sec-Fetch-Site"
	maxBody     = 32 << 10
	sessionKey  = "session" // key in Locals: session.Session of the request
	cookieKey   = "cookie"  // key in Locals: the value of its cookie
	loginError  = "login"   // key in Locals: why a login at the issuer failed
	callback    = "/session/oidc/callback"
	loginPage   = "/ui/login"
	landingPage = `<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0;url=%"><title>k8s-cli</title><p><a href="%">Continue</a></p>`
)

// loginCookies are the names of the cookies of logins at the issuer. A browser may log in in
// several tabs at once. The number is limited, because another site can begin logins.
var loginCookies = []string{loginCookie, loginCookie + "-1", loginCookie + "-2", loginCookie + "-3"}

// On a loopback address, a browser sends the cookies of a server to the servers at all other ports of the
// address, for example to a notebook of a task at a forwarded port (RFC 6265, section 8.5). A session
// there has a second half: a key that only the pages of the server can read, because browsers separate
// their storage by ports.
const (
	keyHeader = "X-Session-Key"
	keyParam  = "session_key" // in the query of a GET request, for links
)

var (
	errKey     = problem.New(problem.Unauthorized, keyHeader+": without HTTPS, a request by cookie needs the key that the response to the login contained; log in again")
	errOff     = problem.New(problem.NotFound, "this server has no sessions for browsers (--ui=off, or no sealing key)")
	errCookies = problem.New(problem.Unauthorized, "Cookie: the request must have exactly one session; delete the cookies of this site, and log in again")
	errForeign = problem.New(problem.Forbidden, requestedWith+": a request by cookie that changes something must come from a page of this server, with the header "+requestedWith+": "+page)
	errNone    = problem.New(problem.Unauthorized, "the request has no session; log in first")
	errBody    = problem.New(problem.Invalid, `the body must be {"user": NAME} or {"token": TOKEN}`)
)

// Sessions serves the sessions of browsers. A nil *Sessions has none.
type Sessions struct {
	Manager *session.Manager
	// Identify returns the identity of a request by its headers or its session.
	Identify func(c *fiber.Ctx) (task.Identity, error)
	Peer     func(c *fiber.Ctx) netip.Addr // returns the address of the client
	Login    task.Login
	Exec     bool // users may open sessions in their tasks
}

// Of returns the identity of the user of the session of a request. ok is false if the request
// has no session.
func (s *Sessions) Of(c *fiber.Ctx) (who task.Identity, ok bool, err error) {
	if s == nil || len(c.Request().Header.Peek(fiber.HeaderCookie)) == 0 {
		return who, false, nil
	}
	value, err := s.cookie(c, cookieName)
	if value == "" || err != nil {
		return who, false, err
	}
	if err := fromPage(c); err != nil {
		return who, false, err
	}
	one, who, err := s.Manager.Identify(c.UserContext(), value, s.Peer(c))
	if err == nil && !hasKey(c, one) {
		err = errKey
	}
	if err == nil {
		c.Locals(sessionKey, one)
		c.Locals(cookieKey, value)
	}
	return who, err == nil, err
}

// Recheck returns a function that checks the session of a request again, after the request. Recheck
// returns nil if Of has not identified the user of the request by a session.
func (s *Sessions) Recheck(c *fiber.Ctx) func(context.Context) error {
	value, ok := c.Locals(cookieKey).(string)
	if !ok {
		return nil
	}
	from := s.Peer(c)
	return func(ctx context.Context) error {
		_, _, err := s.Manager.Identify(ctx, value, from)
		return err
	}
}

// Stream returns the context of a stream, which ends with the session of the request. The caller
// calls closed when the stream is over.
func (s *Sessions) Stream(c *fiber.Ctx, parent context.Context) (ctx context.Context, closed func()) {
	if one, ok := c.Locals(sessionKey).(session.Session); ok {
		return s.Manager.Stream(parent, one)
	}
	return context.WithCancel(parent)
}

// newKey returns the key of a new session, and its hash. Both are empty over HTTPS.
func newKey(c *fiber.Ctx) (key, hash string) {
	if isSecure(c) {
		return "", ""
	}
	key = rand.Text()
	return key, hashOf(key)
}

func hashOf(key string) string {
	sum := sha256.Sum256([]byte(key))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// hasKey reports whether a request has the key of its session. A session that has a key needs it with
// every Host header, because a thief of the cookie chooses the header.
func hasKey(c *fiber.Ctx, one session.Session) bool {
	if one.KeyHash == "" {
		return isSecure(c)
	}
	key := c.Get(keyHeader)
	if key == "" && c.Method() == fiber.MethodGet {
		key = c.Query(keyParam)
	}
	return subtle.ConstantTimeCompare([]byte(hashOf(key)), []byte(one.KeyHash)) == 1
}

// cookie returns the value of a cookie, or "" if the request has none. Over HTTPS, only the name
// with the prefix counts, because another host of the domain could set the other one.
func (s *Sessions) cookie(c *fiber.Ctx, name string) (value string, err error) {
	if isSecure(c) {
		name = hostPrefix + name
	}
	count := 0
	c.Request().Header.VisitAllCookie(func(key, v []byte) {
		if string(key) == name {
			value = string(v)
			count++
		}
	})
	if count > 1 {
		return "", errCookies
	}
	return value, nil
}

func (s *Sessions) setCookie(c *fiber.Ctx, name, value string, until time.Time, sameSite string) {
	secure := isSecure(c)
	if secure {
		name = hostPrefix + name
	}
	// The expiry of a removed cookie is in the past.
	c.Cookie(&fiber.Cookie{Name: name, Value: value, Path: "/", Expires: until, HTTPOnly: true, Secure: secure, SameSite: sameSite})
}

// isSecure reports whether the browser uses HTTPS, perhaps by a proxy. Only on a loopback
// address browsers can work without.
func isSecure(c *fiber.Ctx) bool {
	host := string(c.Request().Header.Host())
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.Trim(host, "[]"))
	address, err := netip.ParseAddr(host)
	return c.Context().IsTLS() || host != "localhost" && (err != nil || !address.Unmap().IsLoopback())
}

// fromPage returns an error if a page of another origin may have made the browser send the
// request. A request that changes something also needs a header that only pages of the same
// origin can set.
func fromPage(c *fiber.Ctx) error {
	site := c.Get(fetchSite)
	if site != "" && site != "same-origin" && site != "none" {
		return errForeign
	}
	if method := c.Method(); method == fiber.MethodGet || method == fiber.MethodHead {
		return nil
	}
	if c.Get(requestedWith) != page || site == "none" {
		return errForeign
	}
	for _, origin := range c.Request().Header.PeekAll(fiber.HeaderOrigin) {
		_, from, ok := strings.Cut(string(origin), "://")
		if site == "" && (!ok || !strings.EqualFold(from, string(c.Request().Header.Host()))) {
			return errForeign
		}
	}
	return nil
}

// A description is the body of GET /session.
type description struct {
	User     string     `json:"user,omitempty"`
	Groups   []string   `json:"groups,omitempty"`
	Admin    bool       `json:"admin,omitempty"`
	AllUsers bool       `json:"all_users,omitempty"`
	Exec     bool       `json:"exec,omitempty"` // the user may open sessions in tasks
	By       string     `json:"by,omitempty"`   // session, or proxy if the headers of the request identify the user
	Expires  *time.Time `json:"expires_at,omitempty"`
	Login    loginKinds `json:"login"`

	Key        string `json:"session_key,omitempty"` // of a new session without HTTPS
	LoginError string `json:"login_error,omitempty"` // why the login at the issuer failed from which the browser comes
}

type loginKinds struct {
	task.Login

	Methods []string `json:"methods"`
}

// Show serves GET /session: the user, if there is one, and how to log in.
func (s *Sessions) Show(c *fiber.Ctx) error {
	if s == nil {
		return errOff
	}
	d := description{Login: s.kinds()}
	if who, err := s.Identify(c); err == nil {
		d = s.describe(c, who)
	}
	d.LoginError = s.loginError(c)
	return c.JSON(d)
}

// loginError returns why the login failed from which the browser comes, once. The text is in a sealed
// cookie and not in the address: an address could show any text as a message of the server.
func (s *Sessions) loginError(c *fiber.Ctx) string {
	value, err := s.cookie(c, errorCookie)
	if value == "" || err != nil {
		return ""
	}
	s.setCookie(c, errorCookie, "", time.Unix(1, 0), fiber.CookieSameSiteLaxMode)
	return s.Manager.OpenText(value)
}

func (s *Sessions) kinds() loginKinds { return loginKinds{s.Login, s.Manager.Methods()} }

func (s *Sessions) describe(c *fiber.Ctx, who task.Identity) description {
	d := description{User: who.User, Groups: who.Groups, Admin: who.Admin, AllUsers: who.CanListAllUsers, Exec: s.Exec, By: "proxy", Login: s.kinds()}
	if one, ok := c.Locals(sessionKey).(session.Session); ok {
		d.By, d.Expires = "session", &one.Expires
	}
	return d
}

// Begin serves POST /session. A session always has a new id, whatever cookie the request has.
func (s *Sessions) Begin(c *fiber.Ctx) error {
	if s == nil {
		return errOff
	}
	if err := fromPage(c); err != nil {
		return err
	}
	var given session.Credentials
	body := c.Request().Body() // as sent: c.Body would decompress
	if len(body) > maxBody || json.Unmarshal(body, &given) != nil {
		return errBody
	}
	key, hash := newKey(c)
	given.KeyHash = hash
	one, value, err := s.Manager.Begin(c.UserContext(), given, s.Peer(c))
	if err != nil {
		return err
	}
	_, who, err := s.Manager.Identify(c.UserContext(), value, s.Peer(c))
	if err != nil {
		return err
	}
	s.setCookie(c, cookieName, value, one.Expires, fiber.CookieSameSiteStrictMode)
	c.Locals(sessionKey, one)
	d := s.describe(c, who)
	d.Key = key
	return c.JSON(d)
}

// End serves DELETE /session: it ends the session of the request, or with all=true all sessions
// of the user, on all pods. The handler comes after the authentication of the request.
func (s *Sessions) End(c *fiber.Ctx, all bool) error {
	if s == nil {
		return errOff
	}
	one, ok := c.Locals(sessionKey).(session.Session)
	if !ok { // or the header of the authentication method counts
		return errNone
	}
	if err := s.Manager.End(c.UserContext(), one, all); err != nil {
		return err
	}
	s.setCookie(c, cookieName, "", time.Unix(1, 0), fiber.CookieSameSiteStrictMode)
	return c.JSON(fiber.Map{"status": "ended"})
}

// Begun returns the user whose session a request has begun, and why the login failed if the
// response does not say so by its status.
func Begun(c *fiber.Ctx) (user string, err error) {
	if one, ok := c.Locals(sessionKey).(session.Session); ok {
		user = one.User
	}
	err, _ = c.Locals(loginError).(error)
	return user, err
}

// StartOIDC serves GET /session/oidc/start: it leads the browser to the issuer.
func (s *Sessions) StartOIDC(c *fiber.Ctx) error {
	if s == nil {
		return errOff
	}
	scheme := "http://"
	if isSecure(c) {
		scheme = "https://"
	}
	address, cookie, err := s.Manager.StartOIDC(c.UserContext(), scheme+string(c.Request().Header.Host())+callback, c.Query("next"))
	switch {
	case err != nil && s.Manager.OIDC != nil:
		return c.Redirect(s.failedLogin(c, err), fiber.StatusSeeOther)
	case err != nil:
		return err
	}
	s.setCookie(c, s.freeLogin(c), cookie, time.Now().Add(session.LoginTime), fiber.CookieSameSiteLaxMode)
	return c.Redirect(address, fiber.StatusSeeOther)
}

// freeLogin returns the name of the cookie of a new login. If the browser has begun too many
// logins, the new one replaces the first one.
func (s *Sessions) freeLogin(c *fiber.Ctx) string {
	for _, name := range loginCookies {
		if value, err := s.cookie(c, name); value == "" && err == nil {
			return name
		}
	}
	return loginCookie
}

// pendingLogin returns the cookie of the login with a state, and the names of the cookies to
// remove: if the browser has not begun this login, the cookies of all logins.
func (s *Sessions) pendingLogin(c *fiber.Ctx, state string) (value string, remove []string, err error) {
	for _, name := range loginCookies {
		if value, err = s.cookie(c, name); err == nil && s.Manager.IsLogin(value, state) {
			return value, []string{name}, nil
		}
	}
	return "", loginCookies, err
}

// failedLogin returns the address of the login page, which shows the error.
func (s *Sessions) failedLogin(c *fiber.Ctx, err error) string {
	s.setCookie(c, errorCookie, s.Manager.SealText(err.Error()), time.Now().Add(time.Minute), fiber.CookieSameSiteLaxMode)
	return loginPage
}

// FinishOIDC serves the page to which the issuer leads the browser back. The response is a page
// and not a redirect: after a redirect that began at the issuer, the browser would not send the
// cookie of the session.
func (s *Sessions) FinishOIDC(c *fiber.Ctx) error {
	if s == nil {
		return errOff
	}
	given := session.Callback{State: c.Query("state"), Code: c.Query("code"), Error: c.Query("error"), Description: c.Query("error_description")}
	key, hash := newKey(c)
	given.KeyHash = hash
	cookie, finished, err := s.pendingLogin(c, given.State)
	var one session.Session
	var value, next string
	if err == nil {
		one, value, next, err = s.Manager.FinishOIDC(c.UserContext(), cookie, given, s.Peer(c))
	}
	for _, name := range finished {
		s.setCookie(c, name, "", time.Unix(1, 0), fiber.CookieSameSiteLaxMode)
	}
	if err != nil {
		c.Locals(loginError, err)
		next = s.failedLogin(c, err)
	} else {
		s.setCookie(c, cookieName, value, one.Expires, fiber.CookieSameSiteStrictMode)
		c.Locals(sessionKey, one)
		if key != "" { // browsers do not send the part after #
			next, _, _ = strings.Cut(next, "#")
			next += "#" + keyParam + "=" + key
		}
	}
	c.Set(fiber.HeaderContentType, fiber.MIMETextHTMLCharsetUTF8)
	c.Set(fiber.HeaderContentSecurityPolicy, "default-src 'none'; frame-ancestors 'none'; base-uri 'none'")
	c.Set(fiber.HeaderReferrerPolicy, "no-referrer")
	return c.SendString(strings.ReplaceAll(landingPage, "%", strings.ReplaceAll(next, "&", "&amp;")))
}
