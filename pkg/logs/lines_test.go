package logs

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"k8s-cli/pkg/task"
)

// at returns the time of a line, a number of nanoseconds after a full second.
func at(nanosecond int) string { return fmt.Sprintf("2025-10-05T12:00:00.%09dZ ", nanosecond) }

// onto returns a stream and the buffer to which the stream writes.
func onto(prefix string, o task.LogOptions) (*stream, *bytes.Buffer) {
	var out bytes.Buffer
	s := &stream{prefix: prefix, options: o, out: &output{w: bufio.NewWriter(&out), failed: func(error) {}}}
	s.pass = s.write
	return s, &out
}

// copyAll copies in as the last connection to an ended pod.
func copyAll(s *stream, in io.Reader) error {
	rest, err := s.copy(in)
	if err != nil {
		return err
	}
	return s.passRemaining(rest)
}

func TestLinesAreCopiedByteForByte(t *testing.T) {
	long := strings.Repeat("x", 300_000)
	for _, tt := range []struct {
		name, prefix string
		timestamps   bool
		in, want     string
	}{
		{"nothing", "", false, "", ""},
		{"two lines", "", false, at(1) + "one\n" + at(2) + "two\n", "one\ntwo\n"},
		{"blank lines", "", false, at(1) + "\n" + at(2) + "\n" + at(3) + " \n", "\n\n \n"},
		{"a line that looks like its time", "", false, at(1) + at(2) + "x\n", at(2) + "x\n"},
		{"carriage returns", "", false, at(1) + "10%\r20%\r\n", "10%\r20%\r\n"},
		{"no last newline", "", false, at(1) + "one\n" + at(2) + "two", "one\ntwo\n"},
		{"bytes that are no text", "", false, at(1) + "\x00\xff\x1b[31m\n", "\x00\xff\x1b[31m\n"},
		{"a very long line", "", false, at(1) + long + "\n" + at(2) + "two\n", long + "\ntwo\n"},
		{"a very long line with a prefix", "node-1 | ", false, at(1) + long + "\n", "node-1 | " + long + "\n"},
		{"a prefix for each line", "node-0 | ", false, at(1) + "one\n" + at(2) + "\n", "node-0 | one\nnode-0 | \n"},
		{"times, if asked", "", true, at(120) + "one\n", "2025-10-05T12:00:00.00000012Z one\n"},
		{"a prefix comes before the time", "node-0 | ", true, at(5) + "one\n", "node-0 | 2025-10-05T12:00:00.000000005Z one\n"},
		{"times of another zone", "", true, "2025-10-05T14:00:00+02:00 one\n", "2025-10-05T14:00:00+02:00 one\n"},
		{"lines of one moment", "", false, at(1) + "a\n" + at(1) + "b\n" + at(1) + "c\n", "a\nb\nc\n"},
		{"the same line twice", "", false, at(1) + "a\n" + at(1) + "a\n", "a\na\n"},
		{"a clock that goes back", "", false, at(2) + "a\n" + at(1) + "b\n", "a\nb\n"},
	} {
		for how, in := range map[string]io.Reader{
			"at once": strings.NewReader(tt.in), "byte by byte": iotest.OneByteReader(strings.NewReader(tt.in)),
		} {
			t.Run(tt.name+" "+how, func(t *testing.T) {
				s, out := onto(tt.prefix, task.LogOptions{Timestamps: tt.timestamps})
				if err := copyAll(s, in); err != nil || out.String() != tt.want {
					t.Errorf("%.200q, %v, want %.200q", out.String(), err, tt.want)
				}
			})
		}
	}
}

// TestALogIsReadOnWithoutLossOrRepeats copies a log over several connections. Each of parts
// is the content of one connection. The API server begins a further connection with the
// second of the last line.
func TestALogIsReadOnWithoutLossOrRepeats(t *testing.T) {
	broken := errors.New("connection reset")
	cut := func(text string) io.Reader { return io.MultiReader(strings.NewReader(text), iotest.ErrReader(broken)) }
	for _, tt := range []struct {
		name  string
		parts []io.Reader
		want  string
	}{
		{"between two lines", []io.Reader{cut(at(1) + "a\n" + at(2) + "b\n"), cut(at(1) + "a\n" + at(2) + "b\n" + at(3) + "c\n")}, "a\nb\nc\n"},
		{"within a line", []io.Reader{cut(at(1) + "a\n" + at(2) + "hal"), cut(at(1) + "a\n" + at(2) + "half\n")}, "a\nhalf\n"},
		{"within a time", []io.Reader{cut(at(1) + "a\n" + at(2)[:9]), cut(at(1) + "a\n" + at(2) + "b\n")}, "a\nb\n"},
		{"between lines of one moment", []io.Reader{
			cut(at(1) + "a\n" + at(1) + "b\n"), cut(at(1) + "a\n" + at(1) + "b\n" + at(1) + "c\n"), cut(at(1) + "a\n" + at(1) + "b\n" + at(1) + "c\n" + at(2) + "d\n"),
		}, "a\nb\nc\nd\n"},
		{"between equal lines of one moment", []io.Reader{cut(at(1) + "a\n"), cut(at(1) + "a\n" + at(1) + "a\n")}, "a\na\n"},
		{"with nothing new", []io.Reader{cut(at(1) + "a\n"), cut(at(1) + "a\n"), cut(at(1) + "a\n"), cut(at(1) + "a\n" + at(2) + "b\n")}, "a\nb\n"},
		{"lines out of order", []io.Reader{
			cut(at(7) + "a\n" + at(3) + "b\n"), cut(at(7) + "a\n" + at(3) + "b\n" + at(5) + "c\n"), cut(at(7) + "a\n" + at(3) + "b\n" + at(5) + "c\n" + at(4) + "d\n"),
		}, "a\nb\nc\nd\n"},
		{"after the log was rotated", []io.Reader{cut(at(1) + "a\n" + at(2) + "b\n" + at(2) + "b\n"), cut(at(2) + "b\n" + at(3) + "c\n"), cut(at(4) + "d\n")}, "a\nb\nb\nc\nd\n"},
		{"from within a long line", []io.Reader{cut(at(1) + "a\n"), cut("the end of a long line\n" + at(1) + "a\n" + at(2) + "b\n")}, "a\nb\n"},
		{"before anything came", []io.Reader{cut(""), cut(at(1) + "a\n")}, "a\n"},
		{"again while it repeats", []io.Reader{cut(at(1) + "a\n" + at(2) + "b\n"), cut(at(1) + "a\n"), cut(at(1) + "a\n" + at(2) + "b\n" + at(3) + "c\n")}, "a\nb\nc\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, out := onto("", task.LogOptions{})
			for i, part := range tt.parts {
				if err := copyAll(s, part); !errors.Is(err, broken) {
					t.Errorf("connection %d: %v", i+1, err)
				}
			}
			if got := out.String(); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

func TestALineWithoutItsTimeIsAnError(t *testing.T) {
	for _, in := range []string{"hello world\n", "\n", "2025-10-05 12:00:00 x\n", strings.Repeat("x", 2*bufferSize), "unable to retrieve container logs for containerd://1"} {
		s, out := onto("", task.LogOptions{})
		if err := copyAll(s, strings.NewReader(at(1)+"one\n"+in)); err == nil {
			t.Errorf("%.60q: no error, output %q", in, out)
		}
	}
}

func TestAReaderThatLeaves(t *testing.T) {
	left := errors.New("broken pipe")
	var told error
	s, _ := onto("", task.LogOptions{})
	s.out = &output{w: bufio.NewWriter(failing{left}), failed: func(err error) { told = err }}
	if err := copyAll(s, strings.NewReader(at(1)+"one\n"+at(2)+"two\n")); !errors.Is(err, left) || !errors.Is(told, left) {
		t.Errorf("error %v, told %v", err, told)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func FuzzLines(f *testing.F) {
	f.Add("one\ntwo\n\n", 5)
	f.Add("\x00\r\n \n", 1)
	f.Fuzz(func(t *testing.T, text string, cut int) {
		var in, want strings.Builder
		moment := 0
		for line := range strings.Lines(text) {
			if !strings.HasSuffix(line, "\n") {
				line += "\n"
			}
			moment += len(line) % 2 // some lines have equal times
			in.WriteString(at(moment) + line)
			want.WriteString(line)
		}
		cut = min(max(cut, 0), in.Len())
		s, out := onto("", task.LogOptions{})
		_ = copyAll(s, io.MultiReader(strings.NewReader(in.String()[:cut]), iotest.ErrReader(io.ErrUnexpectedEOF)))
		if err := copyAll(s, strings.NewReader(in.String())); err != nil || out.String() != want.String() {
			t.Errorf("cut at %d of %q: %q, %v", cut, in.String(), out.String(), err)
		}
	})
}
