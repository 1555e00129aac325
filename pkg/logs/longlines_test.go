package logs

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"k8s-cli/pkg/task"
	"k8s-cli/test/testkit/must"
)

// endless is a line without an end.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func TestALongLineIsNotHeldAsAWhole(t *testing.T) {
	const size = 16 << 20
	in := io.MultiReader(strings.NewReader(at(1)), io.LimitReader(endless{}, size), strings.NewReader("\n"+at(2)+"next\n"))
	before, most, length := liveHeap(), 0, 0
	var last line
	_, err := scan(in, func(lines []line) error {
		for _, l := range lines {
			if len(l.raw) > bufferSize {
				t.Fatalf("a piece of %d bytes", len(l.raw))
			}
			if length += len(l.text); length%(4<<20) < bufferSize {
				most = max(most, liveHeap()-before)
			}
			last = l
		}
		return nil
	})
	if err != nil || length != size+len("\nnext\n") || string(last.text) != "next\n" || last.isMore {
		t.Errorf("%d bytes of text, the last line %q, %v", length, last.text, err)
	}
	if most > 4<<20 {
		t.Errorf("%d bytes are held", most)
	}
}

// TestALongLineIsReadOn checks that the pieces of a long line have the same sums on each
// connection, even if the line had no newline.
func TestALongLineIsReadOn(t *testing.T) {
	broken := errors.New("connection reset")
	long := at(1) + strings.Repeat("x", 5*bufferSize)
	for name, cut := range map[string]int{"within a piece": 2*bufferSize + 99, "between pieces": 2 * bufferSize, "at its end": len(long)} {
		s, out := onto("", task.LogOptions{})
		if err := copyAll(s, io.MultiReader(strings.NewReader(long[:cut]), iotest.ErrReader(broken))); !errors.Is(err, broken) {
			t.Fatal(err)
		}
		if err := copyAll(s, strings.NewReader(long)); err != nil { // passRemaining adds the newline
			t.Fatal(err)
		}
		must.Succeed(t, copyAll(s, strings.NewReader(long+"\n"+at(2)+"next\n")))
		if want := long[len(at(1)):] + "\nnext\n"; out.String() != want {
			t.Errorf("%s: %d bytes, want %d", name, out.Len(), len(want))
		}
	}
}

// TestLongLinesOfTwoNodes checks that the lines of another node wait until a long line is
// complete, but not for longer than lineWait. The rest of the line is then a line of its own.
func TestLongLinesOfTwoNodes(t *testing.T) {
	var pieces []line
	if _, err := scan(strings.NewReader(at(1)+strings.Repeat("x", 2*bufferSize)+"\n"), func(l []line) error { pieces = append(pieces, l...); return nil }); err != nil || len(pieces) != 3 {
		t.Fatalf("%d pieces, %v", len(pieces), err)
	}
	first, rest := string(pieces[0].text)+string(pieces[1].text), string(pieces[2].text)
	for _, tt := range []struct {
		name  string
		after time.Duration
		want  string
	}{
		{"in time", lineWait - time.Second, "node-0 | " + first + rest + "node-1 | xxx\n"},
		{"late", lineWait + time.Second, "node-0 | " + first + "\nnode-1 | xxx\nnode-0 | " + rest},
	} {
		t.Run(tt.name, func(t *testing.T) {
			other := linesOf(t, 3)
			synctest.Test(t, func(t *testing.T) {
				var buffer bytes.Buffer
				out := &output{w: bufio.NewWriter(&buffer), failed: func(error) {}}
				write := func(lines []line, prefix string) {
					if err := out.write(lines, prefix, false); err != nil {
						t.Error(err)
					}
				}
				write(pieces[:1], "node-0 | ")
				go write(other, "node-1 | ")
				synctest.Wait()
				write(pieces[1:2], "node-0 | ")
				time.Sleep(tt.after)
				write(pieces[2:], "node-0 | ")
				synctest.Wait()
				if buffer.String() != tt.want {
					t.Errorf("%.80q and so on, %d bytes, want %d", buffer.String(), buffer.Len(), len(tt.want))
				}
			})
		})
	}
}

// TestAnIncompleteLineDoesNotDelayTheEnd checks that a stream does not wait for the line of
// another stream when the reader has gone.
func TestAnIncompleteLineDoesNotDelayTheEnd(t *testing.T) {
	var pieces []line
	_, _ = scan(strings.NewReader(at(1)+strings.Repeat("x", 2*bufferSize)), func(l []line) error { pieces = append(pieces, l...); return nil })
	other := linesOf(t, 3)
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		out := &output{w: bufio.NewWriter(io.Discard), failed: func(error) {}, done: ctx.Done()}
		must.Succeed(t, out.write(pieces[:1], "node-0 | ", false))
		began := time.Now()
		ended := false
		go func() { _ = out.write(other, "node-1 | ", false); ended = true }()
		synctest.Wait()
		cancel()
		synctest.Wait()
		if waited := time.Since(began); waited > 0 || !ended {
			t.Errorf("the stream waited %s; it ended: %t", waited, ended)
		}
	})
}

// TestArchivedLogWithALongLine checks that a reader that has read a part of a long line
// gets the rest from the archive.
func TestArchivedLogWithALongLine(t *testing.T) {
	w := newHubFixture(t)
	s := newFakeStore()
	w.store = s
	w.set(0, nil, task.Completed)
	long := at(2) + strings.Repeat("x", 3*bufferSize) + "\n"
	_ = s.Store(t.Context(), "a/0", map[string]string{aboutPod: "pod-0", aboutCut: "7", aboutShort: "true"}, []byte(at(1)+"one\n"+long+at(3)+"three\n"))
	text := long[len(at(2)):]
	note := "[k8s-cli: 7 bytes before this line were not archived, because many logs ended at once]\n"
	for _, tt := range []struct {
		name string
		o    task.LogOptions
		want string
	}{
		{"all", task.LogOptions{}, note + "one\n" + text + "three\n"},
		{"the last line", task.LogOptions{Tail: new(int64(1))}, "three\n"},
		{"the last two", task.LogOptions{Tail: new(int64(2))}, text + "three\n"},
		{"the last three", task.LogOptions{Tail: new(int64(3))}, "one\n" + text + "three\n"},
	} {
		if got := w.read(t, tt.o); got != tt.want {
			t.Errorf("%s: %d bytes, want %d", tt.name, len(got), len(tt.want))
		}
	}
	st, out := onto("", task.LogOptions{})
	st.tailer, st.task = w.Tailer, "a"
	if _, err := st.copy(strings.NewReader(at(1) + "one\n" + long[:2*bufferSize])); err != nil {
		t.Fatal(err)
	}
	st.copyArchived(t.Context())
	if want := "one\n" + text + "three\n"; out.String() != want {
		t.Errorf("read on: %d bytes, want %d", out.Len(), len(want))
	}
}

// TestATailOfLongLinesIsNotCounted checks that a tail of long lines takes no more memory
// than other tails.
func TestATailOfLongLinesIsNotCounted(t *testing.T) {
	w := newHubFixture(t)
	for range 40 {
		w.write(bytes.Repeat([]byte("x"), 200_000), time.Second)
	}
	w.write([]byte("last"), time.Second)
	got := w.read(t, task.LogOptions{Tail: new(int64(41))})
	if !strings.HasSuffix(got, "x\nlast\n") || len(got) > 41*pieceSize {
		t.Errorf("%d bytes, want what the kubelet takes for 41 lines", len(got))
	}
}

func TestHubsShareTheirMemory(t *testing.T) {
	for _, tt := range []struct{ hubs, want int }{{0, hubSize}, {1, hubSize}, {16, hubSize}, {64, hubsSize / 64}, {256, hubLeast}, {1000, hubLeast}} {
		s := hubs{byUID: map[string]*hub{}}
		for i := range tt.hubs {
			s.byUID[string(rune(i))] = nil
		}
		if got := s.share(); got != tt.want {
			t.Errorf("%d hubs hold %d bytes each, want %d", tt.hubs, got, tt.want)
		}
	}
}
