package logs

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/logpos"
	"k8s-cli/pkg/task/problem"
	"k8s-cli/test/testkit"
	"k8s-cli/test/testkit/must"
)

// part returns what Lines returns for a range.
func (c *cluster) part(t *testing.T, lines string, o task.LogOptions) (logpos.Part, error) {
	t.Helper()
	want, err := logpos.ParseRange(lines)
	must.Succeed(t, err)
	ctx, cancel := testkit.WithPatience(t.Context(), testTimeout)
	defer cancel()
	return c.Lines(ctx, "a", o, want)
}

// numbered returns a log of n lines with their times. Some lines are longer than the buffer of
// a reader.
func numbered(n int) (log []string) {
	for i := range n {
		text := fmt.Sprintf("line %d", i+1)
		if i%17 == 5 {
			text += strings.Repeat("x", bufferSize+i)
		}
		log = append(log, at(i)+text+"\n")
	}
	return log
}

// texts returns the text of lines without their times.
func texts(log []string) (text string) {
	for _, l := range log {
		text += l[len(at(0)):]
	}
	return text
}

func TestLinesOfAPod(t *testing.T) {
	log := numbered(100)
	for _, phase := range []task.Phase{task.Running, task.Completed} {
		s := withPod(phase)
		c := serve(t, s, func(w http.ResponseWriter, _ string, _ int) { send(w, strings.TrimSuffix(strings.Join(log, ""), "\n")) })
		for _, tt := range []struct {
			lines, header string
			first, last   int
		}{
			{"1-100", "1-100/100", 1, 100},
			{"1-99", "1-99/*", 1, 99},
			{"40-60", "40-60/*", 40, 60},
			{"6-6", "6-6/*", 6, 6},
			{"99-", "99-100/100", 99, 100},
			{"90-900", "90-100/100", 90, 100},
			{"101-", "*/100", 101, 100},
			{"-1", "100-100/100", 100, 100},
			{"-7", "94-100/100", 94, 100},
			{"-100", "1-100/100", 1, 100},
			{"-900", "1-100/100", 1, 100},
		} {
			got, err := c.part(t, tt.lines, task.LogOptions{})
			if want := texts(log[tt.first-1 : tt.last]); err != nil || got.String() != tt.header || string(got.Text) != want {
				t.Errorf("%s %s: %s, %d bytes, %v; want %s, %d bytes", phase, tt.lines, got, len(got.Text), err, tt.header, len(want))
			}
		}
		if got, err := c.part(t, "41-42", task.LogOptions{Timestamps: true}); err != nil || !strings.HasPrefix(string(got.Text), "2025-10-05T12:00:00.00000004Z line 41\n") {
			t.Errorf("with times: %q, %v", got.Text, err)
		}
	}
}

// TestArchivedLinesKeepTheirNumbers checks that lines have the same numbers before and after
// their log is archived, and that lines that are not archived are not replaced by others.
func TestArchivedLinesKeepTheirNumbers(t *testing.T) {
	w := newHubFixture(t)
	w.setJob(&task.Job{})
	store := archives(t, w, 1000)
	for i := range 100 {
		w.write(fmt.Appendf(nil, "line %d", i+1), 1)
	}
	w.over()
	store.await(t, "a/0")
	w.set(0, nil, task.Completed)
	c := cluster{Tailer: w.Tailer}
	all, err := c.part(t, "1-100", task.LogOptions{})
	first := int(all.First)
	if err != nil || first < 50 || all.String() != fmt.Sprintf("%d-100/100", first) || !strings.HasPrefix(string(all.Text), fmt.Sprintf("line %d\n", first)) {
		t.Fatalf("%s, %q, %v", all, all.Text, err)
	}
	for range 100 {
		from := first + rand.IntN(100-first)
		to := from + rand.IntN(110-from)
		got, err := c.part(t, fmt.Sprintf("%d-%d", from, to), task.LogOptions{})
		if want := string(w.written[strings.Index(string(w.written), fmt.Sprintf("line %d\n", from)):]); err != nil || got.First != int64(from) || got.Last != int64(min(to, 100)) || !strings.HasPrefix(want, string(got.Text)) {
			t.Fatalf("%d-%d: %s, %q, %v", from, to, got, got.Text, err)
		}
	}
	if got, err := c.part(t, "-2", task.LogOptions{}); err != nil || got.String() != "99-100/100" || string(got.Text) != "line 99\nline 100\n" {
		t.Errorf("the last lines: %s, %q, %v", got, got.Text, err)
	}
	_, err = c.part(t, fmt.Sprintf("1-%d", first-1), task.LogOptions{})
	if want := fmt.Sprintf("lines: the archive of this log begins with line %d", first); !errors.Is(err, problem.LogNotFound) || err.Error() != want {
		t.Errorf("lines that are not archived: %v, want %s", err, want)
	}
}

// TestLinesOfAnEndedPod checks that the server reads the log of a pod only for lines that the
// archive lacks.
func TestLinesOfAnEndedPod(t *testing.T) {
	s := withPod(task.Completed)
	log := numbered(10)
	c := serve(t, s, func(w http.ResponseWriter, _ string, _ int) { send(w, strings.Join(log, "")) })
	store := newFakeStore()
	c.store = store
	_ = store.Store(t.Context(), "a/0", map[string]string{aboutPod: "pod-0", aboutCut: "99", aboutCutLines: "6"}, []byte(strings.Join(log[6:], "")))
	for i, tt := range []struct {
		lines, header string
		asks          int
	}{
		{"7-8", "7-8/10", 0},
		{"-4", "7-10/10", 0},
		{"6-8", "6-8/10", 1},
		{"-5", "6-10/10", 2},
	} {
		if got, err := c.part(t, tt.lines, task.LogOptions{}); err != nil || got.String() != tt.header || len(c.asks()) != tt.asks {
			t.Errorf("%d: %s, %v, %d requests", i, got, err, len(c.asks()))
		}
	}
	delete(store.about["a/0"], aboutCutLines)
	s.set(0, nil, task.Completed)
	if got, err := c.part(t, "1-5", task.LogOptions{}); !errors.Is(err, problem.LogNotFound) {
		t.Errorf("an archive without numbers: %s, %v", got, err)
	}
}

func TestLinesOfOneNode(t *testing.T) {
	s := newFakeTasks(2)
	c := serve(t, s, func(w http.ResponseWriter, pod string, _ int) { send(w, at(1)+"of "+pod+"\n") })
	if got, err := c.part(t, "1-5", task.LogOptions{Node: new(1)}); err != nil || got.String() != "*/0" {
		t.Errorf("before the start: %s, %v", got, err)
	}
	s.set(1, pod(1, task.Running), task.Running)
	if _, err := c.part(t, "1-5", task.LogOptions{}); !errors.Is(err, problem.Invalid) {
		t.Errorf("without a node: %v", err)
	}
	if got, err := c.part(t, "1-5", task.LogOptions{Node: new(1)}); err != nil || got.String() != "1-1/1" || string(got.Text) != "node-1 | of pod-1\n" {
		t.Errorf("%s, %q, %v", got, got.Text, err)
	}
}

func TestAWindowIsBounded(t *testing.T) {
	s := withPod(task.Running)
	line := strings.Repeat("x", maxWindow/4)
	long := strings.Repeat("y", 3*maxWindow)
	c := serve(t, s, func(w http.ResponseWriter, _ string, _ int) {
		for i := range 20 {
			send(w, at(i)+line+"\n")
		}
		send(w, at(20)+long+"\n"+at(21)+"end\n")
	})
	for lines, want := range map[string]string{"3-20": "3-6/*", "-20": "22-22/22", "21-22": "21-21/*", "22-22": "22-22/22"} {
		got, err := c.part(t, lines, task.LogOptions{})
		if err != nil || got.String() != want || len(got.Text) > 2*maxWindow || !strings.HasSuffix(string(got.Text), "\n") {
			t.Errorf("%s: %s, %d bytes, %v; want %s", lines, got, len(got.Text), err, want)
		}
	}
}

func TestLinesThatTheClusterDoesNotReturn(t *testing.T) {
	s := withPod(task.Running)
	c := serve(t, s, func(w http.ResponseWriter, _ string, _ int) { http.Error(w, "away", http.StatusBadGateway) })
	if _, err := c.part(t, "1-5", task.LogOptions{}); !errors.Is(err, problem.Unavailable) {
		t.Errorf("%v", err)
	}
}
