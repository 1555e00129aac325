// Package logline selects and marks the lines of a task's log.
package logline

import (
	"bytes"
	"io"
	"regexp"
	"strconv"
)

// maxLine is the number of bytes by which a writer decides about a longer line.
const maxLine = 1 << 20

// Options says what a writer does with lines. The zero Options change nothing.
type Options struct {
	Grep    []*regexp.Regexp // only lines that match one of these; empty for all
	Exclude []*regexp.Regexp // no lines that match one of these
	Prefix  string           // before each line
	// Paint returns the prefix of the lines of a node in its colour; nil for no colours.
	Paint func(rank int, prefix string) string
}

// A Writer writes lines to another writer. It matches the expressions with a line without the
// prefix "node-RANK | " of tasks with several nodes.
type Writer struct {
	out     io.Writer
	options Options
	line    []byte // begins a line whose end has not come yet
	decided bool   // the beginning of the line exceeded maxLine and is already written, or dropped
	drop    bool   // only if decided
}

// New returns a writer to out. The caller must call Close after the last line.
func New(out io.Writer, o Options) *Writer { return &Writer{out: out, options: o} }

// isPlain reports whether the writer changes nothing.
func (w *Writer) isPlain() bool {
	o := w.options
	return len(o.Grep) == 0 && len(o.Exclude) == 0 && o.Prefix == "" && o.Paint == nil
}

// Write passes on the complete lines of text, each in one call of the other writer.
func (w *Writer) Write(text []byte) (int, error) {
	if w.isPlain() {
		return w.out.Write(text)
	}
	for rest := text; len(rest) > 0; {
		end := bytes.IndexByte(rest, '\n') + 1
		part := rest[:end]
		if end == 0 {
			part = rest
		}
		rest = rest[len(part):]
		w.line = append(w.line, part...)
		if end == 0 && len(w.line) < maxLine {
			break
		}
		if err := w.flush(end == 0); err != nil {
			return 0, err
		}
	}
	return len(text), nil
}

// Close writes a line without an end.
func (w *Writer) Close() error {
	if len(w.line) == 0 {
		return nil
	}
	return w.flush(false)
}

// flush writes or drops the collected part of a line. more says that the line continues.
func (w *Writer) flush(more bool) error {
	line := w.line
	w.line = w.line[:0]
	begins := !w.decided
	if begins {
		w.drop = !w.wants(line)
	}
	w.decided = more
	if w.drop {
		return nil
	}
	if begins {
		line = w.marked(line)
	}
	_, err := w.out.Write(line)
	return err
}

var nodePrefix = regexp.MustCompile(`^node-([0-9]{1,6}) \| `)

func (w *Writer) wants(line []byte) bool {
	text := bytes.TrimSuffix(line[len(nodePrefix.Find(line)):], []byte("\n"))
	return (len(w.options.Grep) == 0 || matches(w.options.Grep, text)) && !matches(w.options.Exclude, text)
}

func matches(all []*regexp.Regexp, text []byte) bool {
	for _, e := range all {
		if e.Match(text) {
			return true
		}
	}
	return false
}

// marked returns the line with the prefix, and with the colour of its node.
func (w *Writer) marked(line []byte) []byte {
	prefix := w.options.Prefix
	if found := nodePrefix.FindSubmatch(line); found != nil && w.options.Paint != nil {
		rank, _ := strconv.Atoi(string(found[1])) // at most six digits
		prefix += w.options.Paint(rank, string(found[0]))
		line = line[len(found[0]):]
	}
	return append([]byte(prefix), line...)
}
