package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A node is a pod with a bucket: the container of the task, as this test, and the program.
type node struct {
	plan
	store *store
	ended chan error
	stop  context.CancelFunc
}

// newNode fetches a bucket and begins to send its changes.
func newNode(t *testing.T, s *store, root string) *node {
	t.Helper()
	b := bucketAt(root, t.TempDir())
	b.Send = true
	n := &node{plan: plan{Max: 1 << 40, Control: t.TempDir(), Buckets: []bucket{b}}, store: s}
	if err := fetch(t.Context(), t, n.plan, s.variables()); err != nil {
		t.Fatal(err)
	}
	n.begin(t, s.variables())
	return n
}

func (n *node) begin(t *testing.T, variables map[string]string) {
	t.Helper()
	raw, err := json.Marshal(n.plan)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	n.ended, n.stop = ended, stop
	go func() {
		ended <- run(ctx, []string{"send"}, func(name string) string {
			if name == planVariable {
				return string(raw)
			}
			return variables[name]
		})
	}()
}

func (n *node) write(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(n.Buckets[0].Dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// result ends the scripts of the task and returns the result of the program.
func (n *node) result(t *testing.T) string {
	t.Helper()
	return n.resultWithin(t, time.Minute)
}

func (n *node) resultWithin(t *testing.T, limit time.Duration) string {
	t.Helper()
	if err := os.WriteFile(filepath.Join(n.Control, doneFile), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	text := ""
	within(t, limit, func() bool {
		raw, err := os.ReadFile(filepath.Join(n.Control, resultFile))
		text = string(raw)
		return err == nil
	})
	n.stop()
	if err := <-n.ended; err != nil {
		t.Error(err)
	}
	return text
}

func eventually(t *testing.T, ok func() bool) {
	t.Helper()
	within(t, time.Minute, ok)
}

func within(t *testing.T, limit time.Duration, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(limit); !ok(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited for %s", limit)
		}
	}
}

func (s *store) has(root, name, text string) bool {
	raw, err := os.ReadFile(filepath.Join(s.dir, root, name))
	return err == nil && string(raw) == text
}

func TestChangesAreSent(t *testing.T) {
	s := newStore(t)
	s.fill(t, "data/train", map[string]int{"kept": 10, "changed": 10})
	before, err := os.Stat(filepath.Join(s.dir, "data/train/kept"))
	if err != nil {
		t.Fatal(err)
	}
	n := newNode(t, s, "data/train")
	n.write(t, "new/file", "one")
	n.write(t, "changed", "two")
	open, err := os.Create(filepath.Join(n.Buckets[0].Dir, "open"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := open.WriteString("part"); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool { return s.has("data/train", "new/file", "one") && s.has("data/train", "changed", "two") })
	if _, err := os.Stat(filepath.Join(s.dir, "data/train/open")); err == nil {
		t.Error("a file was sent while the task wrote the file")
	}
	if _, err := open.WriteString("ial"); err != nil {
		t.Fatal(err)
	}
	if err := open.Close(); err != nil {
		t.Fatal(err)
	}
	n.write(t, "new/file", "three") // again
	n.write(t, "last", "four")
	if got := n.result(t); got != allStored {
		t.Error(got)
	}
	for name, text := range map[string]string{"new/file": "three", "changed": "two", "open": "partial", "last": "four"} {
		if !s.has("data/train", name, text) {
			t.Errorf("%s is not %q in the bucket", name, text)
		}
	}
	if after, err := os.Stat(filepath.Join(s.dir, "data/train/kept")); err != nil || !after.ModTime().Equal(before.ModTime()) {
		t.Errorf("a file that did not change was sent: %v", err)
	}
}

// TestSenderThatIsReplaced starts another sender after the first one stopped between its passes.
func TestSenderThatIsReplaced(t *testing.T) {
	s := newStore(t)
	s.fill(t, "data", map[string]int{"a": 1})
	n := newNode(t, s, "data")
	n.write(t, "first", "1")
	eventually(t, func() bool { return s.has("data", "first", "1") })
	n.pause(t)
	n.write(t, "first", "2")
	n.write(t, "second", "3")
	n.begin(t, s.variables())
	if got := n.result(t); got != allStored {
		t.Error(got)
	}
	if !s.has("data", "first", "2") || !s.has("data", "second", "3") {
		t.Error("files are not in the bucket")
	}
}

// TestTwoNodesDoNotOverwriteEachOther changes one object from two nodes.
func TestTwoNodesDoNotOverwriteEachOther(t *testing.T) {
	s := newStore(t)
	s.fill(t, "data", map[string]int{"shared": 10})
	first, second := newNode(t, s, "data"), newNode(t, s, "data")
	first.write(t, "shared", "of the first")
	first.write(t, "equal", "the same")
	first.write(t, "new", "of the first")
	if got := first.result(t); got != allStored {
		t.Fatal(got)
	}
	second.write(t, "equal", "the same")
	second.write(t, "shared", "of the second")
	if got := second.result(t); !strings.Contains(got, "shared in s3://data was changed by another node") {
		t.Error(got)
	}
	if !s.has("data", "shared", "of the first") {
		t.Error("the object was overwritten")
	}
}

// TestStoreThatIsAwayWhileSending checks that a sender waits for a store that does not respond, and
// says that all files are stored only when they are.
func TestStoreThatIsAwayWhileSending(t *testing.T) {
	s := newStore(t)
	s.fill(t, "data", map[string]int{"a": 1})
	n := newNode(t, s, "data")
	n.write(t, "first", "1")
	eventually(t, func() bool { return s.has("data", "first", "1") })
	s.stop()
	n.write(t, "second", "2")
	if err := os.WriteFile(filepath.Join(n.Control, doneFile), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	time.Sleep(outage(t))
	if raw, err := os.ReadFile(filepath.Join(n.Control, resultFile)); err == nil {
		t.Fatalf("the sender concluded without a store: %s", raw)
	}
	s.start(t)
	if got := n.result(t); got != allStored || !s.has("data", "second", "2") {
		t.Errorf("%s; the second file in the bucket: %t", got, s.has("data", "second", "2"))
	}
}

func TestSendingThatFails(t *testing.T) {
	s := newStore(t)
	s.fill(t, "data", map[string]int{"a": 1})
	n := newNode(t, s, "data")
	n.pause(t)
	n.write(t, "b", "2")
	wrong := s.variables()
	wrong["AWS_SECRET_ACCESS_KEY"] = "another-secret"
	n.begin(t, wrong)
	if got := n.result(t); !strings.Contains(got, "check the secrets") || strings.Contains(got, "another-secret") {
		t.Error(got)
	}
}
