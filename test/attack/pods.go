package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s-cli/pkg/exec"
	"k8s-cli/pkg/submit/objects"
	"k8s-cli/test/testkit"
)

// podAttacks come from the pod of a task, or go to it: a pod that floods the log, and sessions whose
// clients are gone.
func podAttacks() []attack {
	return []attack{
		scene("handshakes without a client", "they hold no session of their user", leakSessions),
		scene("a flood of reports", "10 reports, then one in 10 s, and 429 for the rest", floodReports),
	}
}

// runningTask submits a task of ann and waits until it runs.
func (s *server) runningTask(ctx context.Context, text string) (id string, err error) {
	a := s.send(ctx, request{method: "POST", path: "/tasks/submit", body: text, header: s.as("ann")})
	var made struct {
		ID string `json:"task_id"`
	}
	if err := json.Unmarshal(a.body, &made); err != nil || a.code != http.StatusOK {
		return "", fmt.Errorf("submit: %s", a)
	}
	for {
		if a := s.send(ctx, request{method: "GET", path: "/tasks/" + made.ID, header: s.as("ann")}); strings.Contains(string(a.body), `"status":"running"`) {
			return made.ID, nil
		}
		if err := testkit.Pause(ctx, 100*time.Millisecond); err != nil {
			return "", fmt.Errorf("task %s does not run: %w", made.ID, err)
		}
	}
}

// leakSessions opens more sessions than a user may have, each with a connection that is reset before
// the answer.
func leakSessions(ctx context.Context, w *environment) error {
	s, err := w.serve(ctx, allowExec)
	if err != nil {
		return err
	}
	id, err := s.runningTask(ctx, task14)
	if err != nil {
		return err
	}
	handshake := fmt.Sprintf("GET /tasks/%s/port-forward?port=80 HTTP/1.1\r\nHost: %s\r\nX-User: ann\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Protocol: %s\r\n\r\n", id, s.address, exec.Protocol)
	for range 2 * maxSessions {
		conn, err := dial(ctx, s.address)
		if err != nil {
			return err
		}
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0) // so that Close sends RST
		}
		_, _ = conn.Write([]byte(handshake))
		_ = conn.Close()
	}
	for { // until the server has seen the last reset
		code, err := s.statusOf(ctx, handshake)
		if err != nil || code == http.StatusSwitchingProtocols {
			return err
		}
		if code != http.StatusTooManyRequests {
			return fmt.Errorf("a good handshake: %d", code)
		}
		if err := testkit.Pause(ctx, time.Second); err != nil {
			return fmt.Errorf("a good handshake: %d: %w", code, err)
		}
	}
}

// maxSessions is how many sessions a user may have at once.
const maxSessions = 64

// statusOf sends a request and returns the status code of the response.
func (s *server) statusOf(ctx context.Context, text string) (int, error) {
	conn, err := dial(ctx, s.address)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	if _, err := conn.Write([]byte(text)); err != nil {
		return 0, err
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	return response.StatusCode, nil
}

// floodReports reports the outputs of a task, each time in another way, as the token of its pod allows.
func floodReports(ctx context.Context, w *environment) error {
	s, err := w.serve(ctx, allowExec)
	if err != nil {
		return err
	}
	id, err := s.runningTask(ctx, `{"run":"true","outputs":["/tmp/out"]}`)
	if err != nil {
		return err
	}
	secrets, err := w.cluster.CoreV1().Secrets(s.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	token := ""
	for _, secret := range secrets.Items {
		if strings.Contains(secret.Name, id) {
			token = string(secret.Data[objects.OutputKey(0)])
		}
	}
	began, stored := time.Now(), 0
	for i := range 200 {
		a := s.send(ctx, request{
			method: "PUT", path: fmt.Sprintf("/tasks/%s/outputs/0?failed=%s", id, []string{"size", "pack"}[i%2]), header: []string{"Authorization", "Bearer " + token},
		})
		switch a.code {
		case http.StatusTooManyRequests:
		case http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
			stored++
		default:
			return fmt.Errorf("report %d: %s", i, a)
		}
	}
	if most := 11 + int(time.Since(began)/(10*time.Second)); stored == 0 || stored > most {
		return fmt.Errorf("%d reports were stored within %s, want %d at most", stored, time.Since(began), most)
	}
	return nil
}
