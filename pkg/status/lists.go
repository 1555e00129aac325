package status

import (
	"context"
	"fmt"
	"hash/maphash"
	"strconv"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/overview"
	"k8s-cli/pkg/task/query"
)

// A ListProjection answers for lists and counts of the tasks in the store.
type ListProjection interface {
	TaskAnswers(l query.List) (bodies [][]byte, p query.Page)
	TaskRows(l query.List) (rows []overview.Row, p query.Page)
	TaskVersion(l query.List) [2]uint64 // changes whenever TaskAnswers or TaskRows may change
	Summary(user string, all bool) overview.Summary
	SummaryVersion(user string, all bool) [2]uint64
}

// A CapacityProjection answers for the machines of the cluster.
type CapacityProjection interface {
	Capacity() overview.Capacity
	CapacityVersion() [2]uint64
}

// Tasks answers with one page of a list. If known reports that the caller has the ETag of the
// answer, the answer may lack its body.
func (v *Viewer) Tasks(ctx context.Context, l query.List, known func(etag string) bool) query.Answer {
	stale := v.stale(ctx)
	version := v.projection.TaskVersion(l) // before the answers: if they are newer, the next version differs
	return v.cached(l.CacheKey(), version, stale, known, func() ([]byte, query.Page) {
		if l.View == query.Row {
			rows, p := v.projection.TaskRows(l)
			return encodeRows(rows), p
		}
		bodies, p := v.projection.TaskAnswers(l)
		return listed("tasks", bodies), p
	}, l.NextPage)
}

// Summary answers with counts of the tasks of a user, or of all users.
func (v *Viewer) Summary(ctx context.Context, user string, all bool, known func(etag string) bool) task.Answer {
	stale := v.stale(ctx)
	if all {
		user = ""
	}
	version := v.projection.SummaryVersion(user, all)
	return v.cached(fmt.Sprintf("summary %t %q", all, user), version, stale, known, func() ([]byte, query.Page) {
		return encode(v.projection.Summary(user, all)), query.Page{}
	}, nil).Answer
}

// Capacity answers with what the machines of the cluster offer and what tasks have requested.
func (v *Viewer) Capacity(ctx context.Context, known func(etag string) bool) task.Answer {
	stale := v.stale(ctx)
	return v.cached("capacity", v.projection.CapacityVersion(), stale, known, func() ([]byte, query.Page) {
		return encode(v.projection.Capacity()), query.Page{}
	}, nil).Answer
}

// cached returns the answer to a request from the cache, or makes the answer. nextPage returns
// the parameters of the page at a cursor.
func (v *Viewer) cached(request string, version [2]uint64, stale string, known func(etag string) bool, render func() ([]byte, query.Page), nextPage func(cursor string) string) query.Answer {
	a, ok := v.listCache.get(request, version)
	if !ok || a.Body == nil && !known(a.ETag) {
		body, p := render()
		a = query.Answer{Answer: v.answer(body, ""), Total: p.Total}
		if a.Next = p.Next; a.Next != "" {
			a.NextPage = nextPage(a.Next)
		}
		if p != (query.Page{}) { // a client with the tag knows the headers, too
			a.ETag = etag(maphash.String(v.boot, a.ETag+strconv.Itoa(p.Total)+p.Next))
		}
		v.listCache.put(request, version, a)
	}
	a.Stale = stale
	return a
}
