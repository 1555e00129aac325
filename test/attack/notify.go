package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"k8s-cli/test/testkit"
)

// notifyAttacks name URLs for notifications to which the server must not connect: addresses that
// only the server reaches, names that look like an allowed name, and URLs that two parsers read
// differently. The server allows notifications to *.notify.example and to 127.0.0.1:1.
func notifyAttacks() (all []attack) {
	for name, target := range byName(map[string]string{
		"metadata of the cloud":  "https://169.254.169.254/latest/meta-data/",
		"metadata, without TLS":  "http://169.254.169.254/latest/meta-data/",
		"another port":           "http://127.0.0.1:8000/",
		"another loopback":       "http://127.0.0.2:1/",
		"address as a number":    "http://2130706433:1/",
		"mapped address":         "http://[::ffff:127.0.0.2]:1/",
		"unspecified address":    "http://0.0.0.0:1/",
		"user name of a host":    "https://a.notify.example@evil.example/",
		"password":               "https://ann:pw@a.notify.example/",
		"backslash":              "https://evil.example\\\\.notify.example/",
		"name that ends alike":   "https://evilnotify.example/",
		"name that begins alike": "https://a.notify.example.evil.example/",
		"without TLS":            "http://a.notify.example/",
		"another scheme":         "file:///etc/passwd",
		"a new line":             "https://a.notify.example/\\r\\nHost: evil.example",
		"a fragment":             "https://evil.example/#.notify.example",
	}) {
		body := fmt.Sprintf(`{"run":"true","event_callback":"%s"}`, target)
		if target[:4] != "http" { // a value that is not a URL is a shell command, which gets a warning
			all = append(all, ofAs(name, byHeader, "ann", request{method: "POST", path: "/tasks/submit", body: body}, showing(works, "not called")))
			continue
		}
		for _, path := range []string{"/tasks/submit", "/tasks/preview"} {
			all = append(all, ofAs(path+": "+name, byHeader, "ann", request{method: "POST", path: path, body: body}, without(showing(codes(422), "event_callback"), "ann:pw")))
		}
	}
	return append(all,
		ofAs("parameter", byHeader, "ann", request{method: "POST", path: "/tasks/submit?notify=https://169.254.169.254/", body: task14}, showing(codes(422), "--notify-hosts")),
		ofAs("batch", byHeader, "ann", request{method: "POST", path: "/tasks/batch?notify=https://169.254.169.254/", body: "[" + task14 + "]"}, showing(works, `"failed":1`)),
		call("secret of nobody", byToken, request{method: "GET", path: "/notify/secret"}, unauthorized),
		scene("secret that is read unseen", "the audit log has the request", auditSecret),
	)
}

// auditSecret reads the secret with which a user checks notifications.
func auditSecret(ctx context.Context, w *environment) error {
	s, err := w.serve(ctx, byHeader)
	if err != nil {
		return err
	}
	if a := s.send(ctx, request{method: "GET", path: "/notify/secret", header: s.as("ann")}); a.code != http.StatusOK {
		return fmt.Errorf("%s", a)
	}
	ctx, cancel := testkit.WithPatience(ctx, startTimeout)
	defer cancel()
	for !strings.Contains(s.Said(), `command="read notify secret"`) {
		if err := testkit.Pause(ctx, 100*time.Millisecond); err != nil {
			return fmt.Errorf("the audit log: %w", err)
		}
	}
	return nil
}
