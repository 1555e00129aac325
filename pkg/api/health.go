package api

import (
	"cmp"
	"strings"

	"github.com/gofiber/fiber/v2"

	"k8s-cli/pkg/task/problem"
)

// Health is the health of a pod.
type Health struct {
	Ready    bool     `json:"ready"`              // the pod can answer reads
	Leading  bool     `json:"leading"`            // the controller of this pod is active
	Degraded []string `json:"degraded,omitempty"` // one sentence for each degradation
	Detail   string   `json:"detail,omitempty"`   // why the pod is not ready; in the form of an error body
	Reason   string   `json:"reason,omitempty"`   // as Detail
}

// A HealthChecker reports the health of this pod.
type HealthChecker interface {
	Ready() bool    // whether the pod can answer reads
	Health() Health // Ready, with details
}

// service serves GET /, with the body that the specification requires.
func service(c *fiber.Ctx) error {
	return c.JSON(fiber.Map{"status": "ok", "service": "k8s-cli-api"})
}

func alive(c *fiber.Ctx) error {
	return c.JSON(fiber.Map{"status": "ok"})
}

// readiness returns the handler of GET /readyz.
func readiness(health HealthChecker) fiber.Handler {
	return func(c *fiber.Ctx) error {
		now := health.Health()
		if !now.Ready {
			now.Detail = cmp.Or(strings.Join(now.Degraded, "; "), "not ready")
			now.Reason = string(problem.Starting)
			c.Status(fiber.StatusServiceUnavailable)
			c.Set(fiber.HeaderRetryAfter, "1")
		}
		return c.JSON(now)
	}
}

// whenReady rejects requests while the pod is not ready.
func whenReady(health HealthChecker) fiber.Handler {
	return func(c *fiber.Ctx) error {
		if !health.Ready() {
			return problem.New(problem.Starting, "the server is starting or stopping; try again")
		}
		return c.Next()
	}
}
