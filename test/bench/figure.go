package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// A figure is one line of the table: the result of the server and the result of the bare
// part.
type figure struct {
	Key      string
	Name     string
	Baseline string
	Unit     string
	Ours     float64
	Bare     float64
	Ratio    float64 // of the medians

	Want    float64 // bound of Ratio, or of Ours without a baseline
	AtMost  bool
	Missed  bool
	Failure string
	Note    string

	OursRounds []float64
	BareRounds []float64

	Latency     *quantiles
	BareLatency *quantiles
	PerRequest  *cost
	BareCost    *cost
}

// quantiles are quantiles of the time of one request.
type quantiles struct {
	P50 time.Duration
	P99 time.Duration
}

func (q *quantiles) String() string {
	if q == nil {
		return ""
	}
	return short(q.P50) + " / " + short(q.P99)
}

// A cost is the resources that the answering process used for one request.
type cost struct {
	CPU       float64 // microseconds of processor time
	Allocated float64 // 0 if unknown
}

func (c *cost) String() string {
	switch {
	case c == nil || c.CPU == 0:
		return ""
	case c.Allocated == 0:
		return fmt.Sprintf("%.1f µs", c.CPU)
	}
	return fmt.Sprintf("%.1f µs, %s", c.CPU, bytesOf(c.Allocated))
}

// settle computes the medians and everything that follows from the rounds.
func (f *figure) settle() {
	if len(f.OursRounds) > 0 {
		f.Ours = median(f.OursRounds)
	}
	if len(f.BareRounds) > 0 {
		f.Bare = median(f.BareRounds)
	}
	judged := f.Ours
	if f.Bare > 0 {
		f.Ratio = f.Ours / f.Bare
		judged = f.Ratio
	}
	if f.bounded() && f.Failure == "" {
		f.Missed = f.AtMost && judged > f.Want || !f.AtMost && judged < f.Want
	}
}

func median[T float64 | time.Duration](all []T) T {
	sorted := slices.Sorted(slices.Values(all))
	if n := len(sorted); n%2 == 0 {
		return (sorted[n/2-1] + sorted[n/2]) / 2
	}
	return sorted[len(sorted)/2]
}

func short(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return fmt.Sprintf("%.0f µs", float64(d)/float64(time.Microsecond))
	case d < time.Second:
		return fmt.Sprintf("%.2f ms", float64(d)/float64(time.Millisecond))
	}
	return fmt.Sprintf("%.2f s", d.Seconds())
}

func bytesOf(n float64) string {
	switch {
	case n < 10_000:
		return fmt.Sprintf("%.0f B", n)
	case n < 10<<20:
		return fmt.Sprintf("%.0f KB", n/1024)
	}
	return fmt.Sprintf("%.0f MB", n/(1<<20))
}

// amount formats a value with its unit.
func amount(value float64, unit string) string {
	switch unit {
	case "s":
		return short(time.Duration(value * float64(time.Second)))
	case "B":
		return bytesOf(value)
	}
	return grouped(value) + unit
}

// grouped formats a number with commas, and with one decimal place if the number is small.
func grouped(value float64) string {
	if value < 100 && value != float64(int(value)) {
		return fmt.Sprintf("%.1f", value)
	}
	digits := fmt.Sprintf("%.0f", value)
	var b strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	return b.String()
}

// String returns the figure on one line.
func (f *figure) String() string {
	switch {
	case f.Failure != "":
		return f.Name + ": FAILED: " + f.Failure
	case f.Bare == 0:
		return fmt.Sprintf("%s: %s (%s)", f.Name, amount(f.Ours, f.Unit), f.wanted())
	}
	return fmt.Sprintf("%s: %s, baseline %s, ratio %.2f (%s)", f.Name, amount(f.Ours, f.Unit), amount(f.Bare, f.Unit), f.Ratio, f.wanted())
}

// wanted formats the bound and says whether the figure meets the bound.
func (f *figure) wanted() string {
	switch bound := f.bound(); {
	case f.Failure != "":
		return "FAILED"
	case bound == "":
		return ""
	case f.Missed:
		return bound + " MISSED"
	default:
		return bound
	}
}

// bounded reports whether the figure has a bound. A lower bound of 0 is no bound.
func (f *figure) bounded() bool { return f.Want > 0 || f.AtMost }

func (f *figure) bound() string {
	if !f.bounded() {
		return ""
	}
	sign, value := "≥ ", fmt.Sprintf("%.2f", f.Want)
	if f.AtMost {
		sign = "≤ "
	}
	if f.Bare == 0 {
		value = amount(f.Want, f.Unit)
	}
	return sign + value
}

// print writes the table.
func print(out io.Writer, all []*figure) {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "benchmark\tmeasured\tbaseline\tratio\tbound\tp50 / p99\tbaseline's\tper request\tbaseline's\t")
	for _, f := range all {
		ours, bare, ratio := amount(f.Ours, f.Unit), "", ""
		if f.Bare > 0 {
			bare, ratio = amount(f.Bare, f.Unit), fmt.Sprintf("%.2f", f.Ratio)
		}
		if f.Failure != "" {
			ours = ""
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t\n", f.Name, ours, bare, ratio, f.wanted(), f.Latency, f.BareLatency, f.PerRequest, f.BareCost)
	}
	_ = table.Flush()
	for _, f := range all {
		if f.Baseline != "" {
			fmt.Fprintf(out, "%s: baseline is %s\n", f.Key, f.Baseline)
		}
		if f.Note != "" {
			fmt.Fprintf(out, "%s: %s\n", f.Key, f.Note)
		}
		if f.Failure != "" {
			fmt.Fprintf(out, "%s: FAILED: %s\n", f.Key, f.Failure)
		}
	}
}
