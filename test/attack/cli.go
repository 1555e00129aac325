package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// The escape sequences change the clipboard, the title and the colors of a terminal: in
// JSON, and as bytes.
const (
	escape      = `\u001b]52;c;ZXZpbA==\u0007\u001b]0;x\u0007\u009b31m`
	escapeBytes = "\x1b]52;c;ZXZpbA==\x07\u009b31m"
)

// cliAttacks make the CLI print text of a server. The tests of cmd/k8s-cli let servers redirect every
// command, send control characters in every field, and try to get tokens and to write files.
func cliAttacks() []attack {
	plain := func(code int, kind string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(code)
			_, _ = io.WriteString(w, "<html>"+escapeBytes)
		}
	}
	return []attack{
		printed("a page in place of JSON", "jobs list", plain(200, "text/html")),
		printed("a page in place of an error", "jobs list", plain(502, "text/html")),
		printed("a page in place of a name", "auth whoami", plain(500, "text/plain")),
		printed("the reason of a status line", "jobs list", bytesOf("HTTP/1.1 500 Oh"+escapeBytes+"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")),
		printed("an answer that is none", "jobs list", bytesOf(escapeBytes+"\r\n\r\n")),
		printed("a redirect", "jobs list", bytesOf("HTTP/1.1 307 Moved\r\nLocation: http://x/"+escapeBytes+"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")),
		printed("headers", "jobs list", bytesOf("HTTP/1.1 200 OK\r\nX-Stale: log"+escapeBytes+"\r\nX-Next-Cursor: "+escapeBytes+"\r\nContent-Type: application/json\r\nContent-Length: 12\r\nConnection: close\r\n\r\n{\"tasks\":[]}")),
		printed("a way to log in", "auth login", says(`{"identified_by":"`+escape+`"}`)),
		printed("an issuer", "auth login", says(`{"identified_by":"oidc","issuer":"http://127.0.0.1:1/`+escape+`","client_id":"c`+escape+`"}`)),
	}
}

// bytesOf answers with these bytes and closes the connection.
func bytesOf(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			panic(err) // not a connection of HTTP/1.1
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, text)
	}
}

// says answers with JSON.
func says(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, body)
	}
}

// printed runs a command whose output must contain no control characters.
func printed(name, command string, answer http.HandlerFunc) attack {
	return scene("escapes: "+name, "no control characters in the output", func(ctx context.Context, w *environment) error {
		h := newHostile()
		defer h.Close()
		home, err := h.loggedIn(ctx, w)
		if err != nil {
			return err
		}
		h.turn(answer)
		out, err := h.run(ctx, w, home, "", strings.Fields(command)...)
		if err == nil && strings.ContainsAny(out, "\x1b\x07\u009b") {
			err = fmt.Errorf("%q", out)
		}
		return err
	})
}
