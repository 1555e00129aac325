package api

import (
	"bytes"
	"context"
	"net/netip"

	"github.com/gofiber/fiber/v2"

	"k8s-cli/pkg/api/archive"
	"k8s-cli/pkg/api/browser"
	"k8s-cli/pkg/bounded"
	"k8s-cli/pkg/status"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
	"k8s-cli/pkg/task/query"
)

// An Authenticator identifies the sender of a request. The error is of kind
// problem.Unauthorized, or, if the authenticator cannot check the request at present, of
// kind problem.LimitReached or problem.Unavailable.
type Authenticator interface {
	ReadsUserHeader() bool // whether the authenticator reads X-User
	Identify(ctx context.Context, c task.Credentials) (task.Identity, error)
}

const (
	groupsHeader = "X-Groups"
	filesPath    = "/tasks/:id/files/:sum"
	adminKey     = "admin" // key in Locals: task.Identity of a user who may list the tasks of all users
)

// callers identifies the sender of a request and the user in whose name the request is
// handled.
type callers struct {
	auth     Authenticator     // nil means that X-User is trusted
	sessions *browser.Sessions // of browsers; may be nil
	viewer   *status.Viewer
	hosts    map[string]bool                                      // host names of the server besides localhost
	queries  *bounded.Map[string, query.Tasks]                    // parsed queries of GET /tasks, by their text
	client   func(peer netip.Addr, forwarded []string) netip.Addr // see Config.Client
}

// peer returns the address of the client of a request.
func (a *callers) peer(c *fiber.Ctx) netip.Addr {
	peer, _ := netip.AddrFromSlice(c.Context().RemoteIP())
	if a.client == nil {
		return peer
	}
	var forwarded []string
	for _, value := range c.Request().Header.PeekAll(fiber.HeaderXForwardedFor) {
		forwarded = append(forwarded, string(value))
	}
	return a.client(peer, forwarded)
}

// authenticated calls handle with the user of an authenticated request, after the body has
// arrived, and rejects other requests.
func (a *callers) authenticated(handle func(c *fiber.Ctx, user string) error) fiber.Handler {
	return a.authenticatedStream(func(c *fiber.Ctx, user string) error {
		if err := receiveAll(c); err != nil {
			return err
		}
		return handle(c, user)
	})
}

// authenticatedStream calls handle with the user of an authenticated request and rejects other
// requests. handle reads the body as it arrives.
func (a *callers) authenticatedStream(handle func(c *fiber.Ctx, user string) error) fiber.Handler {
	return func(c *fiber.Ctx) error {
		who, err := a.identity(c)
		if err != nil {
			return err
		}
		if a.auth != nil && who.CanListAllUsers {
			c.Locals(adminKey, who)
		}
		return handle(c, who.User)
	}
}

// identity returns the identity of the sender. The header that the authentication method reads
// takes precedence over the session of a browser. The strings remain valid after the request.
func (a *callers) identity(c *fiber.Ctx) (who task.Identity, err error) {
	header := fiber.HeaderAuthorization
	if a.auth == nil || a.auth.ReadsUserHeader() {
		header = userHeader
	}
	if len(c.Request().Header.Peek(header)) == 0 {
		if who, ok, err := a.sessions.Of(c); ok || err != nil {
			return who, err
		}
	}
	if a.auth == nil {
		who.User, err = userOf(c)
		who.CanListAllUsers = true
		return who, err
	}
	caller, err := a.credentials(c)
	if err != nil {
		return who, err
	}
	return a.auth.Identify(c.UserContext(), caller)
}

// credentials returns the credentials in the headers of a request.
func (a *callers) credentials(c *fiber.Ctx) (caller task.Credentials, err error) {
	if a.auth.ReadsUserHeader() { // from the proxy, whose own address counts
		caller.Peer, _ = netip.AddrFromSlice(c.Context().RemoteIP())
		caller.User, err = userOf(c)
		caller.Groups = string(bytes.Join(c.Request().Header.PeekAll(groupsHeader), []byte(",")))
	} else {
		caller.Peer = a.peer(c)
		caller.Token, err = bearerOf(c)
	}
	return caller, err
}

// bearerOf returns the bearer token of a request or "".
func bearerOf(c *fiber.Ctx) (string, error) {
	values := c.Request().Header.PeekAll(fiber.HeaderAuthorization)
	if len(values) == 0 {
		return "", nil
	}
	scheme, token, _ := bytes.Cut(bytes.TrimSpace(values[0]), []byte(" "))
	if len(values) > 1 || !bytes.EqualFold(scheme, []byte("Bearer")) {
		return "", problem.New(problem.Unauthorized, "Authorization: send exactly one header of the form Bearer TOKEN")
	}
	return string(bytes.TrimSpace(token)), nil
}

// challenge returns the value of WWW-Authenticate.
func (a *callers) challenge(c *fiber.Ctx) string {
	files := c.Route().Path == filesPath || c.Route().Path == archive.OutputPath && c.Method() == fiber.MethodPut
	switch {
	case !files && (a.auth == nil || a.auth.ReadsUserHeader()):
		return userHeader
	case len(c.Request().Header.Peek(fiber.HeaderAuthorization)) > 0:
		return `Bearer realm="k8s-cli", error="invalid_token"`
	}
	return `Bearer realm="k8s-cli"`
}

// everyUser reports whether the sender may list the tasks of all users.
func (a *callers) everyUser(c *fiber.Ctx) bool {
	return a.auth == nil || c.Locals(adminKey) != nil
}

// allUsers returns the query parameter all_users. If the server has administrators, only
// administrators may set the parameter.
func (a *callers) allUsers(c *fiber.Ctx) (bool, error) {
	all, err := flag(c, "all_users")
	if err == nil && all && !a.everyUser(c) {
		return false, errAllUsers
	}
	return all, err
}

var errAllUsers = problem.New(problem.AdministratorRequired, "all_users: only administrators of this server (--admins) may set it; omit it to get your own")

// readAs begins the reads of a request for a task or volume, and returns the user in whose name
// the request is handled: the owner if the sender is an administrator, or else the sender.
func (a *callers) readAs(c *fiber.Ctx, user string, kind task.Kind, id string) (status.Read, string) {
	read := a.viewer.Read(c.UserContext())
	if !a.isAdmin(c) {
		return read, user
	}
	if owner, ok := read.Store.Owner(task.Key{Kind: kind, ID: id}); ok {
		c.Locals(ownerKey, owner)
		return read, owner
	}
	return read, user
}

// ownerOf returns the user of readAs for a request that reads nothing else.
func (a *callers) ownerOf(c *fiber.Ctx, user string, kind task.Kind, id string) string {
	if a.isAdmin(c) {
		_, user = a.readAs(c, user, kind, id)
	}
	return user
}

// isAdmin reports whether the sender is an administrator.
func (a *callers) isAdmin(c *fiber.Ctx) bool {
	if a.auth == nil {
		return false
	}
	who, ok := c.Locals(adminKey).(task.Identity)
	return ok && who.Admin
}
