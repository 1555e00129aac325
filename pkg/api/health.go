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

// A HealthChecker says how this pod fares.
type HealthChecker interface {
	Ready() bool    // whether it can answer reads
	Health() Health // the same at more length
}

// service answers that the service is there, as the specification has it.
func service(c *fiber.Ctx) error {
	return c.JSON(fiber.Map{"status": "ok", "service": "k8s-cli-api"})
}

func alive(c *fiber.Ctx) error {
	return c.JSON(fiber.Map{"status": "ok"})
}

// readiness returns the handler that answers how the pod fares.
func readiness(health HealthChecker) fiber.Handler {
	return func(c *fiber.Ctx) error {
		now := health.Health()
		if !now.Ready {
			now.Detail = cmp.Or(strings.Join(now.Degraded, "; "), "not ready")
			c.Status(fiber.StatusServiceUnavailable)
			c.Set(fiber.HeaderRetryAfter, "1")
		}
		return c.JSON(now)
	}
}

// whenReady lets nobody read a store that is not complete yet.
func whenReady(health HealthChecker) fiber.Handler {
	return func(c *fiber.Ctx) error {
		if !health.Ready() {
			return task.Error(task.ErrUnavailable, "the server is starting or stopping; try again")
		}
		return c.Next()
	}
}
