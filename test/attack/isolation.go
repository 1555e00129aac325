package main

import (
	"bufio"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// isolationAttacks use what ann got from the server as another user: ETags, cursors and ids of
// events. The feature tests send every operation as another user.
func isolationAttacks() (all []attack) {
	for _, path := range []string{"/tasks/{task}", "/tasks/{task}/spec", "/tasks/{task}/events", "/volumes/{volume}", "/volumes/{volume}/events", "/uploads/{sum}"} {
		for _, etag := range []string{"*", "{etag}"} {
			all = append(all, twin(request{method: "GET", path: path, header: []string{"If-None-Match", etag}}))
		}
	}
	for _, path := range []string{"/tasks/{task}/events", "/volumes/{volume}/events"} {
		for _, last := range []string{"0.0", "{event}"} {
			all = append(all, twin(request{method: "GET", path: path, header: []string{"Accept", "text/event-stream", "Last-Event-ID", last}}))
		}
	}
	all = append(all,
		twin(request{method: "GET", path: "/uploads/{sum}", header: []string{"Range", "bytes=0-3"}}),
		twin(request{method: "GET", path: "/tasks/{task}/logs", header: []string{"X-Log-Resume", "start"}}),
		twin(request{method: "POST", path: "/tasks/preview", body: `{"run":"cat /loot/*","volumes":{"/loot":"{volume}"}}`}),
	)
	for _, path := range []string{"/tasks?cursor={cursor}", "/tasks?view=row&sort=name&cursor={cursor}", "/volumes?cursor={cursor}", "/events?last_event_id={event}"} {
		all = append(all, ofAs("list: "+path, byToken, "bob", request{method: "GET", path: path}, without(codes(200, 400, 410, 422), mark, `"ann"`)))
	}
	return append(all,
		ofAs("list: ann's ETag", byToken, "bob", request{method: "GET", path: "/tasks", header: []string{"If-None-Match", "{etag}"}}, works),
		scene("another's events, live", "only one's own", liveEvents),
		control(ofAs("its owner's look", byToken, "ann", request{method: "GET", path: "/tasks/{task}"}, showing(works, mark))),
		control(ofAs("its owner's file", byToken, "ann", request{method: "GET", path: "/uploads/{sum}"}, showing(works, mark))),
	)
}

// twin sends two requests of bob: for an object of ann and for an object that does not
// exist. The answers must be equal.
func twin(r request) attack {
	name := fmt.Sprintf("%s %s %s%s", r.method, r.path, strings.Join(r.header, " "), r.body)
	const right = "the answer to what does not exist"
	return attack{name: name, want: right, try: func(ctx context.Context, w *environment) result {
		b, err := w.belongingsOf(ctx, byToken)
		if err != nil {
			return result{got: err.Error()}
		}
		s := w.servers.running(byToken)
		r.header = append(slices.Clone(r.header), s.as("bob")...)
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
	if strings.Contains(body, `"objects"`) { // contains random names
		body = fmt.Sprint("claims: ", strings.Count(body, "claimName"), ", accepted")
	}
	return text.String() + body
}

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
func liveEvents(ctx context.Context, w *environment) error {
	s, err := w.serve(ctx, byToken)
	if err != nil {
		return err
	}
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
