package control

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"
)

// served starts a server on a socket of this test's own.
func served(t *testing.T, handle Handler) string {
	t.Helper()
	socket := fmt.Sprintf("@k8s-cli-control-test-%d-%s", os.Getpid(), t.Name())
	listener, err := Listen(socket)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- Serve(ctx, listener, handle) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Serve = %v", err)
		}
	})
	return socket
}

func TestAsk(t *testing.T) {
	socket := served(t, func(_ context.Context, word string, say func(string) error) error {
		return errors.Join(say("you said "+word), say("bye"))
	})
	s, err := Find(socket)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	if err := s.Ask(t.Context(), "hello", func(line string) { got = append(got, line) }); err != nil {
		t.Fatal(err)
	}
	if want := []string{"you said hello", "bye"}; !slices.Equal(got, want) {
		t.Errorf("answer = %q, want %q", got, want)
	}
	if s.PID != os.Getpid() {
		t.Errorf("the supervisor is process %d, want %d", s.PID, os.Getpid())
	}
	if s.Gone(0) {
		t.Error("the supervisor is gone, yet it runs this test")
	}
}

func TestAnErrorArrivesAsAnError(t *testing.T) {
	socket := served(t, func(context.Context, string, func(string) error) error {
		return errors.New("first line\nsecond line")
	})
	s, err := Find(socket)
	if err != nil {
		t.Fatal(err)
	}
	err = s.Ask(t.Context(), "hello", func(line string) { t.Errorf("a line: %q", line) })
	if err == nil || err.Error() != "first line second line" {
		t.Errorf("Ask = %v", err)
	}
}

func TestNobody(t *testing.T) {
	if _, err := Find("@k8s-cli-control-test-nobody"); !errors.Is(err, ErrNobody) {
		t.Errorf("Find = %v, want ErrNobody", err)
	}
}

func TestASocketHasOneHolder(t *testing.T) {
	socket := served(t, func(context.Context, string, func(string) error) error { return nil })
	if _, err := Listen(socket); err == nil {
		t.Error("a second listener was let in")
	}
}
