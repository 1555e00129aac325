// Package safe contains a text that several goroutines of a test use at once.
package safe

import (
	"strings"
	"sync"
)

// A Text collects what is written, such as log messages; a test may read it during writes.
type Text struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write adds to the text.
func (t *Text) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.Write(p)
}

// String returns the text that was written so far.
func (t *Text) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.String()
}
