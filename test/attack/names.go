package main

import (
	"strings"
)

// nameAttacks use invalid user names and names that look like other names.
func nameAttacks() (all []attack) {
	for name, user := range byName(map[string]string{
		"empty": "", "a blank": " ", "blanks and tabs": " \t ", "254 bytes": strings.Repeat("a", 254), "10000 bytes": strings.Repeat("a", 10000),
		"a control character": "ann\x01", "DEL": "ann\x7f", "ESC": "ann\x1b[2J", "NEL": "ann\u0085", "CSI": "ann\u009b", "not UTF-8": "ann\xff", "half a character": "ann\xc3",
		"an overlong slash": "ann\xc0\xaf", "a surrogate": "ann\xed\xa0\x80",
		"right-to-left override": "\u202eann", "left-to-right mark": "ann\u200e", "right-to-left mark": "ann\u200f", "right-to-left embedding": "\u202bann", "isolate": "\u2066ann\u2069",
		"pop directional": "ann\u202c", "Arabic letter mark": "ann\u061c",
		"zero-width blank": "ann\u200b", "zero-width blank inside": "a\u200bnn", "zero-width non-joiner": "ann\u200c", "zero-width joiner": "ann\u200d", "word joiner": "ann\u2060",
		"byte order mark": "\ufeffann", "byte order mark at the end": "ann\ufeff", "soft hyphen": "an\u00adn", "function application": "ann\u2061", "tag": "ann\U000e0061", "language tag": "ann\U000e0001",
		"interlinear annotation": "ann\ufff9", "Mongolian vowel separator": "ann\u180e",
		"no-break blank in front": "\u00a0ann", "no-break blank": "ann\u00a0", "no-break blank inside": "a\u00a0nn", "line separator": "ann\u2028", "paragraph separator": "ann\u2029",
		"em blank": "ann\u2003", "thin blank": "\u2009ann", "narrow no-break blank": "ann\u202f", "ideographic blank": "\u3000ann", "Ogham blank": "ann\u1680",
		"mathematical blank": "ann\u205f",
	}) {
		all = append(all, raw(name, byHeader, "GET /tasks HTTP/1.1\r\nHost: {host}\r\nX-User: "+user+"\r\n\r\n", codes(400, 401, 431)))
	}
	for name, lines := range byName(map[string]string{
		"no header": "", "two names": "X-User: ann\r\nX-User: bob\r\n", "one name twice": "X-User: ann\r\nX-User: ann\r\n", "another case": "X-User: ann\r\nx-user: bob\r\n",
		"an empty one beside": "X-User: ann\r\nX-User:\r\n", "a token in place of a name": "Authorization: Bearer ann\r\n", "NUL": "X-User: ann\x00\r\n", "X_User": "X_User: ann\r\n",
		"a cookie": "Cookie: X-User=ann\r\n",
	}) {
		all = append(all, raw("header: "+name, byHeader, "GET /tasks HTTP/1.1\r\nHost: {host}\r\n"+lines+"\r\n", codes(400, 401)))
	}
	for name, user := range byName(map[string]string{
		"plain": "ann", "e-mail": "ann@example.com", "253 bytes": strings.Repeat("a", 253), "umlauts": "änn", "Japanese": "田中", "inner blank": "ann of x", "blanks around": " ann\t", "Arabic": "آن",
	}) {
		all = append(all, control(raw("honest: "+name, byHeader, "GET /tasks HTTP/1.1\r\nHost: {host}\r\nX-User: "+user+"\r\n\r\n", works)))
	}
	return all
}

// tokenAttacks use credentials that are not a valid token of ann.
func tokenAttacks() (all []attack) {
	good := tokenOf("ann")
	for name, lines := range byName(map[string]string{
		"none": "", "no scheme": "Authorization: " + good, "no token": "Authorization: Bearer", "an empty token": "Authorization: Bearer ", "Basic": "Authorization: Basic YW5uOmFubg==",
		"Basic with the token": "Authorization: Basic " + good, "a made-up one": "Authorization: Bearer " + strings.Repeat("0", 64), "two words": "Authorization: Bearer " + good + " x",
		"a word in front": "Authorization: Bearer x " + good, "two headers": "Authorization: Bearer " + good + "\r\nAuthorization: Bearer x", "two headers, the good one last": "Authorization: Bearer x\r\nAuthorization: Bearer " + good,
		"the same twice": "Authorization: Bearer " + good + "\r\nAuthorization: Bearer " + good, "a list": "Authorization: Bearer " + good + ", Bearer x", "a cookie": "Cookie: Authorization=Bearer " + good,
		"another header": "X-Authorization: Bearer " + good, "Proxy-Authorization": "Proxy-Authorization: Bearer " + good, "capitals": "Authorization: Bearer " + strings.ToUpper(good),
		"the beginning": "Authorization: Bearer " + good[:63], "one letter more": "Authorization: Bearer " + good + "0", "its hash": "Authorization: Bearer " + hashOf(good), "an expired one": "Authorization: Bearer " + tokenOf("eve"),
		"a name": "X-User: ann", "a name beside a wrong token": "X-User: ann\r\nAuthorization: Bearer x", "another scheme": "Authorization: Token " + good, "an equals sign": "Authorization: Bearer=" + good,
		"a colon": "Authorization: Bearer: " + good, "in quotes": "Authorization: Bearer \"" + good + "\"", "a no-break blank": "Authorization: Bearer\u00a0" + good, "not UTF-8": "Authorization: Bearer \xff\xfe",
		"10 KB": "Authorization: Bearer " + strings.Repeat("x", 10<<10), "a percent sign": "Authorization: Bearer %" + good, "a zero-width blank": "Authorization: Bearer " + good + "\u200b", "SQL": "Authorization: Bearer ' or 1=1 --", "JSON": "Authorization: Bearer {\"$ne\":null}",
	}) {
		if lines != "" {
			lines += "\r\n"
		}
		all = append(all, raw(name, byToken, "GET /whoami HTTP/1.1\r\nHost: {host}\r\n"+lines+"\r\n", codes(400, 401)))
	}
	for _, query := range []string{"access_token=", "token=", "authorization=Bearer%20", "user=ann&token="} {
		all = append(all, call("query: "+query, byToken, request{method: "GET", path: "/whoami?" + query + good}, unauthorized))
	}
	return append(all,
		control(raw("a token", byToken, "GET /whoami HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer "+good+"\r\n\r\n", showing(works, `"user":"ann"`))),
		control(raw("another case of the scheme", byToken, "GET /whoami HTTP/1.1\r\nHost: {host}\r\nauthorization: bearer "+good+"\r\n\r\n", works)),
	)
}

// trustedProxyAttacks pretend to come from a trusted proxy.
func trustedProxyAttacks() (all []attack) {
	for _, line := range []string{
		"X-Forwarded-For: 10.0.0.1", "X-Forwarded-For: 127.0.0.1, 10.0.0.1", "X-Real-IP: 10.0.0.1", "X-Real-Ip: 10.0.0.1", "Forwarded: for=10.0.0.1", "Forwarded: for=\"[::ffff:10.0.0.1]\"", "True-Client-IP: 10.0.0.1",
		"CF-Connecting-IP: 10.0.0.1", "X-Client-IP: 10.0.0.1", "X-Cluster-Client-IP: 10.0.0.1", "Via: 1.1 10.0.0.1", "X-Originating-IP: 10.0.0.1", "X-Remote-User: ann", "Remote-User: ann", "X-Forwarded-User: ann", "Host: 10.0.0.1",
	} {
		name, value, _ := strings.Cut(line, ": ")
		all = append(all, call(line, farProxy, request{method: "GET", path: "/tasks", header: []string{"X-User", "ann", name, value}}, codes(401, 421)))
	}
	for name, header := range byName(map[string][]string{
		"all_users": {"X-User", "ann"}, "another group": {"X-User", "ann", "X-Groups", "dev"}, "a name in place of a group": {"X-User", "ann", "X-Groups", "root"}, "a group with its prefix": {"X-User", "ann", "X-Groups", "group:ops"},
		"the group as a user": {"X-User", "group:ops"}, "capitals": {"X-User", "Root"}, "a dot": {"X-User", "root."}, "a comma": {"X-User", "root,ann"}, "the group in the name": {"X-User", "ann,ops"}, "X-Group": {"X-User", "ann", "X-Group", "ops"},
	}) {
		all = append(all, call("admin: "+name, nearProxy, request{method: "GET", path: "/tasks?all_users=true", header: header}, forbidden))
	}
	return append(all,
		call("admin: two names", nearProxy, request{method: "GET", path: "/tasks?all_users=true", header: []string{"X-User", "root", "X-User", "ann"}}, unauthorized),
		control(call("through a proxy", nearProxy, request{method: "GET", path: "/tasks", header: []string{"X-User", "ann"}}, works)),
		control(call("an administrator", nearProxy, request{method: "GET", path: "/tasks?all_users=true", header: []string{"X-User", "root"}}, works)),
		control(call("a group of administrators", nearProxy, request{method: "GET", path: "/tasks?all_users=true", header: []string{"X-User", "bob", "X-Groups", "dev, ops"}}, works)),
	)
}
