package natsconn

import "testing"

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
