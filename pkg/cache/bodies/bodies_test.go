package bodies

import (
	"fmt"
	"testing"
)

func TestResponseCacheIsBounded(t *testing.T) {
	for _, size := range []int{10, 1 << 10, 64 << 10, 1 << 20} {
		var a Cache
		body := make([]byte, size)
		for i := range 4 * maxBytes / (size + overhead) {
			a.Add(fmt.Sprint(i), 1, body)
			a.Add(fmt.Sprint(i), 2, body)
			bytes := len(a.all) * (size + overhead)
			if bytes == 0 || bytes > maxBytes || bytes != a.size {
				t.Fatalf("%d answers of %d bytes are kept, which counts as %d", len(a.all), size, a.size)
			}
		}
	}
}
