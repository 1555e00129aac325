// Package must contains steps of tests that must succeed: a step that fails, fails its test. The
// package imports only the standard library, so that a test of any package may use it.
package must

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
)

// Succeed ends the test if a step failed with err.
func Succeed(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Read returns the content of a file.
func Read(t testing.TB, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	Succeed(t, err)
	return content
}

// Write writes a file that only its owner may read.
func Write(t testing.TB, path, text string) {
	t.Helper()
	Succeed(t, os.WriteFile(path, []byte(text), 0o600))
}

// Encode returns a value as JSON.
func Encode(t testing.TB, v any) []byte {
	t.Helper()
	raw, err := json.Marshal(v)
	Succeed(t, err)
	return raw
}

// Fill takes all free bytes of the file system of a directory until free is called.
func Fill(t testing.TB, dir string) (free func()) {
	t.Helper()
	path := filepath.Join(dir, "others")
	f, err := os.Create(path)
	Succeed(t, err)
	defer f.Close()
	for size := 1 << 20; size > 0; size /= 2 {
		for err = nil; err == nil; {
			_, err = f.Write(make([]byte, size))
		}
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("fill the disk: %v", err)
		}
	}
	return func() {
		t.Helper()
		Succeed(t, os.Remove(path))
	}
}

// Listen returns a listener on a free port of this machine.
func Listen(t testing.TB) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	Succeed(t, err)
	return listener
}

// Run calls run, which must end with its context and no earlier, until stop is called or the test
// ends. stop returns the error of run.
func Run(t testing.TB, run func(context.Context) error) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	stop = sync.OnceValue(func() error {
		cancel()
		return <-ended
	})
	t.Cleanup(func() {
		if err := stop(); !errors.Is(err, context.Canceled) {
			t.Errorf("Run ended with %v", err)
		}
	})
	return stop
}
