package queue

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

func TestADirectoryServesOneProcess(t *testing.T) {
	dir := t.TempDir()
	first := embed(t, dir)
	_, err := Embed(EmbedConfig{Dir: dir})
	if err == nil || !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), "in use") {
		t.Fatalf("a second server on the directory: %v", err)
	}
	first.Close()
	embed(t, dir)
}

func TestAnEmbeddedServerThatCannotStartSaysWhy(t *testing.T) {
	for _, tt := range []struct {
		name   string
		config EmbedConfig
		want   string
	}{
		{"the directory is a file", EmbedConfig{Dir: "/dev/null/data"}, "data directory"},
		{"the listener has no port", EmbedConfig{Listen: "127.0.0.1"}, "NATS listener"},
		{"the port is no number", EmbedConfig{Listen: "127.0.0.1:nats"}, `port "nats" is not a number`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.config.Dir == "" {
				tt.config.Dir = t.TempDir()
			}
			e, err := Embed(tt.config)
			if err == nil {
				e.Close()
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
}

// subscriber connects to an embedded server as anyone may who reaches its port.
func subscriber(t *testing.T) (own, other *nats.Conn, refusals chan error) {
	t.Helper()
	e, err := Embed(EmbedConfig{Dir: t.TempDir(), Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	refusals = make(chan error, 16)
	other, err = nats.Connect(e.current().ClientURL(), nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
		refusals <- err
	}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(other.Close)
	return inProcess(t, e), other, refusals
}

func TestSubscribersHearEventsOnly(t *testing.T) {
	own, other, refusals := subscriber(t)
	log := follow(t, own, Config{SingleWriter: true}, &fakeStateMachine{})
	for _, subject := range []string{">", "log", "told.>", "$JS.>", "$O.>", "$SYS.>"} {
		if _, err := other.SubscribeSync(subject); err != nil {
			t.Fatal(err)
		}
		if err := other.Flush(); err != nil {
			t.Fatal(err)
		}
		refused(t, refusals, "subscribe to "+subject)
	}
	heard, err := other.SubscribeSync(eventSubjects)
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Flush(); err != nil {
		t.Fatal(err)
	}
	log.put(t, "one")
	if err := own.Publish("event.task.owner.one", []byte("running")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	if m, err := heard.NextMsgWithContext(ctx); err != nil || m.Subject != "event.task.owner.one" {
		t.Errorf("heard %+v, %v", m, err)
	}
}

func TestSubscribersPublishNothing(t *testing.T) {
	own, other, refusals := subscriber(t)
	folded := &fakeStateMachine{}
	log := follow(t, own, Config{SingleWriter: true}, folded)
	log.put(t, "one")
	for _, subject := range []string{logSubject, "event.task.owner.one", "$JS.API.STREAM.DELETE.LOG", "$JS.API.STREAM.PURGE.LOG"} {
		if err := other.PublishRequest(subject, "event.answer", []byte("{}")); err != nil {
			t.Fatal(err)
		}
		if err := other.Flush(); err != nil {
			t.Fatal(err)
		}
		refused(t, refusals, "publish to "+subject)
	}
	if v := log.put(t, "two"); v.Count != 1 {
		t.Errorf("verdict %+v: something came between", v)
	}
}

func refused(t *testing.T, refusals <-chan error, what string) {
	t.Helper()
	select {
	case err := <-refusals:
		if !errors.Is(err, nats.ErrPermissionViolation) {
			t.Errorf("%s: %v", what, err)
		}
	case <-time.After(testTimeout):
		t.Errorf("%s was not refused", what)
	}
}

func TestAConnectionByNameNeedsTheKey(t *testing.T) {
	e, err := Embed(EmbedConfig{Dir: t.TempDir(), Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	forged, err := newKey()
	if err != nil {
		t.Fatal(err)
	}
	for name, k := range map[string]key{
		"an unknown key":          forged,
		"another's signature":     {forged.pair, e.own.public},
		"the own key, as it must": e.own,
	} {
		nc, err := nats.Connect(e.current().ClientURL(), nats.Nkey(k.public, k.pair.Sign))
		if nc != nil {
			nc.Close()
		}
		if (err == nil) != (k == e.own) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestPasswordsOfNATSAreNotShown(t *testing.T) {
	for urls, want := range map[string]string{
		"nats://server:secret@a:4222,nats://server:secret@b:4222": "nats://a:4222,nats://b:4222",
		"tls://token@a:4222": "tls://a:4222",
		"server:p@ss@a:4222": "nats://a:4222",
		"nats://a:4222":      "nats://a:4222",
	} {
		if got := WithoutPasswords(urls); got != want {
			t.Errorf("WithoutPasswords(%q) = %q, want %q", urls, got, want)
		}
	}
}
