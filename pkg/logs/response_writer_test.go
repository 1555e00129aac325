package logs

import (
	"bufio"
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	"k8s-cli/test/testkit/must"
)

// A stream without lines carries an empty line for each interval of silence, and none within a line.
func TestPings(t *testing.T) {
	const interval = 15 * time.Second
	synctest.Test(t, func(t *testing.T) {
		var got bytes.Buffer
		o := &output{w: bufio.NewWriter(&got), failed: func(error) {}}
		stop := o.ping(interval)
		want := func(text string) {
			t.Helper()
			synctest.Wait()
			o.mu.Lock()
			defer o.mu.Unlock()
			if got.String() != text {
				t.Errorf("the stream carries %q, want %q", got.String(), text)
			}
			got.Reset()
		}
		wait := func(d time.Duration) { time.Sleep(d); synctest.Wait() } // the clock is that of the bubble
		wait(2*interval + time.Second)
		want("\n\n")
		must.Succeed(t, o.write([]line{{text: []byte("a\n")}}, "", false))
		wait(interval) // the line was written in this interval
		want("a\n")
		wait(interval)
		want("\n")
		must.Succeed(t, o.write([]line{{text: []byte("b")}}, "", false))
		wait(10 * interval)
		want("b")
		stop()
	})
}
