package auth

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
	"k8s-cli/test/testkit/must"
)

// wants checks that m identifies user. If user is empty, m must return an error of kind
// problem.Unauthorized that contains text.
func wants(t *testing.T, m Method, c task.Credentials, user, text string) {
	t.Helper()
	p, err := m.Identify(t.Context(), c)
	switch {
	case user != "" && (err != nil || p.User != user):
		t.Errorf("%+v: %+v, %v, want %s", c, p, err, user)
	case user == "" && (!errors.Is(err, problem.Unauthorized) || !strings.Contains(err.Error(), text)):
		t.Errorf("%+v: %+v, %v, want a refusal with %q", c, p, err, text)
	}
}

// TestMain lets lookups take as long as a busy machine needs.
func TestMain(m *testing.M) {
	lookupTimeout = time.Hour
	os.Exit(m.Run())
}

func TestHeader(t *testing.T) {
	trusted, err := ParseNetworks("10.1.0.0/16, 192.0.2.7,fd00::/8")
	must.Succeed(t, err)
	for _, tt := range []struct {
		name, peer string
		trusted    []netip.Prefix
		want       string
	}{
		{"anybody, where no proxy is named", "203.0.113.9", nil, "ann"},
		{"a network", "10.1.200.3", trusted, "ann"},
		{"an address", "192.0.2.7", trusted, "ann"},
		{"an address of IPv4 in IPv6", "::ffff:192.0.2.7", trusted, "ann"},
		{"IPv6", "fd00::1", trusted, "ann"},
		{"around the proxy", "10.2.0.1", trusted, ""},
		{"beside the address", "192.0.2.8", trusted, ""},
		{"this machine, which is not named", "127.0.0.1", trusted, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			wants(t, UserHeader{tt.trusted}, task.Credentials{Peer: netip.MustParseAddr(tt.peer), User: "ann"}, tt.want, "trusted-proxies")
		})
	}
	wants(t, UserHeader{trusted}, task.Credentials{User: "ann"}, "", "trusted-proxies") // without a known remote address
	for _, text := range []string{"10.0.0.0/33", "proxy", "10.0.0"} {
		if _, err := ParseNetworks(text); err == nil {
			t.Errorf("%q is taken for a network", text)
		}
	}
}

func TestGroupsAreBelievedOfProxiesAlone(t *testing.T) {
	c := task.Credentials{Peer: netip.MustParseAddr("10.0.0.1"), User: "ann", Groups: "ops, research,,"}
	for trusted, want := range map[string][]string{"": nil, "10.0.0.1": {"ops", "research"}} {
		prefixes, err := ParseNetworks(trusted)
		must.Succeed(t, err)
		p, err := UserHeader{prefixes}.Identify(t.Context(), c)
		if err != nil || !cmp.Equal(p.Groups, want) {
			t.Errorf("with %q: %v, %v, want %v", trusted, p.Groups, err, want)
		}
	}
}

func TestAdministrators(t *testing.T) {
	for _, tt := range []struct {
		name        string
		admins      task.Admins
		method      Method
		admin, open bool
	}{
		{"none, by the header", nil, known{User: "ann"}, false, false},
		{"by name", task.Admins{"bob", "ann"}, known{User: "ann"}, true, true},
		{"by group", task.Admins{"group:ops"}, known{User: "ann", Groups: []string{"ops"}}, true, true},
		{"another one", task.Admins{"Ann", "group:ops"}, known{User: "ann"}, false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			who, err := New(tt.method, tt.admins).Identify(t.Context(), task.Credentials{})
			if err != nil || who.Admin != tt.admin || who.CanListAllUsers != tt.open {
				t.Errorf("%+v, %v", who, err)
			}
		})
	}
	for admins, open := range map[string]bool{"": true, "bob": false} {
		var names task.Admins
		if admins != "" {
			names = task.Admins{admins}
		}
		who, err := New(UserHeader{}, names).Identify(t.Context(), task.Credentials{User: "ann"})
		if err != nil || who.Admin || who.CanListAllUsers != open {
			t.Errorf("by the header with administrators %q: %+v, %v", admins, who, err)
		}
	}
}

// known identifies every sender as the same principal.
type known Principal

func (k known) Identify(context.Context, task.Credentials) (Principal, error) {
	return Principal(k), nil
}

func hash(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

func TestTokens(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens")
	lines := []string{
		"# who may ask", "",
		hash("anns") + " ann@example.com,ops,research",
		hash("bobs") + "  bob until=2999-01-01T00:00:00Z",
		strings.ToUpper(hash("former")) + " carol until=2020-01-01T00:00:00Z",
	}
	must.Write(t, path, strings.Join(lines, "\n"))
	tokens, err := ReadStaticTokens(path, slog.New(slog.DiscardHandler))
	must.Succeed(t, err)
	for _, tt := range []struct{ name, token, want, text string }{
		{"right", "anns", "ann@example.com", ""},
		{"right until later", "bobs", "bob", ""},
		{"expired", "former", "", "expired"},
		{"wrong", "annz", "", "it is unknown"},
		{"none", "", "", "Bearer TOKEN"},
		{"the hash in place of the token", hash("anns"), "", "it is unknown"},
		{"far too long", strings.Repeat("x", maxTokenBytes+1), "", "more than the limit"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			wants(t, tokens, task.Credentials{Token: tt.token, User: "root"}, tt.want, tt.text)
		})
	}
	if p, _ := tokens.Identify(t.Context(), task.Credentials{Token: "anns"}); !cmp.Equal(p.Groups, []string{"ops", "research"}) {
		t.Errorf("groups %v", p.Groups)
	}
}

func TestLinesThatNameNoToken(t *testing.T) {
	for _, line := range []string{
		hash("a"), "abc ann", strings.Repeat("z", 64) + " ann", hash("a") + " ,", hash("a") + " ann later", hash("a") + " ann until=tomorrow", hash("a") + " ann b c",
	} {
		path := filepath.Join(t.TempDir(), "tokens")
		must.Write(t, path, "\n"+line)
		if _, err := ReadStaticTokens(path, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), path+":2: ") {
			t.Errorf("%q: %v", line, err)
		}
	}
}

// TestFileThatChanges checks that a changed file is read again, and that a broken file
// changes nothing.
func TestFileThatChanges(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens")
	put := func(text string) {
		t.Helper()
		next := path + ".next"
		must.Succeed(t, errors.Join(os.WriteFile(next, []byte(text), 0o600), os.Rename(next, path)))
	}
	put(hash("a") + " ann")
	tokens, err := ReadStaticTokens(path, slog.New(slog.DiscardHandler))
	must.Succeed(t, err)
	now := func() { tokens.file.checkedAt.Store(time.Now().Add(time.Hour).UnixNano()) }
	later := func() { tokens.file.checkedAt.Store(time.Now().Add(-2 * recheckInterval).UnixNano()) }
	now()
	put(hash("b") + " bob")
	wants(t, tokens, task.Credentials{Token: "a"}, "ann", "") // the file has not been checked yet
	later()
	wants(t, tokens, task.Credentials{Token: "a"}, "", "it is unknown")
	wants(t, tokens, task.Credentials{Token: "b"}, "bob", "")
	put("rubbish")
	later()
	wants(t, tokens, task.Credentials{Token: "b"}, "bob", "")
	must.Succeed(t, os.Remove(path))
	later()
	wants(t, tokens, task.Credentials{Token: "b"}, "bob", "")
	put(hash("c") + " carol")
	later()
	wants(t, tokens, task.Credentials{Token: "c"}, "carol", "")
}

// TestClientsBehindProxies checks which address the limits by address count for.
func TestClientsBehindProxies(t *testing.T) {
	proxies, err := ParseNetworks("10.0.0.0/8, fd00::/8")
	must.Succeed(t, err)
	for _, tt := range []struct {
		peer      string
		forwarded []string
		want      string
	}{
		{"10.0.0.1", []string{"203.0.113.7"}, "203.0.113.7"},
		{"10.0.0.1", []string{"198.51.100.1, 203.0.113.7"}, "203.0.113.7"}, // the first one is the client's own word
		{"10.0.0.1", []string{"198.51.100.1", "203.0.113.7 , 10.0.0.2"}, "203.0.113.7"},
		{"10.0.0.1", []string{"198.51.100.1, fd00::2"}, "198.51.100.1"},
		{"::ffff:10.0.0.1", []string{"2001:db8::7"}, "2001:db8::7"},
		{"203.0.113.9", []string{"198.51.100.1"}, "203.0.113.9"}, // no proxy
		{"10.0.0.1", nil, "10.0.0.1"},
		{"10.0.0.1", []string{"unknown"}, "10.0.0.1"},
		{"10.0.0.1", []string{"10.0.0.2"}, "10.0.0.2"},
	} {
		if got := proxies.Client(netip.MustParseAddr(tt.peer), tt.forwarded); got != netip.MustParseAddr(tt.want) {
			t.Errorf("%s, X-Forwarded-For %q: %s, want %s", tt.peer, tt.forwarded, got, tt.want)
		}
	}
	if got := (Proxies{}).Client(netip.MustParseAddr("10.0.0.1"), []string{"203.0.113.7"}); got != netip.MustParseAddr("10.0.0.1") {
		t.Errorf("without proxies: %s", got)
	}
}
