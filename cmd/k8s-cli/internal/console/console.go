// Package console provides the standard streams of a command, and its terminal. Results go to Out,
// all other output goes to ErrOut.
package console

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"k8s-cli/cmd/k8s-cli/internal/show"
)

// A Console holds the streams of a command and what their terminals can do.
type Console struct {
	In       io.Reader
	Out      *Output
	ErrOut   io.Writer
	Style    show.Style                 // of Out
	Size     func() (columns, rows int) // of the terminal that Out is; nil for other outputs
	ErrStyle show.Style                 // of ErrOut

	Asks        bool // In is a terminal, so that a person can answer questions
	Interactive bool // In and ErrOut are terminals, so that a person can log in
}

// New returns the console of a process with these standard streams.
func New(in, out, errOut *os.File, getenv func(string) string) Console {
	return Console{
		In:       in,
		Out:      NewOutput(out),
		ErrOut:   errOut,
		Style:    styleOf(out, getenv),
		Size:     sizeOf(out),
		ErrStyle: styleOf(errOut, getenv),

		Asks:        term.IsTerminal(int(in.Fd())),
		Interactive: term.IsTerminal(int(in.Fd())) && term.IsTerminal(int(errOut.Fd())),
	}
}

func styleOf(f *os.File, getenv func(string) string) show.Style {
	screen := int(f.Fd())
	if !term.IsTerminal(screen) {
		return show.Style{}
	}
	width, _, _ := term.GetSize(screen) // 0, which means any width, if the terminal reports none
	clever := getenv("TERM") != "dumb"
	return show.Style{Color: getenv("NO_COLOR") == "" && clever, Width: width, Live: clever}
}

// sizeOf returns a function that returns the present size of a terminal.
func sizeOf(f *os.File) func() (columns, rows int) {
	if !term.IsTerminal(int(f.Fd())) {
		return nil
	}
	return func() (columns, rows int) {
		columns, rows, _ = term.GetSize(int(f.Fd()))
		if columns == 0 || rows == 0 {
			return 80, 24
		}
		return columns, rows
	}
}

// Say writes a line to ErrOut, without characters that control a terminal.
func (c *Console) Say(format string, args ...any) {
	fmt.Fprintln(c.ErrOut, show.Plain(fmt.Sprintf(format, args...)))
}

// Warn writes a warning to ErrOut.
func (c *Console) Warn(format string, args ...any) {
	fmt.Fprintln(c.ErrOut, c.ErrStyle.Warning("Warning: "+fmt.Sprintf(format, args...)))
}

// Fail writes an error to ErrOut.
func (c *Console) Fail(text string) {
	fmt.Fprintln(c.ErrOut, c.ErrStyle.Error("Error: "+text))
}

// Done writes to Out that an operation succeeded, with fields below the headline.
func (c *Console) Done(headline string, fields ...show.Field) {
	show.Done(c.Out, c.Style, headline, fields...)
}

// Line replaces the last line of ErrOut by text.
func (c *Console) Line(text string) {
	fmt.Fprint(c.ErrOut, c.ErrStyle.Line(text))
}

// Confirm asks a question and reports whether the answer is yes. Without a terminal, or
// without an answer, Confirm returns an error that names unasked, the flag that skips the
// question.
func (c *Console) Confirm(question, unasked string) (bool, error) {
	if !c.Asks {
		return false, fmt.Errorf("cannot ask for confirmation without a terminal; pass %s to skip the prompt", unasked)
	}
	fmt.Fprintf(c.ErrOut, "%s [y/N]: ", show.Plain(question))
	line, err := bufio.NewReader(c.In).ReadString('\n')
	if err != nil && err != io.EOF {
		return false, fmt.Errorf("read the answer: %w", err)
	}
	answer := strings.ToLower(strings.TrimSpace(line))
	if err == io.EOF {
		fmt.Fprintln(c.ErrOut)
		if answer == "" {
			return false, fmt.Errorf("no answer on stdin; pass %s to skip the prompt", unasked)
		}
	}
	return answer == "y" || answer == "yes", nil
}
