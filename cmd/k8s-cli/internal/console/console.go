// Package console has the streams of a command: results go to Out, everything else
// to ErrOut.
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

// A Console is what a command reads and writes.
type Console struct {
	In       io.Reader
	Out      *Output
	ErrOut   io.Writer
	Style    show.Style // of Out
	ErrStyle show.Style // of ErrOut

	Interactive bool // a person reads ErrOut and answers by In
}

// New returns the console of a process with these files.
func New(in, out, errOut *os.File, getenv func(string) string) Console {
	return Console{
		In:       in,
		Out:      NewOutput(out),
		ErrOut:   errOut,
		Style:    styleOf(out, getenv),
		ErrStyle: styleOf(errOut, getenv),

		Interactive: term.IsTerminal(int(in.Fd())) && term.IsTerminal(int(errOut.Fd())),
	}
}

func styleOf(f *os.File, getenv func(string) string) show.Style {
	screen := int(f.Fd())
	if !term.IsTerminal(screen) {
		return show.Style{}
	}
	width, _, _ := term.GetSize(screen) // 0, any width, if the terminal does not say
	clever := getenv("TERM") != "dumb"
	return show.Style{Color: getenv("NO_COLOR") == "" && clever, Width: width, Live: clever}
}

// Say writes a line to ErrOut, on which a terminal obeys nothing.
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

// Done writes to Out that something succeeded, and its fields below.
func (c *Console) Done(headline string, fields ...show.Field) {
	show.Done(c.Out, c.Style, headline, fields...)
}

// Line puts text in the place of the last line of ErrOut.
func (c *Console) Line(text string) {
	fmt.Fprint(c.ErrOut, c.ErrStyle.Line(text))
}

// Confirm asks a question and reports whether the answer is yes. No answer is an
// error, which names the flag that does without the question.
func (c *Console) Confirm(question, unasked string) (bool, error) {
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
