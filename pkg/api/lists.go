package api

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/utils"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
	"k8s-cli/pkg/task/query"
)

// listOf parses the parameters of a list of tasks. Only callers who may list the tasks of all
// users may name another user.
func (a *callers) listOf(c *fiber.Ctx, user string) (query.List, error) {
	q, err := a.parseList(c)
	if err != nil {
		return query.List{}, err
	}
	return a.list(c, q, user)
}

// list returns the request of a user at this time, if the user may make it.
func (a *callers) list(c *fiber.Ctx, q query.Tasks, user string) (query.List, error) {
	switch {
	case q.AllUsers && !a.everyUser(c):
		return query.List{}, errAllUsers
	case q.User != "" && q.User != user && !a.everyUser(c):
		return query.List{}, errOtherUser
	}
	return q.List(user, time.Now())
}

// stopOf parses the parameters of a stop of several tasks, which are filters of a list.
func (a *callers) stopOf(c *fiber.Ctx, user string) (task.StopAll, error) {
	q, err := query.ParseStop(queryOfURL(c))
	if err != nil {
		return task.StopAll{}, err
	}
	l, err := a.list(c, q, user)
	if err != nil {
		return task.StopAll{}, err
	}
	stop := task.StopAll{User: cmp.Or(q.User, user), Group: q.Group}
	if stop.User != user {
		c.Locals(ownerKey, stop.User)
	}
	if _, stop.AllUsers = l.Scope(); stop.AllUsers && stop.Group != "" {
		return task.StopAll{}, problem.New(problem.Invalid, "group: a group belongs to one user; omit all_users")
	}
	f := l.Filter()
	if f.Group = ""; !f.IsZero() {
		filters := q.Values().Encode()
		stop.Filter = &f
		c.Locals(aboutKey, filters[:min(len(filters), maxAuditedFilters)])
	}
	return stop, nil
}

// queryOfURL returns the parameters in the URL of a request.
func queryOfURL(c *fiber.Ctx) url.Values {
	values := url.Values{}
	c.Context().QueryArgs().VisitAll(func(name, value []byte) { values.Add(string(name), string(value)) })
	return values
}

const (
	maxAuditedFilters = 512 // bytes of the filters of a stop in the audit log

	maxQueryBytes = 1 << 20 // of the queries that are parsed already
	queryOverhead = 512     // bytes of a parsed query besides its text
)

// parseList parses the query of a list of tasks. Clients repeat a query; the same text is parsed
// once.
func (a *callers) parseList(c *fiber.Ctx) (query.Tasks, error) {
	raw := c.Context().URI().QueryString()
	if q, ok := a.queries.Get(utils.UnsafeString(raw)); ok {
		return q, nil
	}
	q, err := query.Parse(queryOfURL(c))
	if err == nil {
		a.queries.Set(string(raw), q, len(raw)+queryOverhead)
	}
	return q, err
}

var errOtherUser = problem.New(problem.AdministratorRequired, "user: only administrators of this server (--admins) may name another user; omit it to get your own")

// known reports whether the client has the response with an ETag.
func known(c *fiber.Ctx) func(etag string) bool {
	return func(etag string) bool { return matches(c.Get(fiber.HeaderIfNoneMatch), etag) }
}

// sendPage writes one page of a list, with the number of all objects and a link to the next page.
func sendPage(c *fiber.Ctx, a query.Answer) error {
	c.Set(totalHeader, strconv.Itoa(a.Total))
	if a.NextPage != "" {
		c.Set(fiber.HeaderLink, "<"+c.Path()+"?"+a.NextPage+`>; rel="next"`)
	}
	return send(c, a.Answer, nil)
}

// queryOf parses the filters of a list. phases lists the valid phases of the objects.
func (a *callers) queryOf(c *fiber.Ctx, phases []task.Phase) (q task.Query, err error) {
	if q.AllUsers, err = a.allUsers(c); err != nil {
		return q, err
	}
	q.Name, q.Phase = c.Query("name"), task.Phase(c.Query("status"))
	if q.Phase != "" && !slices.Contains(phases, q.Phase) {
		return q, problem.New(problem.Invalid, fmt.Sprintf("status: %q is not one of %v", q.Phase, phases))
	}
	if limit := c.Query("limit"); limit != "" {
		if q.Limit, err = strconv.Atoi(limit); err != nil || q.Limit < 1 {
			return q, problem.New(problem.Invalid, fmt.Sprintf("limit: %q is not a whole number of at least 1", limit))
		}
	}
	if cursor := c.Query("cursor"); cursor != "" {
		if q.Before, err = strconv.ParseUint(cursor, 10, 64); err != nil || q.Before < 1 {
			return q, problem.New(problem.Invalid, fmt.Sprintf("cursor: %q is not a cursor of this server", cursor))
		}
	}
	return q, nil
}
