package params

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/logpos"
	"k8s-cli/pkg/task/problem"
	"k8s-cli/pkg/task/query"
)

const (
	// resumeHeader is the request header that asks for a resumable log: each line begins
	// with its time, regardless of the other options. The value is the position in the log
	// of each node, or resumeStart.
	resumeHeader = "X-Log-Resume"
	resumeStart  = "start"
)

// A Log is the selection of the lines of a log by a request.
type Log struct {
	task.LogOptions

	Lines *logpos.Range // nil if the request names no lines by their numbers
}

// ParseLog reads the parameters of a request for a log.
func ParseLog(c *fiber.Ctx) (l Log, err error) {
	if l.LogOptions, err = logOptions(c); err != nil {
		return l, err
	}
	text := c.Query("lines")
	if text == "" {
		return l, nil
	}
	for _, name := range []string{"follow", "tail", "since"} {
		if c.Query(name) != "" && (name != "follow" || l.Follow) {
			return l, problem.New(problem.Invalid, "lines: cannot be combined with "+name+"; omit one of them")
		}
	}
	if l.Resume != nil {
		return l, problem.New(problem.Invalid, "lines: cannot be combined with "+resumeHeader+"; omit one of them")
	}
	l.Follow = false
	lines, err := logpos.ParseRange(text)
	l.Lines = new(lines.Page())
	return l, err
}

func logOptions(c *fiber.Ctx) (o task.LogOptions, err error) {
	if o.Follow, err = Bool(c, "follow", true); err != nil {
		return o, err
	}
	if o.Timestamps, err = Bool(c, "timestamps", false); err != nil {
		return o, err
	}
	if tail := c.Query("tail"); tail != "" {
		n, err := strconv.ParseInt(tail, 10, 32)
		if err != nil || n < 0 {
			return o, problem.New(problem.Invalid, fmt.Sprintf("tail: %q is not a number of lines", tail))
		}
		o.Tail = &n
	}
	if node := c.Query("node"); node != "" {
		n, err := strconv.Atoi(node)
		if err != nil || n < 0 {
			return o, problem.New(problem.Invalid, fmt.Sprintf("node: %q is not the rank of a node", node))
		}
		o.Node = &n
	}
	if number := c.Query("attempt"); number != "" {
		n, err := strconv.Atoi(number)
		if err != nil || n < 1 {
			return o, problem.New(problem.Invalid, fmt.Sprintf("attempt: %q is not the number of an attempt, from 1", number))
		}
		o.Attempt = n
	}
	if o.Since, err = since(c.Query("since")); err != nil {
		return o, err
	}
	if place := c.Get(resumeHeader); place != "" {
		o.Timestamps = true
		o.Resume, err = resume(place)
	}
	return o, err
}

// resume parses the position in the log of each node: RANK@SECOND,..., with the second in
// Unix time.
func resume(text string) (map[int]time.Time, error) {
	from := map[int]time.Time{}
	if text == resumeStart {
		return from, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		rank, second, _ := strings.Cut(part, "@")
		n, errRank := strconv.Atoi(rank)
		at, errSecond := strconv.ParseInt(second, 10, 64)
		if errRank != nil || errSecond != nil || n < 0 {
			return nil, problem.New(problem.Invalid, fmt.Sprintf("%s: %q is not RANK@SECOND", resumeHeader, part))
		}
		from[n] = time.Unix(at, 0)
	}
	return from, nil
}

// since parses an age or a time. A number without a unit means seconds.
func since(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	if _, err := strconv.Atoi(text); err == nil {
		text += "s"
	}
	age, err := query.ParseAge(text, time.Now())
	if err != nil {
		return 0, problem.New(problem.Invalid, "since: "+err.Error())
	}
	return age, nil
}
