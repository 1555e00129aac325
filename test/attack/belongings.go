package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
)

// Belongings are the objects of user ann on a server. Each object contains a mark that no
// answer to another user may contain.
type belongings struct {
	once sync.Once
	err  error

	task, volume string // ids
	sum          string // of the upload
	archive      string // its content
	etag, cursor string // of ann's lists
	event        string // id of an event of the task
}

// mark is in every object of ann.
const mark = "anns-own-mark"

const annsTask = `{"name":"anns-own-mark","run":"echo anns-own-mark","envs":{"MARK":"anns-own-mark"},"secrets":{"PW":"anns-own-mark"}}`

const annsVolume = `{"name":"anns-own-mark","size":"1Gi"}`

// task14 is a task in 14 bytes, which is e in hexadecimal.
const task14 = `{"run":"true"}`

// belongingsOf returns the belongings of ann on the server of a mode, and creates them at
// the first call.
func (w *environment) belongingsOf(ctx context.Context, m mode) (*belongings, error) {
	w.mu.Lock()
	b, ok := w.belongings[m]
	if !ok {
		b = &belongings{}
		w.belongings[m] = b
	}
	w.mu.Unlock()
	s, err := w.serve(ctx, m)
	if err != nil {
		return nil, err
	}
	b.once.Do(func() { b.err = b.make(ctx, s) })
	return b, b.err
}

func (b *belongings) make(ctx context.Context, s *server) error {
	b.archive = mark + " in an archive"
	b.sum = hashOf(b.archive)
	if s.mode == farProxy { // this server trusts no client
		b.task, b.volume = "abcd1234", "efgh5678"
		return nil
	}
	ann := s.as("ann")
	if a := s.send(ctx, request{method: "PUT", path: "/uploads/" + b.sum, body: b.archive, header: append([]string{"Content-Type", "application/gzip"}, ann...)}); a.code != 200 {
		return fmt.Errorf("the upload of ann: %s", a)
	}
	text := strings.Replace(annsTask, "{", `{"uploads":{"~/x":"`+b.sum+`"},`, 1)
	var made struct {
		Task   string `json:"task_id"`
		Volume string `json:"volume_id"`
	}
	for _, r := range []request{
		{method: "POST", path: "/tasks/submit", body: text, header: ann},
		{method: "POST", path: "/volumes/create", body: annsVolume, header: ann},
		{method: "POST", path: "/tasks/submit", body: task14, header: ann}, // so that the list has a second page
	} {
		a := s.send(ctx, r)
		if a.code != 200 {
			return fmt.Errorf("what is ann's: %s: %s", r, a)
		}
		first := made.Task
		if err := json.Unmarshal(a.body, &made); err != nil {
			return err
		}
		if first != "" {
			made.Task = first
		}
	}
	b.task, b.volume = made.Task, made.Volume
	list := s.send(ctx, request{method: "GET", path: "/tasks?limit=1", header: ann})
	b.cursor, b.etag = list.header.Get("X-Next-Cursor"), s.send(ctx, request{method: "GET", path: "/tasks/" + b.task, header: ann}).header.Get("ETag")
	var events struct {
		Events []struct{ ID string }
	}
	if err := json.Unmarshal(s.send(ctx, request{method: "GET", path: "/tasks/" + b.task + "/events", header: ann}).body, &events); err != nil || len(events.Events) == 0 {
		return fmt.Errorf("the events of ann's task: %v, %w", events, err)
	}
	if b.event = events.Events[0].ID; b.cursor == "" || b.etag == "" {
		return fmt.Errorf("ann's list has no cursor (%q) or no ETag (%q)", b.cursor, b.etag)
	}
	return nil
}

// fill replaces the placeholders of a request by ids of ann's belongings.
func (b *belongings) fill(r request) request {
	fill := strings.NewReplacer("{task}", b.task, "{volume}", b.volume, "{sum}", b.sum, "{etag}", b.etag, "{cursor}", b.cursor, "{event}", b.event)
	return r.mapped(fill.Replace)
}

// missing replaces the placeholders of a request by ids that do not exist.
func (b *belongings) missing(r request) request {
	nothing := func(s string) string { return strings.Repeat("q", len(s)) }
	fill := strings.NewReplacer("{task}", nothing(b.task), "{volume}", nothing(b.volume), "{sum}", hashOf("nobody has this"), "{etag}", b.etag, "{cursor}", b.cursor, "{event}", b.event)
	return r.mapped(fill.Replace)
}

// anonymous replaces both kinds of ids in a text by one word.
func (b *belongings) anonymous(text string) string {
	all := []string{b.task, "ID", b.volume, "ID", b.sum, "ID", hashOf("nobody has this"), "ID"}
	all = append(all, strings.Repeat("q", len(b.task)), "ID", strings.Repeat("q", len(b.volume)), "ID")
	return strings.NewReplacer(all...).Replace(text)
}

func (r request) mapped(change func(string) string) request {
	header := make([]string, len(r.header))
	for i, text := range r.header {
		header[i] = change(text)
	}
	return request{r.method, change(r.path), change(r.body), header}
}

func hashOf(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }

// ofAnn is an attack by a request with placeholders for ann's belongings.
func ofAnn(name string, at mode, r request, right want) attack {
	return attack{name: name, want: right.text, try: func(ctx context.Context, w *environment) result {
		b, err := w.belongingsOf(ctx, at)
		if err != nil {
			return result{got: err.Error()}
		}
		s, err := w.serve(ctx, at)
		if err != nil {
			return result{got: err.Error()}
		}
		filled := b.fill(r)
		a := s.send(ctx, filled)
		return result{sent: filled.String(), got: a.String(), held: right.holds(a)}
	}}
}
