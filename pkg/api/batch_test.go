package api

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"k8s-cli/pkg/api/submission"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
)

func (a answered) batch(t *testing.T) (b task.Batch) {
	t.Helper()
	if err := json.Unmarshal([]byte(a.body), &b); err != nil || a.StatusCode != 200 {
		t.Fatalf("%d %s: %v", a.StatusCode, a.body, err)
	}
	return b
}

// names returns the names of the submitted tasks, sorted.
func (f *fake) names() (all []string) {
	for _, c := range f.told() {
		all = append(all, c.Submit.Task.Name)
	}
	slices.Sort(all)
	return all
}

func TestABatchIsItsTasks(t *testing.T) {
	t.Parallel()
	s := serve(t, &fake{})
	const one, two, wrong = `{"name":"one","run":"true"}`, `{"name":"two","run":"true","resources":{"use_spot":true}}`, `{"name":"x"}`
	for _, tt := range []struct{ name, kind, body string }{
		{"an array", "application/json", "[" + one + "," + wrong + ",\n" + two + "]"},
		{"no type", "-", " \n[" + one + "," + wrong + "," + two + "]\n"},
		{"one a line", "application/x-ndjson", one + "\n" + wrong + "\n\n" + two},
		{"one a line, by its other name", "application/ndjson; charset=utf-8", one + "\n" + wrong + "\n" + two},
		{"one a line, as JSON", "application/json", one + "\r\n" + wrong + "\r\n" + two + "\r\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := s.send("POST", batchPath, tt.body, "Content-Type", tt.kind, "Idempotency-Key", "k").batch(t)
			if b.Submitted != 2 || b.Failed != 1 || len(b.Results) != 3 {
				t.Fatalf("%+v", b)
			}
			if r := b.Results[1]; r.Code != 422 || !strings.Contains(r.Detail, "run") || r.ID != "" {
				t.Errorf("of the wrong one %+v", r)
			}
			if r := b.Results[2]; r.Status != "submitted" || r.Message != "Task submitted successfully with ID: "+r.ID || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "use_spot") {
				t.Errorf("of the last %+v", r)
			}
			for _, c := range s.take() {
				at := map[string]int{"one": 0, "two": 2}[c.Submit.Task.Name]
				if c.Submit.ID != b.Results[at].ID || c.Submit.User != "ann" || c.Submit.Key != fmt.Sprint("k/", at) {
					t.Errorf("%s: submission %+v", c.Submit.Task.Name, c.Submit)
				}
			}
		})
	}
}

// TestTasksOfABatchHaveTheirOwnKeys checks that an item of a batch may have an idempotency
// key of its own.
func TestTasksOfABatchHaveTheirOwnKeys(t *testing.T) {
	t.Parallel()
	s := serve(t, &fake{})
	b := s.send("POST", batchPath+"/", `[{"name":"a","run":"true","idempotency_key":"own"},
		{"name":"b","run":"true"}, {"name":"c","run":"true","idempotency_key":null}, {"name":"d","run":"true","idempotency_key":7},
		{"run":"true","idempotency_key":"two words"}, {"run":"true","idempotency_key":""}, {"run":"true","idempotency_key":["x"]}]`, "Idempotency-Key", "k").batch(t)
	keys := map[string]string{}
	for _, c := range s.told() {
		keys[c.Submit.Task.Name] = c.Submit.Key
	}
	if diff := cmp.Diff(map[string]string{"a": "own", "b": "k/1", "c": "k/2", "d": "7"}, keys); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
	for _, r := range b.Results[4:] {
		if r.Code != 422 || !strings.HasPrefix(r.Detail, "idempotency_key: ") {
			t.Errorf("a key that is none: %+v", r)
		}
	}
	if a := s.send("POST", "/tasks/submit", `{"run":"true","idempotency_key":"own"}`); a.StatusCode != 422 {
		t.Errorf("outside of a batch: %d %s", a.StatusCode, a.body)
	}
}

// TestBatchesThatAreRefused checks that a batch that cannot be read changes nothing.
func TestBatchesThatAreRefused(t *testing.T) {
	t.Parallel()
	s := serve(t, &fake{})
	const one = `{"run":"true"}`
	for _, tt := range []struct {
		name, body string
		headers    []string
		code       int
		says       string
	}{
		{"empty", " ", nil, 400, "the body is empty; send a JSON array"},
		{"an array that does not end", "[" + one + ",", nil, 400, "cannot be read after task 1"},
		{"an array and more", "[" + one + "]]", nil, 400, "the batch"},
		{"a line that is no JSON", one + "\n{run: true}\n", nil, 400, "cannot be read after task 1"},
		{"text", "run: true", []string{"Content-Type", "text/plain"}, 415, "application/x-ndjson"},
		{"too many", "[" + strings.Repeat("1,", submission.MaxBatchItems) + "1]", nil, 413, "more than 50000 tasks"},
		{"too large", `[{"run":"` + strings.Repeat("x", submission.MaxBatchBytes) + `"}]`, nil, 413, "larger than 67108864 bytes"},
		{"compressed", gzipped("[" + one + "]"), []string{"Content-Encoding", "gzip"}, 400, ""}, // a small body could become a large one
		{"a long key", one, []string{"Idempotency-Key", strings.Repeat("k", 250)}, 422, "Idempotency-Key"},
		{"nobody's", one, []string{"X-User", "-"}, 401, "X-User"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if testing.Short() && len(tt.body) > submission.MaxBatchBytes {
				t.Skip("the test is long; make test-unit runs it")
			}
			s.send("POST", batchPath, tt.body, tt.headers...).wantError(t, tt.code, tt.says)
		})
	}
	if len(s.told()) > 0 {
		t.Errorf("commands %v", s.told())
	}
}

// TestTasksOfABatchThatAreRefused checks that each task gets the same error as a single
// submission.
func TestTasksOfABatchThatAreRefused(t *testing.T) {
	t.Parallel()
	f := &fake{}
	f.verdict = func(c task.Command) (task.Result, error) {
		switch c.Submit.Task.Name {
		case "full":
			return task.Result{}, problem.New(problem.Unavailable, "the log is full")
		case "reused":
			return task.Result{ID: "b", Rejection: task.RejectedKeyReuse}, nil
		}
		return task.Result{ID: c.Submit.ID}, nil
	}
	s := serveWith(t, f, func(c *Config) { c.Nodes = nodesFunc(func(task.Resources) (can, known bool) { panic("here") }) })
	lines := []string{
		`{"name":"full","run":"true"}`, `{"name":"reused","run":"true"}`, `{"name":"panics","run":"true","resources":{"use_spot":true}}`, `{"name":"good","run":"true"}`,
	}
	large := fmt.Sprintf(`{"run":%q}`, strings.Repeat("x", 200_000))
	b := s.send("POST", batchPath, strings.Join(append(lines, large, "7"), "\n")).batch(t)
	var got []int
	for _, r := range b.Results {
		got = append(got, r.Code)
	}
	if want := []int{503, 409, 500, 0, 413, 422}; !slices.Equal(got, want) {
		t.Errorf("codes %v, want %v: %+v", got, want, b)
	}
	if !strings.Contains(s.logged.String(), "panic: here") || strings.Contains(fmt.Sprint(b), "here") {
		t.Errorf("answer %+v, log %s", b, s.logged)
	}
}

func TestALargeBatch(t *testing.T) {
	t.Parallel()
	const many = windowItems + 1000
	s := serve(t, &fake{})
	var body strings.Builder
	for n := range many {
		fmt.Fprintf(&body, `{"name":"t%05d","run":"true","envs":{"N":%d}}`+"\n", n, n)
	}
	b := s.send("POST", batchPath, body.String(), keyHeader, "k").batch(t)
	if names := s.names(); b.Submitted != many || len(slices.Compact(names)) != many {
		t.Errorf("%d submitted, %d commands", b.Submitted, len(names))
	}
	for at, c := range s.told() {
		if name, key := fmt.Sprintf("t%05d", at), fmt.Sprint("k/", at); c.Submit.Task.Name != name || c.Submit.Key != key || c.Submit.ID != b.Results[at].ID {
			t.Fatalf("command %d is %q with the key %q", at, c.Submit.Task.Name, c.Submit.Key)
		}
	}
	s.send("GET", "/healthz", "").wantOK(t)
}
