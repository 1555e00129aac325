//go:build !crashpoints

package crash

import "testing"

func TestNothingIsLeftOfItInANormalBuild(t *testing.T) {
	command := struct{ Submit *int }{}
	if n := testing.AllocsPerRun(100, func() {
		step := Append(command)
		Before(step)
		After(step)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
