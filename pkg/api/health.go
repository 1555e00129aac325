package api

import (
	"cmp"
	"strings"

	"github.com/gofiber/fiber/v2"

	"k8s-cli/pkg/task"
)

// Health says how a pod fares.
type Health struct {
	Ready    bool     `json:"ready"`              // it can answer reads
	Leading  bool     `json:"leading"`            // its controller is the active one
	Degraded []string `json:"degraded,omitempty"` // what is missing, a sentence each
	Detail   string   `json:"detail,omitempty"`   // why it is not ready, as errors have it
}

// service answers that the service is there, as the specification has it.
func (s *Server) service(c *fiber.Ctx) error {
	return c.JSON(fiber.Map{"status": "ok", "service": "k8s-cli-api"})
}

func (s *Server) alive(c *fiber.Ctx) error {
	return c.JSON(fiber.Map{"status": "ok"})
}

func (s *Server) ready(c *fiber.Ctx) error {
	health := s.config.Health()
	if !health.Ready {
		health.Detail = cmp.Or(strings.Join(health.Degraded, "; "), "not ready")
		c.Status(fiber.StatusServiceUnavailable)
		c.Set(fiber.HeaderRetryAfter, "1")
	}
	return c.JSON(health)
}

// whenReady lets nobody read a store that is not complete yet.
func (s *Server) whenReady(c *fiber.Ctx) error {
	if !s.config.Ready() {
		return task.Error(task.ErrUnavailable, "the server is starting or stopping; try again")
	}
	return c.Next()
}
