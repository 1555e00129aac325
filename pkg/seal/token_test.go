package seal

import (
	"bytes"
	"encoding/hex"
	"strings"
	"testing"

	"k8s-cli/test/testkit/must"
)

func TestTokens(t *testing.T) {
	box := func(key string) *Sealer {
		t.Helper()
		b, err := New([]byte(strings.Repeat(key, MinKeyBytes)))
		must.Succeed(t, err)
		return b
	}
	a, same, other := box("a"), box("a"), box("b")
	token := a.UploadToken("abc12345")
	if !a.VerifyToken("abc12345", token) || !same.VerifyToken("abc12345", token) {
		t.Error("a token is not admitted under its key")
	}
	for name, admitted := range map[string]bool{
		"to another task": a.VerifyToken("abc12346", token), "under another key": other.VerifyToken("abc12345", token),
		"if there is none": a.VerifyToken("abc12345", ""), "if it is cut": a.VerifyToken("abc12345", token[:63]),
		"if it is longer": a.VerifyToken("abc12345", token+"0"),
	} {
		if admitted {
			t.Errorf("it is admitted %s", name)
		}
	}
}

// The secrets of notifications differ for each user and each key, and from all other secrets.
func TestNotifySecrets(t *testing.T) {
	one, err := New(bytes.Repeat([]byte{1}, MinKeyBytes))
	must.Succeed(t, err)
	other, err := New(bytes.Repeat([]byte{2}, MinKeyBytes))
	must.Succeed(t, err)
	seen := map[string]bool{one.UploadToken("ann"): true}
	for _, secret := range [][]byte{one.NotifySecret("ann"), one.NotifySecret("bob"), one.NotifySecret(""), other.NotifySecret("ann")} {
		if seen[hex.EncodeToString(secret)] || len(secret) != 32 {
			t.Errorf("secret %x", secret)
		}
		seen[hex.EncodeToString(secret)] = true
	}
	if !bytes.Equal(one.NotifySecret("ann"), one.NotifySecret("ann")) {
		t.Error("the secret of a user changes")
	}
}

func TestOutputTokens(t *testing.T) {
	box, err := New([]byte(strings.Repeat("a", MinKeyBytes)))
	must.Succeed(t, err)
	token := box.OutputToken("abc12345", 1)
	if !box.VerifyOutputToken("abc12345", 1, token) {
		t.Error("a token is not admitted for its node")
	}
	for name, admitted := range map[string]bool{
		"for another node": box.VerifyOutputToken("abc12345", 11, token), "for another task": box.VerifyOutputToken("abc12346", 1, token),
		"for uploads": box.VerifyToken("abc12345", token), "as the token for uploads": box.VerifyOutputToken("abc12345", 1, box.UploadToken("abc12345")),
		"if there is none": box.VerifyOutputToken("abc12345", 1, ""),
	} {
		if admitted {
			t.Errorf("it is admitted %s", name)
		}
	}
}
