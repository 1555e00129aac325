package callback

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"k8s-cli/pkg/task/problem"
)

func hosts(t *testing.T, items ...string) Hosts {
	t.Helper()
	h, err := ParseHosts(items)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestInvalidPatterns(t *testing.T) {
	for _, item := range []string{
		"", "*", "*.", ".example.com", "a b", "https://example.com", "example.com/path", "user@example.com", "example.com:port", "example.com:80:81",
		"exa*mple.com", "*.10.0.0.1", "private:", "fe80::1%eth0", "[fe80::1%25eth0]", "example.com?x", "example.com#x",
	} {
		if _, err := ParseHosts([]string{item}); err == nil {
			t.Errorf("%q is accepted", item)
		}
	}
}

func TestAllowedURLs(t *testing.T) {
	h := hosts(t, "Hooks.example.com", "*.example.org", "private:internal.example.com:8443", "private:10.7.7.7", "127.0.0.1:8080", "[::1]:8080", "localhost", "192.0.2.7")
	for _, text := range []string{
		"https://hooks.example.com/a?b=c", "https://HOOKS.EXAMPLE.COM", "https://hooks.example.com:443/", "https://a.example.org/", "https://a.b.example.org/",
		"https://internal.example.com:8443/x", "http://127.0.0.1:8080/", "https://127.0.0.1:8080/", "http://[::1]:8080/", "http://localhost/", "https://localhost/", "https://192.0.2.7/",
	} {
		if err := h.Check(text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, tt := range []struct {
		url, want string
		kind      error
	}{
		{"https://example.com/", `"example.com"`, problem.NotAllowed},
		{"https://example.org/", `"example.org"`, problem.NotAllowed},
		{"https://evilexample.org/", "--notify-hosts", problem.NotAllowed},
		{"https://hooks.example.com.evil.example/", "--notify-hosts", problem.NotAllowed},
		{"https://hooks.example.com./", "--notify-hosts", problem.NotAllowed},
		{"https://hooks.example.com:8443/", "--notify-hosts", problem.NotAllowed},
		{"https://internal.example.com/", "--notify-hosts", problem.NotAllowed},
		{"http://127.0.0.1/", "--notify-hosts", problem.NotAllowed},
		{"http://127.0.0.2:8080/", "--notify-hosts", problem.NotAllowed},
		{"https://2130706433:8080/", "--notify-hosts", problem.NotAllowed}, // 127.0.0.1
		{"https://0x7f.1:8080/", "--notify-hosts", problem.NotAllowed},
		{"https://169.254.169.254/", "--notify-hosts", problem.NotAllowed},
		{"http://hooks.example.com/", "https://", problem.Invalid},
		{"ftp://hooks.example.com/", "https://", problem.Invalid},
		{"https://hooks.example.com@evil.example/", "user name", problem.Invalid},
		{"https://ann:pw@hooks.example.com/", "user name", problem.Invalid},
		{"https://hooks.example.com/#x", "fragment", problem.Invalid},
		{"https:///path", "https://HOST/PATH", problem.Invalid},
		{"https://hooks.example.com/\n", "https://HOST/PATH", problem.Invalid},
		{"https://hooks.example.com\\@evil.example/", "https://HOST/PATH", problem.Invalid},
		{"https://hooks.example.com/" + strings.Repeat("x", maxURL), "longer", problem.Invalid},
	} {
		err := h.Check(tt.url)
		if err == nil || !errors.Is(err, tt.kind) || !strings.Contains(err.Error(), tt.want) || !strings.HasPrefix(err.Error(), "event_callback: ") {
			t.Errorf("%s: %v, want a %v with %q", tt.url, err, tt.kind, tt.want)
		}
		if err != nil && strings.Contains(err.Error(), "pw") {
			t.Errorf("the error contains the password: %v", err)
		}
	}
	if err := Hosts(nil).Check("https://hooks.example.com/"); !errors.Is(err, problem.FeatureDisabled) || !errors.Is(err, problem.Invalid) || !strings.Contains(err.Error(), "--notify-hosts") {
		t.Errorf("without hosts: %v", err)
	}
}

func TestAddresses(t *testing.T) {
	h := hosts(t, "public.example.com", "private:internal.example.com", "*.example.org", "private:*.corp.example.org", "localhost", "10.1.2.3", "169.254.169.254")
	for _, tt := range []struct {
		host, address string
		want          bool
	}{
		{"public.example.com", "93.184.215.14", true},
		{"public.example.com", "2606:2800:21f:cb07:6820:80da:af6b:8b2c", true},
		{"public.example.com", "::ffff:93.184.215.14", true},
		{"public.example.com", "10.1.2.3", false},
		{"public.example.com", "127.0.0.1", false},
		{"public.example.com", "::1", false},
		{"public.example.com", "::ffff:127.0.0.1", false},
		{"public.example.com", "::127.0.0.1", false},
		{"public.example.com", "169.254.169.254", false},
		{"public.example.com", "::ffff:169.254.169.254", false},
		{"public.example.com", "fe80::1", false},
		{"public.example.com", "fd00:ec2::254", false},
		{"public.example.com", "64:ff9b::a9fe:a9fe", false},
		{"public.example.com", "2002:a9fe:a9fe::1", false},
		{"public.example.com", "0.0.0.0", false},
		{"public.example.com", "::", false},
		{"public.example.com", "100.64.0.1", false},
		{"public.example.com", "198.18.0.1", false},
		{"public.example.com", "224.0.0.1", false},
		{"public.example.com", "255.255.255.255", false},
		{"internal.example.com", "10.1.2.3", true},
		{"internal.example.com", "192.168.1.1", true},
		{"internal.example.com", "fd00::1", true},
		{"internal.example.com", "93.184.215.14", true},
		{"internal.example.com", "127.0.0.1", false},
		{"internal.example.com", "169.254.169.254", false},
		{"a.example.org", "10.1.2.3", false},
		{"a.corp.example.org", "10.1.2.3", true},
		{"localhost", "127.0.0.1", true},
		{"localhost", "::1", true},
		{"localhost", "10.1.2.3", false},
		{"localhost", "93.184.215.14", false},
		{"10.1.2.3", "10.1.2.3", true},
		{"10.1.2.3", "::ffff:10.1.2.3", true},
		{"10.1.2.3", "10.1.2.4", false},
		{"169.254.169.254", "169.254.169.254", true}, // the administrator named the address
		{"other.example.com", "93.184.215.14", false},
	} {
		err := h.CheckAddress(tt.host, "443", netip.MustParseAddr(tt.address))
		if (err == nil) != tt.want {
			t.Errorf("%s at %s: %v", tt.host, tt.address, err)
		}
	}
	if h.CheckAddress("public.example.com", "80", netip.MustParseAddr("93.184.215.14")) == nil {
		t.Error("a port that no pattern names is allowed")
	}
}

func TestURLsAndCommands(t *testing.T) {
	for value, want := range map[string]bool{"https://a": true, "HTTPS://a": true, "http://a": true, "curl https://a": false, "": false, "httpsx": false} {
		if IsURL(value) != want {
			t.Errorf("%q: %t", value, !want)
		}
	}
}
