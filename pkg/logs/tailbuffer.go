package logs

import (
	"bytes"
	"sync"
)

const (
	chunkSize = 16 << 10 // bytes by which a tail buffer grows
	reserved  = 2        // chunks that every buffer may have even if the pool is exhausted
)

// A bufferPool bounds the total memory of its tail buffers. If no chunk is free, a buffer
// takes the oldest chunk of the largest buffer, which may be the same buffer. Therefore no
// reader waits for memory, and in an exhausted pool the largest buffers shrink to equal
// sizes.
type bufferPool struct {
	mu      sync.Mutex
	free    int // free chunks
	buffers map[*tailBuffer]bool
}

// newBufferPool returns a pool of size bytes, in addition to the reserved chunks of the
// buffers.
func newBufferPool(size int) *bufferPool {
	return &bufferPool{free: size / chunkSize, buffers: map[*tailBuffer]bool{}}
}

// buffer returns an empty buffer of at most limit bytes. The caller calls release.
func (p *bufferPool) buffer(limit int) *tailBuffer {
	p.mu.Lock()
	defer p.mu.Unlock()
	b := &tailBuffer{pool: p, limit: limit}
	p.buffers[b] = true
	return b
}

// allocate charges one more chunk to b. The caller holds the lock.
func (p *bufferPool) allocate(b *tailBuffer) {
	for p.free == 0 && len(b.chunks) >= reserved {
		p.largest(b).shrink()
	}
	if len(b.chunks) >= reserved {
		p.free--
	}
}

// largest returns the buffer that gives up a chunk for b. largest returns b unless another
// buffer has at least two chunks more, so that two buffers do not take chunks from each
// other in turns.
func (p *bufferPool) largest(b *tailBuffer) *tailBuffer {
	largest, most := b, len(b.chunks)+1
	for other := range p.buffers {
		if len(other.chunks) > most {
			largest, most = other, len(other.chunks)
		}
	}
	return largest
}

// A tailBuffer holds the last lines of a log, as the API server sent them. If the last line
// alone is too long, the buffer holds the end of that line.
type tailBuffer struct {
	pool  *bufferPool
	limit int // bytes

	// The fields below are guarded by pool.mu.
	chunks [][]byte // of capacity chunkSize at first; all chunks except the last are full
	size   int      // bytes in chunks
	stamp  []byte   // time of the first line and a space, if the beginning of the line was dropped
	cut    int64    // bytes of text that were dropped before the first line
	lines  int64    // lines that were dropped as a whole
	short  bool     // some text was dropped because the pool was exhausted
	taken  int      // chunks that the result of take occupies
}

// add appends lines and drops lines from the front to stay within the limit.
func (b *tailBuffer) add(lines []line) error {
	b.pool.mu.Lock()
	defer b.pool.mu.Unlock()
	for _, l := range lines {
		b.write(l.raw)
	}
	return nil
}

func (b *tailBuffer) write(raw []byte) {
	for len(raw) > 0 {
		last := len(b.chunks) - 1
		if last < 0 || len(b.chunks[last]) == cap(b.chunks[last]) {
			b.pool.allocate(b)
			b.chunks = append(b.chunks, make([]byte, 0, chunkSize))
			last = len(b.chunks) - 1
		}
		n := min(len(raw), cap(b.chunks[last])-len(b.chunks[last]))
		b.chunks[last] = append(b.chunks[last], raw[:n]...)
		b.size += n
		raw = raw[n:]
		b.trim(b.limit)
	}
}

// shrink drops the first chunk.
func (b *tailBuffer) shrink() {
	b.short = true
	for n := len(b.chunks); len(b.chunks) == n; {
		b.trim(b.bytes() - len(b.chunks[0]))
	}
}

// length returns how many bytes the buffer holds.
func (b *tailBuffer) length() int {
	b.pool.mu.Lock()
	defer b.pool.mu.Unlock()
	return b.bytes()
}

func (b *tailBuffer) bytes() int { return b.size + len(b.stamp) }

// trim drops lines from the front until the buffer holds at most most bytes. The last line
// loses only its beginning.
func (b *tailBuffer) trim(most int) {
	for b.bytes() > most && b.size > 0 {
		end := b.index('\n')
		if end == b.size {
			b.trimLine(most)
			return
		}
		text := end
		if b.stamp == nil {
			text -= b.index(' ')
		}
		b.cut += int64(text)
		b.lines++
		b.stamp = nil
		b.discard(end)
	}
}

// trimLine drops the beginning of the only line.
func (b *tailBuffer) trimLine(most int) {
	if b.stamp == nil {
		n := b.index(' ')
		b.stamp = b.front(n)
		b.discard(n)
	}
	n := min(b.bytes()-most, b.size)
	b.cut += int64(n)
	b.discard(n)
}

// index returns the number of bytes up to and including the first c, or of all bytes if
// there is no c.
func (b *tailBuffer) index(c byte) int {
	n := 0
	for _, chunk := range b.chunks {
		if i := bytes.IndexByte(chunk, c); i >= 0 {
			return n + i + 1
		}
		n += len(chunk)
	}
	return n
}

// discard drops n bytes from the front.
func (b *tailBuffer) discard(n int) {
	b.size -= n
	for n > 0 {
		m := min(n, len(b.chunks[0]))
		b.chunks[0] = b.chunks[0][m:]
		n -= m
		if len(b.chunks[0]) == 0 {
			b.pool.free += min(b.charged(), 1)
			b.chunks[0], b.chunks = nil, b.chunks[1:]
		}
	}
}

// charged returns how many chunks of the buffer count against the pool.
func (b *tailBuffer) charged() int { return max(len(b.chunks)-reserved, 0) }

// front returns a copy of the first n bytes.
func (b *tailBuffer) front(n int) []byte {
	front := make([]byte, 0, n)
	for _, chunk := range b.chunks {
		front = append(front, chunk[:min(len(chunk), n-len(front))]...)
	}
	return front
}

// take returns the lines and empties the buffer. The lines count against the pool until
// release.
func (b *tailBuffer) take() []byte {
	b.pool.mu.Lock()
	delete(b.pool.buffers, b) // so that no other buffer takes chunks of b
	b.pool.mu.Unlock()
	if b.size == 0 {
		return nil
	}
	blob := append(make([]byte, 0, b.bytes()+1), b.stamp...)
	for _, chunk := range b.chunks {
		blob = append(blob, chunk...)
	}
	if blob[len(blob)-1] != '\n' {
		blob = append(blob, '\n')
	}
	b.taken, b.chunks, b.size = b.charged(), nil, 0
	return blob
}

// release returns the memory of the buffer to the pool.
func (b *tailBuffer) release() {
	b.pool.mu.Lock()
	defer b.pool.mu.Unlock()
	delete(b.pool.buffers, b)
	b.pool.free += b.charged() + b.taken
	b.chunks, b.size, b.taken = nil, 0, 0
}
