package status

import (
	"fmt"
	"testing"
)

func TestTaskCacheIsBounded(t *testing.T) {
	for _, size := range []int{10, 1 << 10, 64 << 10, 1 << 20} {
		var c taskCache
		body := make([]byte, size)
		for i := range 4 * maxTaskBytes / (size + taskOverhead) {
			c.put(fmt.Sprint(i), 1, body)
			c.put(fmt.Sprint(i), 2, body)
			bytes := len(c.all) * (size + taskOverhead)
			if bytes == 0 || bytes > maxTaskBytes || bytes != c.size {
				t.Fatalf("%d answers of %d bytes are kept, which counts as %d", len(c.all), size, c.size)
			}
		}
	}
}
