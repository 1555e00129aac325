package show

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/overview"
	"k8s-cli/test/testkit/must"
)

func rows() []Row {
	return []Row{
		{Row: overview.Row{ID: "b", Name: "a-name-that-is-rather-long", Phase: task.Running, Created: 1000, Started: 1060, Nodes: 2, GPUs: "H100:8"}, Job: "job-b", Namespace: "tasks"},
		{Row: overview.Row{ID: "a", Phase: task.Failed, Created: 900, Started: 910, Ended: 1000, User: "änn", Reason: "Error"}, Message: "line 1\nline 2 \x1b[31m"},
	}
}

func TestTables(t *testing.T) {
	now := time.Unix(1000+3600, 0)
	for _, tt := range []struct {
		name    string
		style   Style
		columns Columns
		want    string
	}{
		{"plain", Style{}, Columns{}, `
Task ID  Name                        Status   Created              Age  Duration  Nodes  Resources  Reason
b        a-name-that-is-rather-long  running  1970-01-01T00:16:40  60m  59m       2      H100:8     -
a        -                           failed   1970-01-01T00:15:00  61m  90s       0      -          Error
`},
		{"no headers", Style{NoHeaders: true, Width: 50}, Columns{}, `
b        a-name-that-is-rather-long  running  60m
a        -                           failed   61m
`},
		{"a message stays on its line and shows what a terminal would obey", Style{Width: 120}, Columns{User: true, Reason: true}, `
Task ID  Name                        Status   User  Age  Duration  Nodes  Resources  Reason
b        a-name-that-is-rather-long  running  -     60m  59m       2      H100:8     -
a        -                           failed   änn   61m  90s       0      -          Error: line 1 line 2 \x1b[31m
`},
		{"sentences are cut before columns are dropped", Style{Width: 104}, Columns{User: true, Reason: true}, `
Task ID  Name                        Status   User  Age  Duration  Nodes  Resources  Reason
b        a-name-that-is-rather-long  running  -     60m  59m       2      H100:8     -
a        -                           failed   änn   61m  90s       0      -          Error: line 1 line…
`},
		{"80 columns", Style{Width: 80}, Columns{}, `
Task ID  Name                        Status   Age  Duration  Resources  Reason
b        a-name-that-is-rather-long  running  60m  59m       H100:8     -
a        -                           failed   61m  90s       -          Error
`},
		{"the names in Kubernetes go first", Style{Width: 80}, Columns{Details: true, Reason: true}, `
Task ID  Name                        Status   Age  Duration  Resources
b        a-name-that-is-rather-long  running  60m  59m       H100:8
a        -                           failed   61m  90s       -
`},
		{"a screen too narrow for anything keeps the id, the name and the status", Style{Width: 3}, Columns{}, `
Task ID  Name                        Status
b        a-name-that-is-rather-long  running
a        -                           failed
`},
		{"colours do not move the columns", Style{Color: true, Width: 50}, Columns{}, "\n" +
			"\x1b[1mTask ID\x1b[0m  \x1b[1mName\x1b[0m                        \x1b[1mStatus\x1b[0m   \x1b[1mAge\x1b[0m\n" +
			"\x1b[36mb\x1b[0m        a-name-that-is-rather-long  \x1b[34mrunning\x1b[0m  60m\n" +
			"\x1b[36ma\x1b[0m        -                           \x1b[31mfailed\x1b[0m   61m\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var b strings.Builder
			table := rowTable(rows(), tt.columns, now)
			table.write(&b, tt.style)
			if diff := cmp.Diff(tt.want[1:], b.String()); diff != "" {
				t.Errorf("table (-want +got):\n%s", diff)
			}
		})
	}
}

// TestWideCharacters checks that the columns are aligned on a terminal, where some characters
// take two columns and others none.
func TestColumnsWithoutValuesGoFirst(t *testing.T) {
	all := rows()
	for i := range all {
		all[i].GPUs, all[i].Reason = "", ""
	}
	var b strings.Builder
	rowTable(all, Columns{}, time.Unix(1000+3600, 0)).write(&b, Style{Width: 90})
	const want = `Task ID  Name                        Status   Created              Age  Duration  Nodes
b        a-name-that-is-rather-long  running  1970-01-01T00:16:40  60m  59m       2
a        -                           failed   1970-01-01T00:15:00  61m  90s       0
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
}

func TestSentencesBreakBetweenWords(t *testing.T) {
	s := Style{Width: 20}
	for text, want := range map[string]string{
		"short":                           "short",
		"a sentence of several words":     "a sentence of\nseveral words",
		"averyverylongwordthatdoesnotfit": "averyverylongwordthatdoesnotfit",
	} {
		if got := s.Error(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
	if got, want := s.wrap("a sentence of several words", 8), "a sentence\n        of several\n        words"; got != want {
		t.Errorf("with an indent: %q, want %q", got, want)
	}
}

func TestWideCharacters(t *testing.T) {
	var all []Row
	for _, name := range []string{"plain", "日本語", "한국어", "ok👍", "e\u0301te\u0301", "👍🏽", "🇩🇪", "①"} {
		all = append(all, Row{Row: overview.Row{ID: "abcd1234", Name: name, Phase: task.Running}})
	}
	var b strings.Builder
	Rows(&b, Style{Width: 40}, all, Columns{})
	for line := range strings.Lines(b.String()) {
		name, _, _ := strings.Cut(line, "running")
		if name == line {
			name, _, _ = strings.Cut(line, "Status")
		}
		if got := width(name); got != 8+gap+6+gap {
			t.Errorf("the status begins at column %d in %q", got, line)
		}
	}
	for text, want := range map[string]string{"日本語": "日…", "a日本": "a日…", "👍🏽👍🏽👍🏽": "👍🏽…", "abc": "abc"} {
		if got := cut(text, 4); got != want || width(got) > 4 {
			t.Errorf("%q cut to 4 columns is %q, want %q", text, got, want)
		}
	}
}

func TestRowOf(t *testing.T) {
	at := func(s int64) *time.Time { return new(time.Unix(s, 0)) }
	status := task.Status{ID: "a", Name: "n", Phase: task.Running, CreatedAt: *at(5), Username: "ann", Metadata: task.Metadata{
		NumNodes: 2, Reason: "R", Message: "m", JobName: "n-a", Namespace: "ns",
		Nodes: []task.Node{{StartedAt: at(20), FinishedAt: at(30)}, {StartedAt: at(10)}, {FinishedAt: at(25)}},
	}}
	want := Row{Row: overview.Row{ID: "a", Name: "n", User: "ann", Phase: task.Running, Reason: "R", Created: 5, Started: 10, Nodes: 2}, Job: "n-a", Namespace: "ns", Message: "m"}
	if diff := cmp.Diff(want, RowOf(status)); diff != "" {
		t.Errorf("a running task (-want +got):\n%s", diff)
	}
	status.Phase, want.Phase, want.Ended = task.Failed, task.Failed, 30
	if diff := cmp.Diff([]Row{want}, RowsOf([]task.Status{status})); diff != "" {
		t.Errorf("a task that is over (-want +got):\n%s", diff)
	}
}

func TestDuration(t *testing.T) {
	now := time.Unix(10_000, 0)
	for want, r := range map[string]overview.Row{
		"":      {Phase: task.Pending},
		"10s":   {Phase: task.Running, Started: 9990},
		"0s":    {Phase: task.Running, Started: 10_005}, // by a clock that is ahead
		"2m30s": {Phase: task.Completed, Started: 100, Ended: 250},
	} {
		if got := lasted(r, now); got != want {
			t.Errorf("%+v lasted %q, want %q", r, got, want)
		}
	}
	if got := lasted(overview.Row{Phase: task.Stopped, Started: 5}, now); got != "" {
		t.Errorf("a task without an end lasted %q", got)
	}
}

func TestTimeLimit(t *testing.T) {
	now := time.Unix(10_000, 0)
	for want, m := range map[string]task.Metadata{
		"":             {},
		"2h":           {MaxDuration: "2h"},
		"2h, 35m left": {MaxDuration: "2h", Deadline: new(now.Add(35 * time.Minute))},
		"90s, 0s left": {MaxDuration: "90s", Deadline: new(now.Add(-time.Second))},
	} {
		if got := timeLimit(m, now); got != want {
			t.Errorf("%+v: %q, want %q", m, got, want)
		}
	}
}

func TestAnnotations(t *testing.T) {
	if got := annotations(task.Metadata{Annotations: map[string]string{"b": "x, y", "a": ""}}); got != "a=, b=x, y" {
		t.Errorf("%q", got)
	}
}

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 100000: "100,000", 1234567: "1,234,567"} {
		if got := Count(n); got != want {
			t.Errorf("%d is %s, want %s", n, got, want)
		}
	}
}

func TestAmounts(t *testing.T) {
	const gib = 1 << 30
	for want, a := range map[string]overview.Amounts{
		"1 CPU, 2Gi of memory, 1 GPU":       {CPUs: 1, Memory: 2 * gib, GPUs: 1},
		"4.5 CPUs, 512Mi of memory, 8 GPUs": {CPUs: 4.5, Memory: gib / 2, GPUs: 8},
		"2 CPUs, 1Gi of memory":             {CPUs: 2, Memory: gib},
	} {
		if got := Amounts(a); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestExtracts(t *testing.T) {
	list := task.List{Tasks: []task.Status{{ID: "a", Name: "x", Metadata: task.Metadata{NumNodes: 2}}, {ID: "b", Name: "\u202e"}}}
	for _, tt := range []struct {
		format string
		v      any
		want   string
	}{
		{"name", list, "a\nb\n"},
		{"name", list.Tasks[0], "a\n"},
		{"name", task.List{Tasks: []task.Status{}}, ""},
		{"name", task.VolumeList{Volumes: []task.VolumeStatus{{ID: "v", Name: "data"}}}, "v\n"},
		{"name", task.StopAllResponse{Count: 3}, ""},
		{"jsonpath={.tasks[*].task_id}", list, "a b\n"},
		{"jsonpath=tasks[0].metadata.num_nodes", list, "2\n"},
		{"jsonpath=.tasks[1].name", list, "\\u202e\n"},
		{`jsonpath={range .tasks[*]}{.task_id}={.name}{"\n"}{end}`, list, "a=x\nb=\\u202e\n"},
		{"jsonpath={.tasks[?(@.metadata.num_nodes>1)].name}", list, "x\n"},
		{"jsonpath={.nothing}", list, ""},
	} {
		var f Format
		var b strings.Builder
		if err := f.Set(tt.format); err != nil || !f.IsData() {
			t.Fatalf("%s: %v", tt.format, err)
		}
		if err := Data(&b, f, tt.v); err != nil || b.String() != tt.want {
			t.Errorf("%s wrote %q, %v, want %q", tt.format, b.String(), err, tt.want)
		}
	}
	var f Format
	if err := f.Set("jsonpath={.tasks["); err == nil {
		t.Error("a template that is not closed is no error")
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

func TestSinceBecomesADuration(t *testing.T) {
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
		must.Succeed(t, Data(&b, f, want))
		if s := b.String(); strings.Index(s, "second") > strings.Index(s, "first") || strings.Contains(s, `\u003c`) {
			t.Errorf("%s: fields out of order, or escaped for no reason:\n%s", f, s)
		}
		if i := strings.IndexFunc(b.String(), unsafeData); i >= 0 {
			t.Errorf("%s: a terminal would obey %q", f, b.String()[i:])
		}
		var got body
		must.Succeed(t, json.Unmarshal(asJSON(t, f, b.String()), &got))
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
	return must.Encode(t, v)
}

func TestFormat(t *testing.T) {
	var f Format
	for _, name := range Formats[:5] {
		if err := f.Set(name); err != nil || f.String() != name {
			t.Errorf("Set(%q) = %v, and is %q", name, err, f)
		}
	}
	if err := f.Set("xml"); err == nil || f != Name {
		t.Errorf("Set(xml) = %v, and is %q", err, f)
	}
}

// A task that has ended shows the maximum of each node, if it is known.
func TestMaximaOfNodes(t *testing.T) {
	n := task.Node{Phase: task.Completed, MaxUsed: &task.Amounts{CPUs: 1.5, Memory: 600 << 20}}
	for want, nodes := range map[string][]task.Node{
		"  max_used: 1.5 CPUs, 600Mi of memory\n": {n},
		"Max used                   Reason\n":     {n, {}},
		"1.5 CPUs, 600Mi of memory  -\n":          {n, {}},
	} {
		var b strings.Builder
		if Task(&b, Style{}, task.Status{Metadata: task.Metadata{Nodes: nodes}}); !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}
