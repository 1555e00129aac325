package main

import (
	"bufio"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// isolationAttacks request objects of another user. The answer must be the answer for an
// object that does not exist.
func isolationAttacks() (all []attack) {
	for _, at := range []mode{byHeader, byToken} {
		for _, r := range strangersRequests() {
			all = append(all, twin(at, r))
		}
		all = append(all, strangersLists(at)...)
		all = append(all, strangersRepeats(at)...)
		all = append(all,
			control(ofAs(string(at)+": its owner's look", at, "ann", request{method: "GET", path: "/tasks/{task}"}, showing(works, mark))),
			control(ofAs(string(at)+": its owner's file", at, "ann", request{method: "GET", path: "/uploads/{sum}"}, showing(works, mark))),
			scene(string(at)+": another's events, live", "only one's own", func(ctx context.Context, w *environment) error { return liveEvents(ctx, w, at) }),
		)
	}
	for _, r := range []request{
		{method: "GET", path: "/tasks?all_users=true"},
		{method: "GET", path: "/tasks?all_users=1"},
		{method: "GET", path: "/tasks?all_users=True"},
		{method: "GET", path: "/volumes?all_users=true"},
		{method: "GET", path: "/events?all_users=true"},
		{method: "GET", path: "/events?all_users=true", header: []string{"Accept", "text/event-stream"}},
		{method: "POST", path: "/tasks/stop?all_users=true"},
		{method: "GET", path: "/tasks?all_users=true&limit=1"},
		{method: "HEAD", path: "/tasks?all_users=true"},
		{method: "GET", path: "/tasks?user=ann"},
		{method: "GET", path: "/tasks?user=ann&view=row"},
		{method: "HEAD", path: "/tasks?user=ann&all_users=false"},
		{method: "GET", path: "/summary?all_users=true"},
	} {
		all = append(all, ofAs(fmt.Sprintf("token: all users: %s %s %s", r.method, r.path, strings.Join(r.header, " ")), byToken, "bob", r, forbidden))
	}
	return append(all, control(ofAs("an administrator's list", byToken, "root", request{method: "GET", path: "/tasks?all_users=true"}, showing(works, mark))))
}

// strangersRequests are requests for one object of ann.
func strangersRequests() (all []request) {
	for _, route := range routes {
		method, path, _ := strings.Cut(route, " ")
		if strings.Contains(path, "{") && method != "PUT" {
			all = append(all, request{method: method, path: path})
		}
		if strings.Contains(path, "{") && method == "GET" {
			all = append(all, request{method: "HEAD", path: path})
		}
	}
	for _, path := range []string{"/tasks/{task}", "/tasks/{task}/spec", "/tasks/{task}/events", "/volumes/{volume}", "/volumes/{volume}/events", "/uploads/{sum}"} {
		all = append(all, request{method: "GET", path: path, header: []string{"If-None-Match", "*"}}, request{method: "GET", path: path, header: []string{"If-None-Match", "{etag}"}})
	}
	for _, path := range []string{"/tasks/{task}/events", "/volumes/{volume}/events"} {
		all = append(all,
			request{method: "GET", path: path, header: []string{"Accept", "text/event-stream"}},
			request{method: "GET", path: path, header: []string{"Accept", "text/event-stream", "Last-Event-ID", "0.0"}},
			request{method: "GET", path: path, header: []string{"Accept", "text/event-stream", "Last-Event-ID", "{event}"}},
			request{method: "GET", path: path + "?last_event_id={event}"}, request{method: "GET", path: path + "?limit=1"}, request{method: "GET", path: path + "?all_users=true"},
		)
	}
	loot := func(name string) string { return fmt.Sprintf(`{"run":"cat /loot/*","volumes":{"/loot":%q}}`, name) }
	return append(all,
		request{method: "GET", path: "/tasks/{task}/logs", header: []string{"X-Log-Resume", "start"}}, request{method: "GET", path: "/tasks/{task}/logs?follow=false&tail=1"},
		request{method: "GET", path: "/tasks/{task}/logs?node=0"}, request{method: "GET", path: "/tasks/{task}/logs?node=99"}, request{method: "GET", path: "/tasks/{task}?all_users=true"},
		request{method: "DELETE", path: "/volumes/{volume}?force=true"}, request{method: "POST", path: "/tasks/{task}/stop?force=true"}, request{method: "POST", path: "/tasks/{task}/stop?all_users=false"},
		request{method: "GET", path: "/tasks/{task}", header: []string{"X-Groups", "ops"}}, request{method: "GET", path: "/tasks/{task}", header: []string{"X-HTTP-Method-Override", "DELETE"}},
		request{method: "GET", path: "/tasks/{task}/files/{sum}", header: []string{"Authorization", "Bearer made-up"}},
		request{method: "PUT", path: "/tasks/{task}/outputs/0", header: []string{"Authorization", "Bearer made-up"}, body: "x"},
		request{method: "GET", path: "/tasks/{task}/outputs/9999"}, request{method: "PUT", path: "/tasks/{task}/outputs/9999", header: []string{"Authorization", "Bearer made-up"}, body: "x"},
		request{method: "GET", path: "/uploads/{sum}", header: []string{"Range", "bytes=0-3"}},
		request{method: "POST", path: "/tasks/preview", body: loot("{volume}")}, request{method: "POST", path: "/tasks/preview", body: `{"run":"true","uploads":{"~/x":"{sum}"}}`},
		request{method: "POST", path: "/tasks/batch", body: `[{"run":"true","uploads":{"~/x":"{sum}"}}]`}, request{method: "POST", path: "/tasks/submit", body: `{"run":"true","uploads":{"~/x":"{sum}"}}`},
	)
}

// twin sends two requests of bob: for an object of ann and for an object that does not
// exist. The answers must be equal.
func twin(at mode, r request) attack {
	name := fmt.Sprintf("%s: %s %s %s%s", at, r.method, r.path, strings.Join(r.header, " "), r.body)
	const right = "the answer to what does not exist"
	return attack{name: name, want: right, try: func(ctx context.Context, w *environment) result {
		b, err := w.belongingsOf(ctx, at)
		if err != nil {
			return result{got: err.Error()}
		}
		s := w.servers.running(at)
		if !slices.Contains(r.header, "Authorization") || at == byHeader {
			r.header = append(slices.Clone(r.header), s.as("bob")...)
		}
		got, nothing := s.send(ctx, b.fill(r)), s.send(ctx, b.missing(r))
		one, other := b.anonymous(visible(got)), b.anonymous(visible(nothing))
		if one == other && got.err == nil && !strings.Contains(one, mark) {
			return result{sent: r.String(), got: one, held: true}
		}
		return result{sent: r.String(), got: one + "\nfor what does not exist: " + other}
	}}
}

// visible returns an answer without the parts that differ each time.
func visible(a answer) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%d %v\n", a.code, a.err)
	for _, name := range slices.Sorted(maps.Keys(a.header)) {
		if name != "Date" && name != "X-Request-Id" && name != "Content-Length" && name != "Etag" {
			fmt.Fprintf(&text, "%s: %s\n", name, a.header[name])
		}
	}
	body := string(a.body)
	if strings.Contains(body, `"objects"`) || strings.Contains(body, `"task_id"`) { // contains random names
		body = fmt.Sprint("claims: ", strings.Count(body, "claimName"), ", accepted")
	}
	return text.String() + body
}

// strangersLists are lists of bob, which must contain nothing of ann.
func strangersLists(at mode) (all []attack) {
	for _, r := range []request{
		{method: "GET", path: "/tasks"},
		{method: "GET", path: "/tasks?name=" + mark},
		{method: "GET", path: "/tasks?status=pending"},
		{method: "GET", path: "/tasks?cursor={cursor}"},
		{method: "GET", path: "/tasks?limit=1&cursor={cursor}"},
		{method: "GET", path: "/tasks?username=ann"},
		{method: "GET", path: "/tasks?user=bob"},
		{method: "GET", path: "/tasks?view=row"},
		{method: "GET", path: "/tasks?view=row&sort=name&cursor={cursor}"},
		{method: "GET", path: "/tasks?name_prefix=" + mark},
		{method: "GET", path: "/tasks?name_contains=" + mark},
		{method: "GET", path: "/tasks?since=1d&sort=-started"},
		{method: "GET", path: "/summary"},
		{method: "GET", path: "/summary?user=ann"},
		{method: "GET", path: "/capacity"},
		{method: "GET", path: "/tasks?all_users=false"},
		{method: "GET", path: "/volumes"},
		{method: "GET", path: "/volumes?name=" + mark},
		{method: "GET", path: "/volumes?cursor={cursor}"},
		{method: "GET", path: "/events"},
		{method: "GET", path: "/events?last_event_id=0"},
		{method: "GET", path: "/events?last_event_id={event}"},
		{method: "GET", path: "/events", header: []string{"Last-Event-ID", "0"}},
		{method: "POST", path: "/tasks/stop"},
		{method: "POST", path: "/tasks/stop?user=ann"},
		{method: "GET", path: "/tasks", header: []string{"X-Forwarded-User", "ann"}},
	} {
		right := without(codes(200, 400, 404, 410, 422), mark, "Stopped 1", "Stopped 2", `"ann"`)
		all = append(all, ofAs(fmt.Sprintf("%s: list: %s %s %q", at, r.method, r.path, r.header), at, "bob", r, right))
	}
	notModified := want{"not 304", func(a answer) bool { return a.code == 200 }}
	return append(all, ofAs(string(at)+": list: ann's ETag", at, "bob", request{method: "GET", path: "/tasks", header: []string{"If-None-Match", "{etag}"}}, notModified))
}

// strangersRepeats use ann's idempotency key, which is a new key for other users.
func strangersRepeats(at mode) (all []attack) {
	key := []string{"Idempotency-Key", annsKey}
	for n, r := range []request{
		{method: "POST", path: "/tasks/submit", body: annsTask, header: key},
		{method: "POST", path: "/tasks/submit", body: task14, header: key},
		{method: "POST", path: "/volumes/create", body: annsVolume, header: key},
		{method: "POST", path: "/tasks/batch", body: `[{"run":"true","idempotency_key":"key-of-ann"}]`},
	} {
		name := fmt.Sprintf("%s: ann's key: %s %s", at, r.path, brief(r.body))
		const right = "200 and another id"
		all = append(all, attack{name: name, want: right, try: func(ctx context.Context, w *environment) result {
			b, err := w.belongingsOf(ctx, at)
			if err != nil {
				return result{got: err.Error()}
			}
			s := w.servers.running(at)
			r.header = append(slices.Clone(r.header), s.as(strangers[n])...) // each user uses the key once
			a := s.send(ctx, r)
			holds := without(works, b.task, b.volume, `"code":409`).holds(a)
			return result{sent: r.String(), got: a.String(), held: holds}
		}})
	}
	return all
}

// strangers are users without tasks and volumes.
var strangers = []string{"carl", "cora", "cleo", "cid"}

// ofAs is an attack by a request of a user, with placeholders for ann's belongings.
func ofAs(name string, at mode, user string, r request, right want) attack {
	return attack{name: name, want: right.text, try: func(ctx context.Context, w *environment) result {
		s, err := w.serve(ctx, at)
		if err != nil {
			return result{got: err.Error()}
		}
		return ofAnn(name, at, request{r.method, r.path, r.body, append(slices.Clone(r.header), s.as(user)...)}, right).try(ctx, w)
	}}
}

// liveEvents checks that bob, who listens to events, gets no event of ann's submission but
// gets the event of his own.
func liveEvents(ctx context.Context, w *environment, at mode) error {
	if _, err := w.belongingsOf(ctx, at); err != nil {
		return err
	}
	s := w.servers.running(at)
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/events", nil)
	if err != nil {
		return err
	}
	bob := s.as("bob")
	q.Header.Set(bob[0], bob[1])
	q.Header.Set("Accept", "text/event-stream")
	response, err := (&http.Client{}).Do(q)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	for _, user := range []string{"ann", "bob"} {
		body := fmt.Sprintf(`{"name":"live-of-%s","run":"true"}`, user)
		if a := s.send(ctx, request{method: "POST", path: "/tasks/submit", body: body, header: s.as(user)}); a.code != 200 {
			return fmt.Errorf("%s submits: %s", user, a)
		}
	}
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		switch line := lines.Text(); {
		case strings.Contains(line, "live-of-ann"):
			return fmt.Errorf("bob heard %s", line)
		case strings.Contains(line, "live-of-bob"):
			return nil
		}
	}
	return fmt.Errorf("bob heard nothing of what is bob's: %w", lines.Err())
}

// pathAttacks try to avoid the checks of a route by the spelling of its path.
func pathAttacks() (all []attack) {
	for _, path := range []string{
		"/tasks/./{task}", "/tasks//{task}", "//tasks/{task}", "/tasks/../tasks/{task}", "/tasks/%2e%2e/tasks/{task}", "/tasks/%2e/{task}", "/tasks/{task}%2fspec", "/tasks/{task}%2Fspec", "/tasks/{task}/%73pec",
		"/tasks/{task}%00", "/tasks/{task}%0a", "/tasks/{task}%20", "/tasks/{task};x=1", "/tasks/{task}/spec/", "/tasks/{task}/../{task}/spec", "/Tasks/{task}", "/tasks/{task}/SPEC", "/tasks\\{task}", "/tasks%5c{task}",
		"/tasks/{task}?x=/../spec", "/metrics/../tasks/{task}", "/docs/../tasks/{task}", "/healthz/%2e%2e/tasks/{task}", "/tasks/*", "/tasks/%25", "/uploads/../tasks", "/uploads/%2e%2e%2f{sum}",
	} {
		all = append(all, ofAs(path, byHeader, "bob", request{method: "GET", path: path}, without(codes(400, 404), mark)))
	}
	for _, path := range []string{"/tasks/%", "/tasks/%zz", "/tasks/%u0061", "/tasks/x\x00", "tasks", "*"} {
		all = append(all, raw("raw: "+path, byHeader, "GET "+path+" HTTP/1.1\r\nHost: {host}\r\nX-User: bob\r\n\r\n", codes(400, 404)))
	}
	return all
}
