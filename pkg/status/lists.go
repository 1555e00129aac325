package status

import (
	"context"
	"fmt"
	"hash/maphash"
	"strconv"

	"k8s-cli/pkg/cache"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/query"
)

// Tasks answers with one page of a list. If known reports that the caller has the ETag of the
// answer, the answer may lack its body.
func (v *Viewer) Tasks(ctx context.Context, l query.List, known func(etag string) bool) query.Answer {
	stale := v.stale(ctx)
	version := v.projection.TaskVersion(l) // before the answers: if they are newer, the next version differs
	request := l.CacheKey()
	a, ok := v.cached(request, version, known)
	if !ok {
		body, p := v.tasks(l)
		a = v.store(request, version, body, p, l.NextPage(p.Next))
	}
	a.Stale = stale
	return a
}

func (v *Viewer) tasks(l query.List) ([]byte, query.Page) {
	if l.View == query.Row {
		rows, p := v.projection.TaskRows(l)
		return encodeRows(rows), p
	}
	var bodies [][]byte
	p := v.projection.TaskAnswers(l, v.taskCache.get, func(a cache.Answer) { bodies = append(bodies, v.encodeTask(a)) })
	return listed("tasks", bodies), p
}

// Summary answers with counts of the tasks of a user, or of all users.
func (v *Viewer) Summary(ctx context.Context, user string, all bool, known func(etag string) bool) task.Answer {
	stale := v.stale(ctx)
	if all {
		user = ""
	}
	version := v.projection.SummaryVersion(user, all)
	request := fmt.Sprintf("summary %t %q", all, user)
	a, ok := v.cached(request, version, known)
	if !ok {
		a = v.store(request, version, encode(v.projection.Summary(user, all)), query.Page{}, "")
	}
	a.Stale = stale
	return a.Answer
}

// Capacity answers with what the machines of the cluster offer and what tasks have requested.
func (v *Viewer) Capacity(ctx context.Context, known func(etag string) bool) task.Answer {
	stale := v.stale(ctx)
	const request = "capacity"
	version := v.projection.CapacityVersion()
	a, ok := v.cached(request, version, known)
	if !ok {
		a = v.store(request, version, encode(v.projection.Capacity()), query.Page{}, "")
	}
	a.Stale = stale
	return a.Answer
}

// cached returns the answer to a request from the cache. ok is false if the cache does not have
// the answer, or lacks the body that the caller needs.
func (v *Viewer) cached(request string, version [2]uint64, known func(etag string) bool) (a query.Answer, ok bool) {
	a, ok = v.listCache.get(request, version)
	return a, ok && (a.Body != nil || known(a.ETag))
}

// store returns the answer with a body, and stores the answer in the cache. nextPage holds the
// parameters of the next page.
func (v *Viewer) store(request string, version [2]uint64, body []byte, p query.Page, nextPage string) query.Answer {
	a := query.Answer{Answer: v.answer(body, ""), Total: p.Total, NextPage: nextPage}
	a.Next = p.Next
	if p != (query.Page{}) { // a client with the tag knows the headers, too
		a.ETag = etag(maphash.String(v.boot, a.ETag+strconv.Itoa(p.Total)+p.Next))
	}
	v.listCache.put(request, version, a)
	return a
}
