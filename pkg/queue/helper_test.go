package queue

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"io"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"

	"k8s-cli/pkg/queue/internal/natstest"
	"k8s-cli/pkg/task"
	"k8s-cli/test/testkit/must"
)

// A fakeStateMachine is a StateMachine that records its calls. The result of a command is the
// id of the command and the number of commands before it. Like the state, the fakeStateMachine
// folds an entry once that is stored twice.
type fakeStateMachine struct {
	changed notifier

	mu       sync.Mutex
	entries  []task.Entry
	ids      []string // of submissions and stops, in order
	resets   int
	restored int
	written  map[string]uint64 // number of the last entry by writer
	last     map[string][]task.Result
}

func (m *fakeStateMachine) Fold(e task.Entry) ([]task.Result, error) {
	defer m.changed.notify()
	m.mu.Lock()
	defer m.mu.Unlock()
	if e.Writer != "" && e.Number == m.written[e.Writer] { // NATS acknowledged it late, and the writer repeated it
		return m.last[e.Writer], nil
	}
	results := make([]task.Result, 0, len(e.Commands))
	for _, raw := range e.Commands {
		c, err := task.DecodeCommand(raw)
		if err != nil {
			return nil, err
		}
		id := idOf(c)
		results = append(results, task.Result{ID: id, Count: len(m.ids)})
		m.ids = append(m.ids, id)
	}
	m.entries = append(m.entries, e)
	if m.written == nil {
		m.written, m.last = map[string]uint64{}, map[string][]task.Result{}
	}
	m.written[e.Writer], m.last[e.Writer] = e.Number, results
	return results, nil
}

func (m *fakeStateMachine) Written(writer string) (uint64, []task.Result) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.written[writer], m.last[writer]
}

// A fakeState is the content of a snapshot of a fakeStateMachine.
type fakeState struct {
	IDs     []string                 `json:"ids"`
	Written map[string]uint64        `json:"written"`
	Last    map[string][]task.Result `json:"last"`
}

func (m *fakeStateMachine) Restore(r io.Reader) error {
	var p fakeState
	if err := json.NewDecoder(r).Decode(&p); err != nil {
		return err
	}
	defer m.changed.notify()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.entries, m.ids, m.written, m.last = nil, p.IDs, p.Written, p.Last
	m.restored++
	return nil
}

// snapshot returns the state of the machine after its last entry.
func (m *fakeStateMachine) snapshot(t *testing.T, log *running) *snapshot {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	raw := must.Encode(t, fakeState{m.ids, m.written, m.last})
	sum := sha256.Sum256(raw)
	return &snapshot{log.follower.id(), m.entries[len(m.entries)-1].Seq, hex.EncodeToString(sum[:]), raw}
}

type snapshot struct {
	log  string
	seq  uint64
	hash string
	raw  []byte
}

func (s *snapshot) Log() string  { return s.log }
func (s *snapshot) Seq() uint64  { return s.seq }
func (s *snapshot) Hash() string { return s.hash }
func (s *snapshot) Encode(w io.Writer) error {
	_, err := w.Write(s.raw)
	return err
}

func (m *fakeStateMachine) timesRestored() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.restored
}

func (m *fakeStateMachine) Reset() {
	defer m.changed.notify()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.entries, m.ids, m.written, m.resets = nil, nil, nil, m.resets+1
}

func (m *fakeStateMachine) seen() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.ids)
}

// wantSeen compares the ids of the folded commands.
func (m *fakeStateMachine) wantSeen(t *testing.T, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, m.seen()); diff != "" {
		t.Errorf("commands (-want +got):\n%s", diff)
	}
}

func (m *fakeStateMachine) stored() []task.Entry {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.entries)
}

func (m *fakeStateMachine) timesReset() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.resets
}

// await blocks until reached returns true.
func (m *fakeStateMachine) await(t *testing.T, what string, reached func() bool) {
	t.Helper()
	if err := m.changed.wait(natstest.Context(t), reached); err != nil {
		t.Fatalf("%s: %v; seen %v after %d resets", what, err, m.seen(), m.timesReset())
	}
}

func idOf(c task.Command) string {
	switch {
	case c.Submit != nil:
		return c.Submit.ID
	case c.Stop != nil:
		return c.Stop.ID
	}
	return ""
}

// TestMain runs more tests at once than there are processors, because the tests mostly wait for
// NATS.
func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	m.Run()
}

// A running log stops when the test ends or when stop is called.
type running struct {
	*Log
	nats *nats.Conn
	stop func() error // stops Run and returns its error
}

// follow opens the log behind nc and runs it into machine.
func follow(t *testing.T, nc *nats.Conn, c Config, machine StateMachine) *running {
	t.Helper()
	l := open(t, nc, c)
	return &running{l, nc, must.Run(t, func(ctx context.Context) error { return l.Run(ctx, machine) })}
}

// open opens the log, with as many attempts as a busy cluster needs. Calls wait for the log for
// as long as a slow machine needs.
func open(t *testing.T, nc *nats.Conn, c Config) (l *Log) {
	t.Helper()
	c.AppendTimeout = natstest.Timeout
	natstest.Patiently(t, func() (err error) {
		l, err = Open(t.Context(), nc, c)
		return err
	})
	return l
}

// start returns a log on a directory of its own, and the machine into which it is folded.
func start(t *testing.T) (*running, *fakeStateMachine) {
	t.Helper()
	m := &fakeStateMachine{}
	return follow(t, natstest.Connect(t, natstest.Embed(t, t.TempDir())), Config{SingleWriter: true}, m), m
}

// put appends a submission and returns its result.
func (r *running) put(t *testing.T, id string) task.Result {
	t.Helper()
	v, err := r.Append(t.Context(), natstest.Submission(id))
	if err != nil {
		t.Fatalf("append %s: %v", id, err)
	}
	return v
}

// sending appends a submission and returns once the submission is in flight. leave makes the
// caller leave, and returns the error that the caller gets.
func (r *running) sending(t *testing.T, id string) (leave func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := r.Append(ctx, natstest.Submission(id))
		ended <- err
	}()
	natstest.Eventually(t, id+" to be in flight", func() bool { return !r.writer.hasFoldedAll() })
	return func() error {
		cancel()
		return <-ended
	}
}

// waitReadIndex waits until the pod has applied the end of the log, even through an outage.
func (r *running) waitReadIndex(t *testing.T) {
	t.Helper()
	ctx := natstest.Context(t)
	for {
		if _, ok := r.WaitReadIndex(ctx); ok {
			return
		}
		select {
		case <-r.readIndex.request().done:
		case <-ctx.Done():
			t.Fatal("the log's end stays out of reach")
		}
	}
}

func noise(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b)
	return b
}
