package main

import (
	"errors"
	"net"
	"strings"
	"testing"

	"k8s-cli/test/testkit/must"
)

func TestListenersAcceptConnectionsToAnyAddress(t *testing.T) {
	both, err := listen("--listen", "127.0.0.1:0,127.0.0.2:0", nil)
	must.Succeed(t, err)
	defer func() { _ = both.Close() }()
	if len(both.each) != 2 || !strings.HasPrefix(both.Addr().String(), "127.0.0.1:") {
		t.Fatalf("%d at %s", len(both.each), both.Addr())
	}
	shared := both.Share()
	taken := make(chan error)
	go func() {
		_, err := shared.Accept()
		taken <- err
	}()
	_ = shared.Close()
	if err := <-taken; !errors.Is(err, net.ErrClosed) {
		t.Errorf("what was lent, after its end: %v", err)
	}
	for _, one := range both.each {
		conn, err := net.Dial("tcp", one.Addr().String())
		must.Succeed(t, err)
		for range 10 {
			if _, err := shared.Accept(); !errors.Is(err, net.ErrClosed) {
				t.Fatalf("what was lent accepts a connection after its end: %v", err)
			}
		}
		got, err := both.Accept()
		if err != nil || got.LocalAddr().String() != one.Addr().String() {
			t.Fatalf("%v, %v", got, err)
		}
		_ = got.Close()
		_ = conn.Close()
	}
	if _, err := listen("--listen", "127.0.0.1:0,"+both.Addr().String(), nil); err == nil || !strings.Contains(err.Error(), "choose another --listen") {
		t.Errorf("a port that is taken: %v", err)
	}
	if err := both.Close(); err != nil {
		t.Error(err)
	}
	if _, err := both.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("after its end: %v", err)
	}
	for _, one := range both.each {
		if _, err := net.Dial("tcp", one.Addr().String()); err == nil {
			t.Errorf("%s still listens", one.Addr())
		}
	}
}
