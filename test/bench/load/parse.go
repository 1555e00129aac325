package load

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

var (
	rateLine    = regexp.MustCompile(`(?m)^Requests/sec:\s+([0-9.]+)$`)
	countLine   = regexp.MustCompile(`(?m)^\s*([0-9]+) requests in `)
	quantile    = regexp.MustCompile(`(?m)^\s*(50|99)%\s+([0-9.]+(?:us|ms|s|m|h))$`)
	failedLine  = regexp.MustCompile(`(?m)^\s*Non-2xx or 3xx responses: ([0-9]+)$`)
	socketsLine = regexp.MustCompile(`(?m)^\s*Socket errors: (.*)$`)
)

// parse parses the output of wrk.
func parse(out string) (r Result, err error) {
	if m := failedLine.FindStringSubmatch(out); m != nil {
		return r, fmt.Errorf("%s answers are neither 2xx nor 3xx", m[1])
	}
	if m := socketsLine.FindStringSubmatch(out); m != nil {
		return r, fmt.Errorf("connections broke: %s", m[1])
	}
	rate, count := rateLine.FindStringSubmatch(out), countLine.FindStringSubmatch(out)
	quantiles := quantile.FindAllStringSubmatch(out, -1)
	if rate == nil || count == nil || len(quantiles) != 2 {
		return r, fmt.Errorf("it says something that is not understood: %q", out)
	}
	if r.Rate, err = strconv.ParseFloat(rate[1], 64); err != nil {
		return r, err
	}
	if r.Requests, err = strconv.Atoi(count[1]); err != nil {
		return r, err
	}
	if r.Requests == 0 {
		return r, errors.New("nothing was answered")
	}
	for _, q := range quantiles {
		d, err := time.ParseDuration(strings.TrimSpace(q[2]))
		if err != nil {
			return r, err
		}
		if q[1] == "50" {
			r.P50 = d
		} else {
			r.P99 = d
		}
	}
	return r, nil
}
