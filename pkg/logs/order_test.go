package logs

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"
)

// Logs that are read at different speeds are written in the order of time, with the lower rank first.
func TestLinesOfNodesAreInTheOrderOfTime(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var got []string
	o := newOrder(t.Context().Done())
	logs := [][]int{{1, 4, 4, 9}, {2, 4, 5}, {0, 10, 11, 12}}
	var sources []*source
	for rank := range logs {
		sources = append(sources, o.add(rank))
	}
	var streams sync.WaitGroup
	for rank, seconds := range logs {
		streams.Go(func() {
			defer sources[rank].remove()
			var lines []line
			for _, s := range seconds {
				lines = append(lines, line{at: time.Unix(int64(s), 0)})
			}
			for len(lines) > 0 {
				n := sources[rank].turn(lines)
				mu.Lock()
				for _, l := range lines[:n] {
					got = append(got, fmt.Sprintf("%d/%d", l.at.Unix(), rank))
				}
				mu.Unlock()
				lines = lines[n:]
			}
		})
	}
	streams.Wait()
	if want := []string{"0/2", "1/0", "2/1", "4/0", "4/0", "4/1", "5/1", "9/0", "10/2", "11/2", "12/2"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// The last line of a running pod comes although the pod with the line before writes no further line.
func TestTheLastLineOfARunningPodIsWritten(t *testing.T) {
	t.Parallel()
	o := newOrder(t.Context().Done())
	first, last := o.add(0), o.add(1)
	first.setLive(true)
	last.setLive(true)
	go first.turn([]line{{at: time.Unix(1, 0)}}) // waits, because the other pod may have an older line
	for waits := false; !waits; runtime.Gosched() {
		o.mu.Lock()
		waits = !first.next.IsZero()
		o.mu.Unlock()
	}
	if n := last.turn([]line{{at: time.Unix(2, 0)}}); n != 1 {
		t.Errorf("%d lines, want 1", n)
	}
}

// A running pod that writes nothing, and a node that waits for its turn to read, delay no other node.
func TestASilentNodeDelaysNoOtherNode(t *testing.T) {
	t.Parallel()
	o := newOrder(t.Context().Done())
	writer, silent, later := o.add(0), o.add(1), o.add(2)
	silent.setLive(true)
	later.setAbsent(true)
	if n := writer.turn([]line{{at: time.Unix(7, 0)}, {isMore: true}}); n != 2 {
		t.Errorf("%d lines, want the line with its piece", n)
	}
	if n := writer.turn([]line{{isMore: true}, {at: time.Unix(8, 0)}}); n != 1 {
		t.Errorf("%d lines, want the piece of the line", n)
	}
}
