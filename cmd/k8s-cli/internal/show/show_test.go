package show

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"

	"k8s-cli/pkg/task"
)

func tasks() []task.Status {
	return []task.Status{
		{ID: "b", Name: "a-name-that-is-rather-long", Phase: task.Running},
		{ID: "a", Phase: task.Failed, Metadata: task.Metadata{User: "änn", Reason: "Error", Message: "line 1\nline 2 \x1b[31m"}},
	}
}

func TestTables(t *testing.T) {
	for _, tt := range []struct {
		name    string
		style   Style
		columns Columns
		want    string
	}{
		{"plain", Style{}, Columns{}, `
Task ID  Name                        Status   Created
b        a-name-that-is-rather-long  running  0001-01-01T00:00:00
a        -                           failed   0001-01-01T00:00:00
`},
		{"a message stays on its line and shows what a terminal would obey", Style{}, Columns{User: true, Reason: true}, `
Task ID  Name                        Status   Created              User  Nodes  Reason
b        a-name-that-is-rather-long  running  0001-01-01T00:00:00  -     0      -
a        -                           failed   0001-01-01T00:00:00  änn   0      Error: line 1 line 2 \x1b[31m
`},
		{"a narrow screen cuts the widest column", Style{Width: 50}, Columns{}, `
Task ID  Name             Status   Created
b        a-name-that-is…  running  0001-01-01T00:…
a        -                failed   0001-01-01T00:…
`},
		{"a screen too narrow for anything", Style{Width: 3}, Columns{}, `
Task ID  Name      Status   Created
b        a-name-…  running  0001-01…
a        -         failed   0001-01…
`},
		{"colours do not move the columns", Style{Color: true}, Columns{}, "\n" +
			"\x1b[1mTask ID\x1b[0m  \x1b[1mName\x1b[0m                        \x1b[1mStatus\x1b[0m   \x1b[1mCreated\x1b[0m\n" +
			"\x1b[36mb\x1b[0m        a-name-that-is-rather-long  \x1b[34mrunning\x1b[0m  0001-01-01T00:00:00\n" +
			"\x1b[36ma\x1b[0m        -                           \x1b[31mfailed\x1b[0m   0001-01-01T00:00:00\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var b strings.Builder
			Tasks(&b, tt.style, tasks(), tt.columns)
			if diff := cmp.Diff(tt.want[1:], b.String()); diff != "" {
				t.Errorf("table (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPlain(t *testing.T) {
	for text, want := range map[string]string{
		"é 😀 ünn":                   "é 😀 ünn",
		"two\nlines,\ttab\r":        "two lines, tab ",
		"\x1b]52;c;aGk=\x07":        `\x1b]52;c;aGk=\a`,
		"\u009b31m\x7f\x00":         `\u009b31m\x7f\x00`,
		"raw \x9b31m":               "raw \ufffd31m",
		"\u202egpj.exe\u2066\u200f": `\u202egpj.exe\u2066\u200f`,
		"ann\u200b \ufeffann":       `ann\u200b \ufeffann`,
		"one\u2028two\U000e0041":    `one two\U000e0041`,
	} {
		if got := Plain(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

func TestHowLongSomethingIsSo(t *testing.T) {
	now := time.Date(2025, 10, 5, 12, 3, 12, 500, time.UTC)
	for message, want := range map[string]string{
		"":                   "",
		"since when, though": "since when, though",
		"pulling image x, or starting the container, since 2025-10-05T12:00:00Z":                  "pulling image x, or starting the container, for 3m12s",
		"machine house-1 has not been ready since 2025-10-05T10:00:05Z and is since then no more": "machine house-1 has not been ready for 2h3m7s and is since then no more",
		"by a clock that is ahead, since 2025-10-05T12:03:59Z":                                    "by a clock that is ahead, for 0s",
		"in no month, since 2025-13-05T12:00:00Z":                                                 "in no month, since 2025-13-05T12:00:00Z",
	} {
		if got := lasting(message, now); got != want {
			t.Errorf("%q becomes %q, want %q", message, got, want)
		}
	}
}

func TestDone(t *testing.T) {
	var b strings.Builder
	Done(&b, Style{Color: true}, "Tasks stopped successfully", Field{"Count", "3"}, Field{"Status", "stopped"})
	want := "\x1b[32m✓ Tasks stopped successfully\x1b[0m\n  Count: \x1b[36m3\x1b[0m\n  Status: \x1b[90mstopped\x1b[0m\n"
	if b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
}

// awkward are strings that YAML can parse as another type, or that JSON escapes.
var awkward = []string{"true", "1", "", "no", "a: b", "- c", "two\nlines\n", "\x7f\x00", "<a&b>", "\u2028", "é 😀", " blank ", "\u202egpj\u009b31m\r\n\ttab", "\ufeff\U000e0041"}

func TestData(t *testing.T) {
	type body struct {
		Second string         `json:"second"`
		First  *string        `json:"first"`
		Number int            `json:"number"`
		Part   float64        `json:"part"`
		Texts  []string       `json:"texts"`
		None   []string       `json:"none"`
		Keys   map[string]any `json:"keys"`
	}
	want := body{"x", nil, 1 << 40, 1.5, awkward, []string{}, map[string]any{"yes": true, "2": "two"}}
	for _, f := range []Format{JSON, YAML} {
		var b strings.Builder
		if err := Data(&b, f, want); err != nil {
			t.Fatal(err)
		}
		if s := b.String(); strings.Index(s, "second") > strings.Index(s, "first") || strings.Contains(s, `\u003c`) {
			t.Errorf("%s: fields out of order, or escaped for no reason:\n%s", f, s)
		}
		if i := strings.IndexFunc(b.String(), unsafeData); i >= 0 {
			t.Errorf("%s: a terminal would obey %q", f, b.String()[i:])
		}
		var got body
		if err := json.Unmarshal(asJSON(t, f, b.String()), &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s\n%s", f, diff, b.String())
		}
	}
}

// asJSON converts data to JSON, as another program reads it.
func asJSON(t *testing.T, f Format, data string) []byte {
	t.Helper()
	if f == JSON {
		return []byte(data)
	}
	var v map[string]any
	if err := yaml.Unmarshal([]byte(data), &v); err != nil {
		t.Fatalf("%v\n%s", err, data)
	}
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestFormat(t *testing.T) {
	var f Format
	for _, name := range Formats {
		if err := f.Set(name); err != nil || f.String() != name {
			t.Errorf("Set(%q) = %v, and is %q", name, err, f)
		}
	}
	if err := f.Set("xml"); err == nil || f != YAML {
		t.Errorf("Set(xml) = %v, and is %q", err, f)
	}
}
