package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s-cli/test/testkit/must"
)

func TestScreen(t *testing.T) {
	for _, tt := range []struct {
		name, text, want string
		x, y             int
	}{
		{"lines", "a\r\nb", "a\nb\n", 1, 1},
		{"carriage return", "abc\rx", "xbc\n", 1, 0},
		{"backspace", "ab\bc", "ac\n", 2, 0},
		{"erase to the end of the line", "abc\r\x1b[Kx", "x\n", 1, 0},
		{"erase below", "a\r\nb\r\nc\x1b[2A\rx\x1b[J", "x\n", 1, 0},
		{"cursor to the sides", "abc\x1b[2Dx\x1b[Cy", "axcy\n", 4, 0},
		{"a full line waits for the next character", strings.Repeat("a", columns), strings.Repeat("a", columns) + "\n", columns, 0},
		{"a longer line continues below", strings.Repeat("a", columns+1), strings.Repeat("a", columns) + "\na\n", 1, 1},
		{"modes and styles are not text", "\x1b[?2004h\x1b[1;32m✓\x1b[0m", "✓\n", 1, 0},
		{"bell", "a\ab", "ab\n", 2, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var s screen
			must.Succeed(t, s.write(tt.text))
			if s.text() != tt.want || s.x != tt.x || s.y != tt.y {
				t.Errorf("the screen is %q with the cursor at %d, %d, want %q, %d, %d", s.text(), s.x, s.y, tt.want, tt.x, tt.y)
			}
		})
	}
}

// A sequence without an effect would show the wrong text.
func TestUnknownSequencesAreErrors(t *testing.T) {
	for _, text := range []string{"\x1b[2J", "\x1b[1K", "\x1b[5;5H", "\x1b[4m", "\x1b[xm", "\x1b]0;title\a", "\x1b(B", "\t", "\x1b[1;2A"} {
		var s screen
		if err := s.write(text); err == nil {
			t.Errorf("%q is no error", text)
		}
	}
}

func TestPartsOfSequencesAreNotComplete(t *testing.T) {
	for text, want := range map[string]bool{
		"": true, "a": true, "\x1b[1m": true, "\x1b[1ma": true, "✓": true,
		"\x1b": false, "\x1b[": false, "a\x1b[1;": false, "\x1b[0m\x1b[": false, "a\xe2\x9c": false,
	} {
		if isComplete(text) != want {
			t.Errorf("isComplete(%q) is %v", text, !want)
		}
	}
}

func TestShorten(t *testing.T) {
	const ms = time.Millisecond
	got := shorten([]event{{0, "a"}, {5 * ms, "b"}, {9000 * ms, "c"}, {9100 * ms, "d"}, {9110 * ms, "e"}}, 2*time.Second, 20*ms)
	want := []event{{0, "ab"}, {2005 * ms, "c"}, {2105 * ms, "de"}}
	if !slices.Equal(got, want) {
		t.Errorf("the events are %v, want %v", got, want)
	}
}

func TestCastIsReadAsItWasWritten(t *testing.T) {
	events := []event{{0, "$ "}, {1234 * time.Millisecond, "\x1b[32m✓\x1b[0m <a>\r\n"}}
	cast, err := encodeCast("title", events)
	must.Succeed(t, err)
	if want := `{"version":2,"width":80,"height":24,"title":"title"}` + "\n" + `[0,"o","$ "]` + "\n"; !strings.HasPrefix(string(cast), want) {
		t.Errorf("the recording is %s, want it to begin with %s", cast, want)
	}
	name, got, err := decodeCast(cast)
	if err != nil || name != "title" || !slices.Equal(got, events) {
		t.Errorf("the recording is read as %q, %v, %v", name, got, err)
	}
}

// checkXML checks that a browser can show the SVG as an image: well-formed, without scripts
// and without references to other files.
func checkXML(t *testing.T, svg string) {
	t.Helper()
	for d := xml.NewDecoder(strings.NewReader(svg)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		must.Succeed(t, err)
		if e, ok := token.(xml.StartElement); ok && !slices.Contains([]string{"svg", "title", "style", "g", "rect", "text"}, e.Name.Local) {
			t.Errorf("the SVG has the element %s", e.Name.Local)
		}
	}
}

// The committed SVG is that of the committed recording.
func TestSVGIsUpToDate(t *testing.T) {
	const path = "../../docs/images/demo"
	cast := must.Read(t, path+".cast")
	want, err := draw(cast)
	must.Succeed(t, err)
	got := must.Read(t, path+".svg")
	if string(got) != string(want) {
		t.Errorf("%s.svg is not the drawing of %s.cast; run go run ./test/demo", path, path)
	}
	if limit := 150 << 10; len(got) > limit {
		t.Errorf("%s.svg has %d bytes, more than %d", path, len(got), limit)
	}
	checkXML(t, string(got))
	_, events, err := decodeCast(cast)
	must.Succeed(t, err)
	for i := range len(events) - 1 {
		if pause := events[i+1].at - events[i].at; pause > longestPause+frame {
			t.Errorf("nothing happens for %v after %v", pause, events[i].at)
		}
	}
	for _, s := range session {
		if !strings.Contains(pageText(t, events), s.command) {
			t.Errorf("the recording lacks the command %s; run make demo", s.command)
		}
	}
}

// pageText returns all lines of a session.
func pageText(t *testing.T, events []event) string {
	t.Helper()
	f, err := filmOf(events)
	must.Succeed(t, err)
	var b strings.Builder
	for _, l := range f.lines {
		b.WriteString(textOf(l.cells) + "\n")
	}
	return b.String()
}

func TestCommandsFitInALine(t *testing.T) {
	for _, s := range session {
		if len(prompt+s.command) >= columns {
			t.Errorf("the command has %d characters: %s", len(s.command), s.command)
		}
	}
}

func TestShellRunsTheStepsInATerminal(t *testing.T) {
	s, err := startShell(t.Context(), t.TempDir(), []string{"PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8"})
	must.Succeed(t, err)
	steps := []step{
		{command: "stty size"},
		{command: "# a comment"},
		{command: "sh -c 'echo x; exec sleep 1000'", interrupt: func(output string) bool { return strings.Contains(output, "\nx\n") }},
		{command: "echo $?"},
	}
	must.Succeed(t, play(t.Context(), s, steps, pace{}))
	got := pageText(t, s.close())
	want := regexp.MustCompile(`^\$ stty size\n24 80\n\$ # a comment\n\$ sh -c 'echo x; exec sleep 1000'\nx\n\^C\n\$ echo \$\?\n130\n\$\n`)
	if !want.MatchString(got) {
		t.Errorf("the session is:\n%s", got)
	}
}

func TestShellThatEndsIsAnError(t *testing.T) {
	s, err := startShell(t.Context(), t.TempDir(), []string{"PATH=" + os.Getenv("PATH")})
	must.Succeed(t, err)
	err = play(t.Context(), s, []step{{command: "exit"}}, pace{})
	s.close()
	if !errors.Is(err, io.EOF) || !strings.Contains(err.Error(), "the screen shows:\n$ exit") {
		t.Errorf("the error is %v", err)
	}
}
