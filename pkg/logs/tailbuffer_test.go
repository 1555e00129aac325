package logs

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"k8s-cli/test/testkit/must"
)

// lastLines returns the expected content of a tail buffer: the longest sequence of whole
// lines at the end that does not exceed limit, and the number of bytes of text before it.
func lastLines(lines []line, limit int) (blob []byte, cut int64) {
	i, size := len(lines), 0
	for i > 0 && size+len(lines[i-1].raw) <= limit {
		i--
		size += len(lines[i].raw)
	}
	for _, l := range lines[:i] {
		cut += int64(len(l.text))
	}
	for _, l := range lines[i:] {
		blob = append(blob, l.raw...)
	}
	return blob, cut
}

// linesOf returns lines with texts of the given lengths.
func linesOf(t testing.TB, lengths ...int) (lines []line) {
	t.Helper()
	for i, n := range lengths {
		l, err := lineOf(fmt.Appendf(nil, "%s%s\n", at(i), strings.Repeat("x", n)))
		must.Succeed(t, err)
		lines = append(lines, l)
	}
	return lines
}

func TestTailBufferHoldsTheLastLines(t *testing.T) {
	r, rounds := rand.New(rand.NewPCG(1, 2)), 100
	if testing.Short() {
		rounds = 10
	}
	for range rounds {
		limit := 1 << (8 + r.IntN(11))
		lengths := make([]int, r.IntN(2000))
		for i := range lengths {
			if lengths[i] = r.IntN(60); r.IntN(20) == 0 {
				lengths[i] = r.IntN(limit - len(at(0)))
			}
		}
		lines := linesOf(t, lengths...)
		pool := newBufferPool(limit)
		b := pool.buffer(limit)
		for rest := lines; len(rest) > 0; {
			n := 1 + r.IntN(len(rest))
			must.Succeed(t, b.add(rest[:n]))
			rest = rest[n:]
		}
		want, wantCut := lastLines(lines, limit)
		if got := b.take(); !bytes.Equal(got, want) || b.cut != wantCut || b.short {
			t.Fatalf("%d lines, limit %d: %d bytes, %d cut, short %v, want %d, %d", len(lines), limit, len(got), b.cut, b.short, len(want), wantCut)
		}
		if b.release(); pool.free != limit/chunkSize || len(pool.buffers) > 0 {
			t.Fatalf("%d chunks are free in the end, want %d", pool.free, limit/chunkSize)
		}
	}
}

func TestTailBufferHoldsTheEndOfALongLine(t *testing.T) {
	long := []byte(at(1) + strings.Repeat("0123456789", 20_000) + "\n")
	for _, tt := range []struct {
		name   string
		limit  int
		before []int
		after  []int
		want   string // number of bytes of the long line, or the text after it
	}{
		{"alone", 10_000, nil, nil, "long"},
		{"behind others", 100_000, []int{10, 2000}, nil, "long"},
		{"before others", 10_000, nil, []int{10}, "after"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			pool := newBufferPool(tt.limit)
			b := pool.buffer(tt.limit)
			var text int
			pass := func(lines []line) error {
				for _, l := range lines {
					text += len(l.text)
				}
				return b.add(lines)
			}
			_ = pass(linesOf(t, tt.before...))
			if _, err := scan(bytes.NewReader(long), pass); err != nil {
				t.Fatal(err)
			}
			after := linesOf(t, tt.after...)
			_ = pass(after)
			want := at(1) + string(long[len(long)-tt.limit+len(at(1)):])
			if tt.want == "after" {
				want = string(after[0].raw)
			}
			if got := string(b.take()); got != want || int(b.cut) != text-len(got)+len(at(1)) {
				t.Errorf("%.60q and so on, %d bytes, %d cut, want %.60q, %d bytes, %d cut", got, len(got), b.cut, want, len(want), text-len(want)+len(at(1)))
			}
		})
	}
}

// TestBufferPoolIsSharedFairly checks that an exhausted pool shrinks only the largest
// buffers.
func TestBufferPoolIsSharedFairly(t *testing.T) {
	const size, buffers, limit = 1 << 20, 16, 1 << 20
	pool := newBufferPool(size)
	small := pool.buffer(limit)
	_ = small.add(linesOf(t, 3*chunkSize))
	all := make([]*tailBuffer, buffers)
	for i := range all {
		all[i] = pool.buffer(limit)
	}
	lines := linesOf(t, make([]int, 1000)...)
	for round := range 100 {
		for i, b := range all {
			if round*i < 500 || round > 50 { // at different speeds
				_ = b.add(lines)
			}
		}
	}
	total := 0
	for i, b := range all {
		n := b.length()
		if total += n; n < size/buffers/2 || !b.short {
			t.Errorf("buffer %d holds %d bytes, short %v; want its share of %d", i, n, b.short, size/buffers)
		}
	}
	if most := size + (buffers+1)*reserved*chunkSize; total+small.length() > most {
		t.Errorf("%d bytes in all, want at most %d", total, most)
	}
	if small.length() < 3*chunkSize || small.short {
		t.Errorf("the small buffer holds %d bytes", small.length())
	}
	for _, b := range append(all, small) {
		b.release()
	}
	if pool.free != size/chunkSize {
		t.Errorf("%d chunks are free in the end, want %d", pool.free, size/chunkSize)
	}
}

// TestTailBufferHasReservedMemory checks that a buffer has memory even while all other
// memory holds logs that are being stored.
func TestTailBufferHasReservedMemory(t *testing.T) {
	const limit = 1 << 20
	pool := newBufferPool(limit)
	stored := pool.buffer(2 * limit)
	_ = stored.add(linesOf(t, limit+chunkSize/2))
	blob := stored.take()
	b := pool.buffer(limit)
	lines := linesOf(t, 50, 3*chunkSize, 50)
	_ = b.add(lines)
	if got := string(b.take()); !strings.HasSuffix(got, string(lines[2].raw)) || len(blob) < limit {
		t.Errorf("%d bytes, want at least the last line", len(got))
	}
}

func BenchmarkTailBuffer(b *testing.B) {
	log := shortLines(2 << 20)
	var lines []line
	if _, err := scan(bytes.NewReader(log), func(l []line) error { lines = append(lines, l...); return nil }); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(log)))
	b.ReportAllocs()
	for b.Loop() {
		buffer := newBufferPool(1 << 20).buffer(1 << 20)
		for i := 0; i < len(lines); i += 1000 {
			_ = buffer.add(lines[i:min(i+1000, len(lines))])
		}
		held := 0
		for _, chunk := range buffer.chunks {
			held += cap(chunk)
		}
		b.ReportMetric(float64(held)/float64(buffer.length()), "held/byte")
	}
}
