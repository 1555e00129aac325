package logpos

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"k8s-cli/pkg/task/problem"
)

// Header is the response header that describes a Part.
const Header = "X-Log-Lines"

// MaxLines is the largest number of lines of a Part.
const MaxLines = 10_000

// A Range names lines of a log. Lines count from 1.
type Range struct {
	First, Last int64 // numbers of the first and of the last line; Last is End for all lines from First on
	Tail        int64 // the number of last lines, if First is 0
}

// End is the Last of a Range without an end.
const End = math.MaxInt64

// Page returns the first MaxLines lines of a range, or the last MaxLines lines of the log.
func (r Range) Page() Range {
	r.Tail = min(r.Tail, MaxLines)
	if r.First > 0 && r.Last-r.First >= MaxLines {
		r.Last = r.First + MaxLines - 1
	}
	return r
}

// String returns the text that ParseRange reads.
func (r Range) String() string {
	switch {
	case r.First == 0:
		return fmt.Sprintf("-%d", r.Tail)
	case r.Last == End:
		return fmt.Sprintf("%d-", r.First)
	}
	return fmt.Sprintf("%d-%d", r.First, r.Last)
}

// ParseRange reads a range: A-B are the lines from A to B, A- are the lines from A on, and -N are
// the last N lines.
func ParseRange(text string) (Range, error) {
	before, after, found := strings.Cut(text, "-")
	first, firstErr := number(before)
	last, lastErr := number(after)
	switch {
	case !found || firstErr != nil || lastErr != nil || before == "" && after == "":
		return Range{}, problem.New(problem.Invalid, fmt.Sprintf("lines: %q is not a range of lines such as 1-100, 101- or -100", text))
	case before == "":
		return Range{Tail: last}, nil
	case after != "" && last < first:
		return Range{}, problem.New(problem.Invalid, fmt.Sprintf("lines: %q ends before it begins", text))
	case after == "":
		last = End
	}
	return Range{First: first, Last: last}, nil
}

// number parses the number of a line, or returns 0 for the empty text.
func number(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(text, 10, 48)
	if err == nil && n == 0 {
		err = strconv.ErrRange
	}
	return int64(n), err //nolint:gosec // 48 bits fit
}

// Unknown is the Total of a Part of a log whose number of lines is not known.
const Unknown = -1

// A Part is consecutive lines of a log.
type Part struct {
	First, Last int64 // numbers of the first and of the last line; 0 if the part has no line
	Total       int64 // number of lines of the log at present, or Unknown
	Text        []byte
}

// String returns the value of Header, in the form of the HTTP header Content-Range: 1-100/2000,
// 1-100/* if the total is unknown, and */2000 if the part has no line.
func (p Part) String() string {
	lines, total := "*", "*"
	if p.First > 0 {
		lines = fmt.Sprintf("%d-%d", p.First, p.Last)
	}
	if p.Total != Unknown {
		total = strconv.FormatInt(p.Total, 10)
	}
	return lines + "/" + total
}

// ParsePart reads the value of Header.
func ParsePart(header string, text []byte) (Part, error) {
	lines, total, found := strings.Cut(header, "/")
	p := Part{Total: Unknown, Text: text}
	var err error
	if total != "*" {
		p.Total, err = strconv.ParseInt(total, 10, 64)
	}
	if lines != "*" && err == nil {
		var r Range
		r, err = ParseRange(lines)
		p.First, p.Last = r.First, r.Last
	}
	if !found || err != nil || p.Last == End || lines != "*" && p.First == 0 {
		return Part{}, fmt.Errorf("the header %s has the value %q, which is not as documented", Header, header)
	}
	return p, nil
}
