package task

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestTokensOfSubjects(t *testing.T) {
	for name, want := range map[string]string{
		"ann":             "ann",
		"ann@example.com": "ann=40example=2Ecom",
		"a-b_C9":          "a-b_C9",
		"*":               "=2A",
		">":               "=3E",
		"a b":             "a=20b",
		"=40":             "=3D40",
		"é😀":              "=C3=A9=F0=9F=98=80",
		"":                "=",
	} {
		if got := Token(name); got != want {
			t.Errorf("%q: %s, want %s", name, got, want)
		}
	}
}

// FuzzToken checks that different names have different tokens, and that every token is
// valid in NATS.
func FuzzToken(f *testing.F) {
	for _, pair := range [][2]string{{"a@b", "a-b"}, {"a.b", "a=2Eb"}, {"", "="}, {"A", "a"}, {strings.Repeat("@", 2000), strings.Repeat("@", 2001)}} {
		f.Add(pair[0], pair[1])
	}
	form := regexp.MustCompile(`^[A-Za-z0-9_=-]+$`)
	f.Fuzz(func(t *testing.T, a, b string) {
		one, other := Token(a), Token(b)
		if !form.MatchString(one) || len(one) > maxToken || (one == other) != (a == b) {
			t.Errorf("%q: %s; %q: %s", a, one, b, other)
		}
	})
}

func TestEventIDs(t *testing.T) {
	order := []EventID{{}, {1, 1}, {1, 2}, {1, 10}, {2, 1}, {10, 1}}
	for i, p := range order {
		for j, q := range order {
			if got, want := p.Compare(q), min(max(i-j, -1), 1); got != want {
				t.Errorf("%s and %s: %d, want %d", p, q, got, want)
			}
		}
		if i == 0 {
			continue
		}
		if got, err := ParseEventID(p.String()); err != nil || got != p {
			t.Errorf("%s is read as %s, %v", p, got, err)
		}
	}
	for _, text := range []string{"1", "1.1.1", "-1.1", "1.a", " 1.1", "99999999999999999999.1", "1.9999999999"} {
		if p, err := ParseEventID(text); err == nil {
			t.Errorf("%q is read as %s", text, p)
		}
	}
}

// TestEventsAreBounded checks that every event fits into a NATS message.
func TestEventsAreBounded(t *testing.T) {
	long := strings.Repeat("ä", 300_000)
	r := &Record{Submit: Submit{ID: "a", User: "ann", Task: Spec{Name: long}}, Phase: Failed, Reason: long, Message: long}
	for range MaxNodes {
		r.Nodes = append(r.Nodes, Node{Phase: Failed, Reason: long, Message: long, ExitCode: new(255)})
	}
	raw, err := Marshal(EventOfTask(r, EventPhase))
	if err != nil || len(raw) > 500_000 || !utf8.Valid(raw) {
		t.Errorf("%d bytes, %v", len(raw), err)
	}
}

func TestAnEventAsJSON(t *testing.T) {
	r := &Record{
		Submit: Submit{ID: "abc12345", User: "ann@example.com", Task: Spec{Annotations: map[string]string{"commit": "4f2a91c"}}}, Phase: Failed, UpdatedAt: noon, Reason: "Error", Message: "exit code 3",
		Nodes: []Node{{Phase: Failed, ExitCode: new(3), Reason: "Error", Job: "j"}, {Rank: 1, Phase: Running}},
	}
	e := EventOfTask(r, EventPhase)
	const rest = `"time":"2025-10-05T12:00:00Z","type":"phase","kind":"task","task_id":"abc12345","name":"task-abc12345","user":"ann@example.com",` +
		`"status":"failed","reason":"Error","message":"exit code 3","nodes":[{"rank":0,"status":"failed","exit_code":3,"reason":"Error"},{"rank":1,"status":"failed"}],"annotations":{"commit":"4f2a91c"}}`
	if raw, err := Marshal(e); err != nil || string(raw) != "{"+rest {
		t.Errorf("without a place: %s, %v", raw, err)
	}
	e.ID = EventID{12, 3}
	raw, err := Marshal(e)
	if err != nil || string(raw) != `{"id":"12.3",`+rest {
		t.Errorf("with one: %s, %v", raw, err)
	}
	var got Event
	if err := json.Unmarshal(raw, &got); err != nil || got.ID != e.ID || !got.Over() || got.Key() != (Key{KindTask, "abc12345"}) {
		t.Errorf("read as %+v, %v", got, err)
	}
}
