package main

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// A sampled is the measurements of a soak at one moment.
type sampled struct {
	At        float64 // since the start
	Submitted int64
	Created   int64
	Completed int64
	Live      int64 // bytes of the heap that the last collection found in use
	RSS       int64
	Log       int64
	P50       time.Duration // of a status request
	P99       time.Duration
}

func (s sampled) String() string {
	return fmt.Sprintf("%d submitted, %d wait for their Jobs, %d run; heap %s, resident %s, log %s; status %s / %s", s.Submitted, s.Submitted-s.Created, s.Created-s.Completed,
		bytesOf(float64(s.Live)), bytesOf(float64(s.RSS)), bytesOf(float64(s.Log)), short(s.P50), short(s.P99))
}

// steady is the ratio of the last third of a soak to its first third up to which a
// measurement counts as flat.
const steady = 1.25

// A trend compares the last third of a soak with its first.
type trend struct {
	Name        string
	First, Last float64
	Flat        bool

	value func(sampled) float64
	show  func(float64) string
	slack float64 // a difference that does not matter
}

// trends ignores the beginning of a soak, while the history fills.
func trends(samples []sampled, warm time.Duration) []trend {
	samples = slices.DeleteFunc(slices.Clone(samples), func(s sampled) bool { return s.At < warm.Seconds() })
	third := len(samples) / 3
	if third == 0 {
		return nil
	}
	seconds := func(ns float64) string { return short(time.Duration(ns)) }
	all := []trend{
		{Name: "heap in use", show: bytesOf, slack: 4 << 20, value: func(s sampled) float64 { return float64(s.Live) }},
		{Name: "resident memory", show: bytesOf, slack: 8 << 20, value: func(s sampled) float64 { return float64(s.RSS) }},
		{Name: "log", show: bytesOf, slack: 8 << 20, value: func(s sampled) float64 { return float64(s.Log) }},
		{Name: "status p50", show: seconds, slack: float64(100 * time.Microsecond), value: func(s sampled) float64 { return float64(s.P50) }},
		{Name: "status p99", show: seconds, slack: float64(time.Millisecond), value: func(s sampled) float64 { return float64(s.P99) }},
		{Name: "tasks that wait", show: grouped, slack: 10, value: func(s sampled) float64 { return float64(s.Submitted - s.Created) }},
	}
	for i := range all {
		value := all[i].value
		all[i].First, all[i].Last = mean(samples[:third], value), mean(samples[len(samples)-third:], value)
		all[i].Flat = all[i].Last <= max(steady*all[i].First, all[i].First+all[i].slack)
	}
	return all
}

func mean(samples []sampled, value func(sampled) float64) (sum float64) {
	for _, s := range samples {
		sum += value(s)
	}
	return sum / float64(len(samples))
}

// warmUp is the time after which no measurement of a soak should grow. By then tasks expire
// and Jobs are deleted as fast as new ones come. The log is compacted after the second
// snapshot, which comes after ten minutes. NATS deletes events in files of 8 MB, and
// the first file is full after about as long.
const warmUp = 15 * time.Minute

// report prints the results of a soak.
func (s *soak) report(bare, rate float64, samples []sampled) error {
	requests, jobs, err := s.place.Requests(s.namespace)
	if err != nil {
		return err
	}
	warm := min(warmUp, time.Duration(s.minutes)*time.Minute/2)
	all := trends(samples, warm)
	fmt.Fprintf(s.out, "\nbare loop %.1f Jobs/s, submitted %.1f tasks/s for %d minutes: %d taken, %d refused\n", bare, rate, s.minutes, s.submitted.Load(), s.refused.Load())
	fmt.Fprintf(s.out, "first and last third after %s:\n", warm)
	for _, t := range all {
		flat := "flat"
		if !t.Flat {
			flat = "GROWS"
		}
		fmt.Fprintf(s.out, "  %-16s %10s %10s  %s\n", t.Name, t.show(t.First), t.show(t.Last), flat)
	}
	fmt.Fprintf(s.out, "requests to the API server for each task, of %d:\n", jobs)
	for _, kind := range slices.Sorted(maps.Keys(requests)) {
		fmt.Fprintf(s.out, "  %-28s %6.3f  (%d)\n", kind, float64(requests[kind])/float64(max(jobs, 1)), requests[kind])
	}
	if s.refusal != nil {
		return fmt.Errorf("%d tasks were not taken, the first: %w", s.refused.Load(), s.refusal)
	}
	return nil
}
