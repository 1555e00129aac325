package status

import (
	"fmt"
	"hash/maphash"
	"strconv"

	"k8s-cli/pkg/cache"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/query"
)

// Tasks answers with one page of a list. If known reports that the caller has the ETag of the
// answer, the answer may lack its body.
func (r Read) Tasks(l query.List, known func(etag string) bool) query.Answer {
	version := r.Store.TaskVersion(l) // before the answers: if they are newer, the next version differs
	request := l.CacheKey()
	a, ok := r.viewer.cached(request, version, known)
	if !ok {
		body, p := r.tasks(l)
		a = r.viewer.cache(request, version, body, p, l.NextPage(p.Next))
	}
	a.Stale = r.Stale
	return a
}

func (r Read) tasks(l query.List) ([]byte, query.Page) {
	if l.View == query.Row {
		rows, p := r.Store.TaskRows(l)
		return encodeRows(rows), p
	}
	var bodies [][]byte
	p := r.Store.TaskAnswers(l, r.viewer.taskCache.get, func(a cache.Answer) {
		body := a.Encoded
		if body == nil {
			body = r.viewer.encodeTask(a)
		}
		bodies = append(bodies, body)
	})
	return listed("tasks", bodies), p
}

// Summary answers with counts of the tasks of a user, or of all users.
func (r Read) Summary(user string, all bool, known func(etag string) bool) task.Answer {
	if all {
		user = ""
	}
	version := r.Store.SummaryVersion(user, all)
	request := fmt.Sprintf("summary %t %q", all, user)
	a, ok := r.viewer.cached(request, version, known)
	if !ok {
		a = r.viewer.cache(request, version, encode(r.Store.Summary(user, all)), query.Page{}, "")
	}
	a.Stale = r.Stale
	return a.Answer
}

// Capacity answers with what the machines of the cluster offer and what tasks have requested.
func (r Read) Capacity(known func(etag string) bool) task.Answer {
	const request = "capacity"
	version := r.Store.CapacityVersion()
	a, ok := r.viewer.cached(request, version, known)
	if !ok {
		a = r.viewer.cache(request, version, encode(r.Store.Capacity()), query.Page{}, "")
	}
	a.Stale = r.Stale
	return a.Answer
}

// cached returns the answer to a request from the cache. ok is false if the cache does not have
// the answer, or lacks the body that the caller needs.
func (v *Viewer) cached(request string, version [2]uint64, known func(etag string) bool) (a query.Answer, ok bool) {
	a, ok = v.listCache.get(request, version)
	return a, ok && (a.Body != nil || known(a.ETag))
}

// cache returns the answer with a body, and stores the answer in the cache. nextPage holds the
// parameters of the next page.
func (v *Viewer) cache(request string, version [2]uint64, body []byte, p query.Page, nextPage string) query.Answer {
	a := query.Answer{Answer: tagged(v.boot, body, ""), Total: p.Total, NextPage: nextPage}
	a.Next = p.Next
	if p != (query.Page{}) { // a client with the tag knows the headers, too
		a.ETag = etag(maphash.String(v.boot, a.ETag+strconv.Itoa(p.Total)+p.Next))
	}
	v.listCache.put(request, version, a)
	return a
}
