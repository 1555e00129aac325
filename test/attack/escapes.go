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

// escapeAttacks make the CLI print text of a server.
func escapeAttacks() (all []attack) {
	// A task has the fields of both views of a list.
	task := strings.ReplaceAll(`{"task_id":"abcd1234","id":"abcd1234ESC","user":"annESC","reason":"rESC","gpus":"gESC","created":1,"nodes":1,"name":"xESC","status":"failed","created_at":"2026-01-01T00:00:00Z","updated_at":"2026-01-01T00:00:00Z","username":"annESC","resources":{"cpusESC":"ESC"},"metadata":{"user":"annESC","reason":"ErrorESC","message":"mESC","hint":"hESC","job_name":"jESC","num_nodes":1,
		"nodes":[{"rank":0,"status":"failedESC","job":"jESC","pod":"pESC","host":"hESC","reason":"rESC","exit_code":1}]}}`, "ESC", escape)
	volume := strings.ReplaceAll(`{"volume_id":"efgh5678","name":"vESC","status":"PendingESC","size":"1GiESC","storage_class":"sESC","access_modes":["RWOESC"],"username":"annESC","created_at":"2026-01-01T00:00:00Z","metadata":{"user":"annESC","reason":"rESC","message":"mESC","hint":"hESC","claim":"cESC"}}`, "ESC", escape)
	events := strings.ReplaceAll(`{"events":[{"id":"1.1","time":"2026-01-01T00:00:00Z","type":"phaseESC","kind":"task","task_id":"abcd1234","name":"xESC","user":"annESC","status":"failedESC","reason":"rESC","message":"mESC"}]}`, "ESC", escape)
	done := strings.ReplaceAll(`{"task_id":"abcd1234","volume_id":"efgh5678","name":"nESC","status":"submittedESC","message":"mESC","warnings":["wESC"],"count":1,"objects":[{"kind":"JobESC","metadata":{"name":"jESC"}}]}`, "ESC", escape)
	capacity := strings.ReplaceAll(`{"known":true,"waiting":{"pods":1},"gpus":[{"model":"gESC"}],"nodes":[{"name":"nESC","gpu":"gESC","taint":"tESC"}]}`, "ESC", escape)
	bodies := map[string]string{
		"auth whoami": strings.ReplaceAll(`{"user":"annESC","groups":["opsESC"],"admin":true,"identified_by":"tokenESC","limits":{},"usage":{}}`, "ESC", escape),
		"jobs list":   `{"tasks":[` + task + `]}`, "gpus": capacity, "nodes": capacity, "jobs list -q": `{"tasks":[` + task + `]}`, "jobs list -o jsonpath={.tasks[*].name}": `{"tasks":[` + task + `]}`, "jobs list -o wide": `{"tasks":[` + task + `]}`, "jobs list -o json": `{"tasks":[` + task + `]}`, "jobs list -o yaml": `{"tasks":[` + task + `]}`, "jobs status abcd1234": task, "jobs status -o yaml abcd1234": task, "jobs wait abcd1234": task,
		"jobs submit -d task.yaml": done, "jobs submit --dry-run task.yaml": done, "jobs stop abcd1234": done, "jobs stop --all": done, "jobs events abcd1234": events, "jobs rerun abcd1234": `{"name":"x` + escape + `","run":"true"}`,
		"jobs spec abcd1234": `{"name":"x` + escape + `","run":"echo ` + escape + `","envs":{"A":"` + escape + `"}}`,
		"volumes list":       `{"volumes":[` + volume + `]}`, "volumes status efgh5678": volume, "volumes create data 1Gi": done, "volumes delete --force efgh5678": done, "volumes events efgh5678": events,
	}
	for command, body := range byName(bodies) {
		all = append(all, printed("text: "+command, command, says(200, body)))
	}
	for _, command := range commands {
		all = append(all, printed("error: "+command, command, says(404, `{"detail":"no such thing `+escape+`"}`)))
	}
	for _, code := range []int{400, 401, 403, 409, 413, 422, 429, 500, 503} {
		all = append(all, printed(fmt.Sprintf("error %d", code), "jobs list", says(code, `{"detail":"x `+escape+`"}`)))
	}
	plain := func(code int, kind string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(code)
			_, _ = io.WriteString(w, "<html>"+escapeBytes)
		}
	}
	return append(all,
		printed("a page in place of JSON", "jobs list", plain(200, "text/html")),
		printed("a page in place of an error", "jobs list", plain(502, "text/html")),
		printed("a page in place of a name", "auth whoami", plain(500, "text/plain")),
		printed("the reason of a status line", "jobs list", bytesOf("HTTP/1.1 500 Oh"+escapeBytes+"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")),
		printed("an answer that is none", "jobs list", bytesOf(escapeBytes+"\r\n\r\n")),
		printed("a redirect", "jobs list", bytesOf("HTTP/1.1 307 Moved\r\nLocation: http://x/"+escapeBytes+"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")),
		printed("headers", "jobs list", bytesOf("HTTP/1.1 200 OK\r\nX-Stale: log"+escapeBytes+"\r\nX-Next-Cursor: "+escapeBytes+"\r\nContent-Type: application/json\r\nContent-Length: 12\r\nConnection: close\r\n\r\n{\"tasks\":[]}")),
		printed("a way to log in", "auth login", says(200, `{"identified_by":"`+escape+`"}`)),
		printed("an issuer", "auth login", says(200, `{"identified_by":"oidc","issuer":"http://127.0.0.1:1/`+escape+`","client_id":"c`+escape+`"}`)),
		device("a device code", `"user_code":"A`+escape+`","verification_uri":"https://id.example/`+escape+`","verification_uri_complete":"https://id.example/?c=`+escape+`"`, nil),
		device("a device's address in plain sight", `"user_code":"AB","verification_uri":"https://id.example/d"`, []string{"{issuer}", "the-client"}),
	)
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

// printed runs a command whose output must contain no control characters.
func printed(name, command string, answer http.HandlerFunc) attack {
	return scene("escapes: "+name, "no control characters in the output", func(ctx context.Context, w *environment) error {
		h := newHostile(nil)
		defer h.Close()
		u, err := w.loggedIn(ctx, h, true)
		if err != nil {
			return err
		}
		h.turn(answer)
		out, err := u.run(ctx, h, "", strings.Fields(command)...)
		if err != nil {
			return err
		}
		if h.told() == "" {
			return fmt.Errorf("the command asked nothing: %s", out)
		}
		return clean(out)
	})
}

func clean(out string) error {
	if strings.ContainsAny(out, "\x1b\x07\u009b") {
		return fmt.Errorf("%q", out)
	}
	return nil
}

// device makes an issuer ask the user to open an address. The output must contain shows, in
// which {issuer} stands for the issuer's URL.
func device(name, code string, shows []string) attack {
	return scene("escapes: "+name, fmt.Sprintf("no control characters in the output, and in it %q", shows), func(ctx context.Context, w *environment) error {
		h := newHostile(nil)
		defer h.Close()
		h.turn(func(rw http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/auth":
				says(200, `{"identified_by":"oidc","issuer":"`+h.URL+`","client_id":"the-client"}`)(rw, r)
			case "/.well-known/openid-configuration":
				says(200, `{"issuer":"`+h.URL+`","token_endpoint":"`+h.URL+`/token","device_authorization_endpoint":"`+h.URL+`/device"}`)(rw, r)
			case "/device":
				says(200, `{"device_code":"d",`+code+`,"interval":1,"expires_in":60}`)(rw, r)
			default:
				says(400, `{"error":"access_denied","error_description":"`+escape+`"}`)(rw, r)
			}
		})
		u, err := w.cliUser()
		if err != nil {
			return err
		}
		out, err := u.run(ctx, h, "y\n", "auth", "login")
		if err != nil {
			return err
		}
		for _, text := range shows {
			if text = strings.ReplaceAll(text, "{issuer}", h.URL); !strings.Contains(out, text) {
				return fmt.Errorf("%s is not in the output: %q", text, out)
			}
		}
		return clean(out)
	})
}
