package seal

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"k8s-cli/pkg/task"
	"k8s-cli/test/testkit/must"
)

var values = map[string]string{"TOKEN": "s3cret-value", "EMPTY": "", "ODD": "$(x) \" \\ ü\n<&>"}

func newSealer(t *testing.T, key string) *Sealer {
	t.Helper()
	b, err := New([]byte(strings.Repeat(key, MinKeyBytes)))
	must.Succeed(t, err)
	return b
}

func submission(id, user, key string) task.Submit {
	return task.Submit{ID: id, User: user, Key: key, Image: "image", Task: task.Spec{Run: "true", Secrets: values}}
}

func sealed(t *testing.T, b *Sealer, s task.Submit) task.Submit {
	t.Helper()
	got, err := b.Seal(s)
	must.Succeed(t, err)
	return got
}

func TestSealedSecretsOpen(t *testing.T) {
	b := newSealer(t, "k")
	given := submission("a", "ann", "key")
	s := sealed(t, b, given)
	if diff := cmp.Diff(values, given.Task.Secrets); diff != "" {
		t.Errorf("the caller's task has changed:\n%s", diff)
	}
	raw, err := task.Command{Submit: &s}.Encode()
	if err != nil || bytes.Contains(raw, []byte("s3cret")) {
		t.Errorf("%v; the log would hold %s", err, raw)
	}
	want := map[string]string{"TOKEN": task.Redacted, "EMPTY": task.Redacted, "ODD": task.Redacted}
	if diff := cmp.Diff(want, s.Task.Secrets); diff != "" {
		t.Errorf("secrets (-want +got):\n%s", diff)
	}
	c, err := task.DecodeCommand(raw)
	must.Succeed(t, err)
	got, err := b.Open(*c.Submit)
	if diff := cmp.Diff(values, got); diff != "" || err != nil {
		t.Errorf("%v; values (-want +got):\n%s", err, diff)
	}
}

func TestSealedSecretsOpenOnlyForTheirTask(t *testing.T) {
	b := newSealer(t, "k")
	s := sealed(t, b, submission("a", "ann", ""))
	broken := s
	broken.Sealed = bytes.Clone(s.Sealed)
	broken.Sealed[len(broken.Sealed)-1] ^= 1
	short, of := s, s
	short.Sealed, of.ID = s.Sealed[:5], "b"
	other := s
	other.User = "bob"
	for what, wrong := range map[string]task.Submit{"changed": broken, "short": short, "another task's": of, "another user's": other} {
		if got, err := b.Open(wrong); err == nil || got != nil {
			t.Errorf("%s: %v, %v", what, got, err)
		}
	}
	if _, err := newSealer(t, "x").Open(s); err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("another key: %v", err)
	}
}

// TestTheBodyIsThatOfTheValues checks that a repeated submission has the same Body,
// although each encryption differs.
func TestTheBodyIsThatOfTheValues(t *testing.T) {
	b := newSealer(t, "k")
	first := sealed(t, b, submission("a", "ann", "key"))
	again := sealed(t, b, submission("b", "ann", "key"))
	if bytes.Equal(first.Sealed, again.Sealed) || first.Body() != again.Body() {
		t.Error("a repetition is another submission, or has the same seal")
	}
	changed := submission("c", "ann", "key")
	changed.Task.Secrets = map[string]string{"TOKEN": "other", "EMPTY": "", "ODD": values["ODD"]}
	for what, s := range map[string]task.Submit{
		"other values": changed, "another user": submission("d", "bob", "key"), "another key": submission("e", "ann", "other"),
	} {
		if sealed(t, b, s).SecretsMAC == first.SecretsMAC {
			t.Errorf("%s have the same mark", what)
		}
	}
	if got := sealed(t, b, submission("a", "ann", "")); got.SecretsMAC != "" {
		t.Errorf("a submission that nothing is compared with has the mark %s", got.SecretsMAC)
	}
}

func TestATaskWithoutSecretsIsLeftAlone(t *testing.T) {
	s := task.Submit{ID: "a", Task: task.Spec{Run: "true"}}
	if diff := cmp.Diff(s, sealed(t, newSealer(t, "k"), s)); diff != "" {
		t.Error(diff)
	}
}

func TestShortKeys(t *testing.T) {
	if _, err := New(make([]byte, MinKeyBytes-1)); err == nil {
		t.Error("no error")
	}
}
