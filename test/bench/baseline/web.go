package baseline

import (
	"encoding/json"
	"fmt"
	"net"
	"strings"

	"github.com/gofiber/fiber/v2"
)

// A Route is a path and its fixed answer.
type Route struct {
	Path   string      `json:"path"`
	Decode bool        `json:"decode"` // POST, whose body is decoded and validated before the answer; else GET
	Status int         `json:"status"`
	Header [][2]string `json:"header"`
	Body   []byte      `json:"body"`
}

// A web is bare Fiber. A web has only the settings without which the server could not work.
type web struct{ app *fiber.App }

// serve listens on a new port and serves these routes instead of the former ones.
func (w *web) serve(routes []Route) (address string, err error) {
	w.close()
	w.app = fiber.New(fiber.Config{DisableStartupMessage: true, Immutable: true})
	for _, r := range routes {
		if r.Decode {
			w.app.Post(r.Path, r.checked)
		} else {
			w.app.Get(r.Path, r.send)
		}
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("serve: %w", err)
	}
	app := w.app
	go func() { _ = app.Listener(listener) }() // ends when the app shuts down
	return listener.Addr().String(), nil
}

func (w *web) close() {
	if w.app != nil {
		_ = w.app.Shutdown()
	}
}

func (r Route) send(c *fiber.Ctx) error {
	for _, h := range r.Header {
		c.Set(h[0], h[1])
	}
	if len(r.Body) == 0 {
		return c.SendStatus(r.Status)
	}
	return c.Status(r.Status).Send(r.Body)
}

func (r Route) checked(c *fiber.Ctx) error {
	if err := decode(c.Body()); err != nil {
		return c.Status(fiber.StatusUnprocessableEntity).JSON(fiber.Map{"detail": err.Error()})
	}
	return r.send(c)
}

// A submission is a task for the plainest decoder.
type submission struct {
	Name      string            `json:"name"`
	NumNodes  *int              `json:"num_nodes"`
	Resources map[string]any    `json:"resources"`
	Envs      map[string]string `json:"envs"`
	Setup     string            `json:"setup"`
	Run       string            `json:"run"`
}

func decode(body []byte) error {
	var s submission
	if err := json.Unmarshal(body, &s); err != nil {
		return err
	}
	return s.check()
}

func (s submission) check() error {
	switch {
	case strings.TrimSpace(s.Run) == "":
		return fmt.Errorf("run: is empty")
	case s.NumNodes != nil && *s.NumNodes < 1:
		return fmt.Errorf("num_nodes: %d is not at least 1", *s.NumNodes)
	}
	return nil
}
