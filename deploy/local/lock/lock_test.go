package lock

import (
	"context"
	"errors"
	"testing"
)

func TestTheSecondWaitsForTheFirst(t *testing.T) {
	dir := t.TempDir()
	never := func() { t.Error("busy, yet nobody has the lock") }
	release, err := Take(t.Context(), dir, never)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Take(t.Context(), dir, release) // freed once it is known to wait
	if err != nil {
		t.Fatal(err)
	}
	again()
}

func TestWaitingEndsWithTheContext(t *testing.T) {
	dir := t.TempDir()
	release, err := Take(t.Context(), dir, func() {})
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := Take(ctx, dir, cancel); !errors.Is(err, context.Canceled) {
		t.Errorf("Take = %v, want context.Canceled", err)
	}
}
