package durability

import (
	"fmt"
	"strings"
	"testing"

	"k8s-cli/test/testkit/must"
)

// The disk fails: its file system has free space, but cannot write, as on an overcommitted
// volume. The kernel accepts every write, fails to sync it, and keeps the data in memory.
// Meanwhile the server accepts nothing. When the disk works again, the server works again,
// and what it accepted before and after survives a power cut.
func TestDiskCannotSync(t *testing.T) {
	t.Parallel()
	d := newDisk(t, diskSize)
	s := start(t, d.dir)
	l := s.load(t, "load")
	l.await(t, 100)
	heal := must.Fill(t, d.outer)
	eventually(t, "the store is found broken", func() (string, bool) {
		accepted, refused := l.count()
		got := s.readyz(t)
		return fmt.Sprintf("%d accepted, %d refused, %s", accepted, refused, got), strings.Contains(got, "the store of the command log is broken (no space left on device)")
	})
	sent := l.stop()
	eventually(t, "a submission is refused", func() (string, bool) { // the disk still writes over what the server has removed
		one := s.submit(fmt.Sprintf("failing-%d", len(sent)))
		sent = append(sent, one)
		return one.refusal, strings.Contains(one.refusal, "the store of the command log is broken (no space left on device)")
	})
	heal()
	eventually(t, "the store takes commands again", func() (string, bool) {
		got := s.readyz(t)
		return got, !strings.Contains(got, "broken")
	})
	s.repeat(t, sent)
	d.cut(t)
	s.Kill()
	d.restore(t)
	s = start(t, d.dir)
	if lost := compare(t, sent, s.tasks(t)); len(lost) > 0 {
		t.Errorf("%d accepted submissions are lost", len(lost))
	}
}
