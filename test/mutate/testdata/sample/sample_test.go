package sample

import "testing"

func TestAdd(t *testing.T) {
	wait(false, true)
	if got := (list[int]{}).join("a", "b", "c"); got != "ac" {
		t.Errorf("joined to %s", got)
	}
	if sum, err := add(1, 2, 9); sum != 3 || err != nil {
		t.Errorf("1+2 is %d, %v", sum, err)
	}
	if _, err := add(9, 9, 9); err == nil {
		t.Error("9+9 has no error")
	}
}
