package main

import "strings"

// probe is a second request, to which the server must not answer after an invalid first
// request.
const probe = "GET /healthz HTTP/1.1\r\nHost: {host}\r\n\r\n"

const upgradeHead = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Protocol: v1.session.k8s-cli\r\n"

// reachAttacks request sessions in tasks. The servers allow no sessions, so no handshake may
// succeed. What follows a handshake that fails must not become a request of its own: a proxy that
// takes the connection for a WebSocket would pass on such a request without a look.
func reachAttacks() (all []attack) {
	const strangers = "GET /tasks/lex9x817/exec?command=id HTTP/1.1\r\nHost: {host}\r\nX-User: ann\r\n"
	for name, upgrade := range byName(map[string]string{
		"a handshake":     upgradeHead,
		"another version": strings.Replace(upgradeHead, "13", "9", 1),
		"two versions":    upgradeHead + "Sec-WebSocket-Version: 12\r\n",
		"two keys":        upgradeHead + "Sec-WebSocket-Key: BAAAAAAAAAAAAAAAAAAAAA==\r\n",
		"no key":          strings.Replace(upgradeHead, "Sec-WebSocket-Key", "X-Key", 1),
		"h2c":             strings.Replace(upgradeHead, "websocket", "h2c", 1),
	}) {
		all = append(all, raw("hidden request: "+name, byHeader, strangers+upgrade+"\r\n"+probe, closed(404)))
	}
	for name, origin := range byName(map[string]string{"page": "https://evil.example", "null": "null", "suffix": "http://{host}.evil.example", "prefix": "http://evil.example/{host}"}) {
		all = append(all, raw("foreign origin: "+name, byHeader, strangers+"Origin: "+origin+"\r\n"+upgradeHead+"\r\n"+probe, closed(403)))
	}
	for _, path := range []string{"/tasks/{task}/exec?command=id", "/tasks/{task}/port-forward?port=80"} {
		r := request{method: "GET", path: path}
		all = append(all,
			ofAs("another user: "+path, byHeader, "bob", r, showing(codes(404), "not found")),
			ofAs("an administrator: "+path, byToken, "root", r, showing(codes(404), "not found")),
			ofAs("off, for the owner: "+path, byHeader, "ann", r, showing(codes(422), "--allow-exec")))
	}
	return all
}
