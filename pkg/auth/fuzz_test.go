package auth

import (
	"crypto/sha256"
	"fmt"
	"log/slog"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"

	"k8s-cli/pkg/task"
	"k8s-cli/test/testkit/must"
)

// FuzzTokens checks that only a valid token authenticates, and only as the user of the
// token.
func FuzzTokens(f *testing.F) {
	path := filepath.Join(f.TempDir(), "tokens")
	text := fmt.Sprintf("%x ann,ops\n%x root until=2020-01-01T00:00:00Z\n", sha256.Sum256([]byte("anns")), sha256.Sum256([]byte("roots")))
	must.Write(f, path, text)
	tokens, err := ReadStaticTokens(path, slog.New(slog.DiscardHandler))
	must.Succeed(f, err)
	who := New(tokens, task.Admins{"root", "group:admins"})
	for _, seed := range []string{"anns", "roots", "", " anns", "anns\x00", text} {
		f.Add(seed, "root", "admins")
	}
	f.Fuzz(func(t *testing.T, token, user, groups string) {
		got, err := who.Identify(t.Context(), task.Credentials{Token: token, User: user, Groups: groups, Peer: netip.MustParseAddr("127.0.0.1")})
		if in := err == nil; in != (token == "anns") || in && (got.User != "ann" || got.Admin || got.CanListAllUsers) {
			t.Errorf("%q in the name of %q: %+v, %v", token, user, got, err)
		}
	})
}

// FuzzTokenFile checks that an accepted token has its hash at the beginning of a line of
// the file.
func FuzzTokenFile(f *testing.F) {
	f.Add(fmt.Sprintf("%x ann", sha256.Sum256([]byte("t"))), "t")
	f.Add("# nothing\n\n", "t")
	f.Add(fmt.Sprintf("%X a,b until=2999-01-01T00:00:00Z\r\n", sha256.Sum256([]byte("t"))), "t")
	path := filepath.Join(f.TempDir(), "tokens")
	f.Fuzz(func(t *testing.T, text, token string) {
		must.Write(t, path, text)
		all, err := readTokens(path)
		if err != nil {
			return
		}
		sum := sha256.Sum256([]byte(token))
		h, ok := all[sum]
		if !ok {
			return
		}
		if !strings.Contains(strings.ToLower(text), fmt.Sprintf("%x", sum)) {
			t.Errorf("%q is let in by %q", token, text)
		}
		if err := task.CheckUser(h.User); err != nil || strings.ContainsAny(h.User, ", ") {
			t.Errorf("%q names the user %q: %v", text, h.User, err)
		}
	})
}
