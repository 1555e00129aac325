package main

import (
	"errors"
	"fmt"
	"net"
	"time"

	"k8s-cli/cmd/k8s-cli/internal/console"
	"k8s-cli/cmd/k8s-cli/internal/exit"
	"k8s-cli/pkg/client"
	"k8s-cli/pkg/client/account"
)

// problems are the errors of several requests.
type problems []error

func (p problems) Error() string   { return errors.Join(p...).Error() }
func (p problems) Unwrap() []error { return p }

// err returns p as an error, or nil if p is empty.
func (p problems) err() error {
	if len(p) == 0 {
		return nil
	}
	return p
}

// printError writes err to the console. It writes each of several errors on a line of its
// own, and skips an error that was already printed.
func printError(c *console.Console, err error) {
	if known, ok := errors.AsType[*exit.Error](err); ok {
		err = known.Err
	}
	several, ok := errors.AsType[problems](err)
	if !ok && err != nil {
		several = problems{err}
	}
	for _, err := range several {
		c.Fail(err.Error() + hint(err))
	}
}

// isDial reports whether no server accepted a connection.
func isDial(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "dial"
}

// hint returns advice that the text of err does not contain.
func hint(err error) string {
	known, ok := errors.AsType[*client.Error](err)
	switch {
	case !ok:
		return ""
	case isDial(err):
		return "; does a server run there? 'make run' starts one, and --api-url or " + account.URLEnv + " selects another"
	case known.RetryAfter > 0:
		return fmt.Sprintf(" (try again in %s)", known.RetryAfter.Round(time.Second))
	case known.Code >= 500 && known.RequestID != "":
		return " (request " + known.RequestID + ")"
	}
	return ""
}
