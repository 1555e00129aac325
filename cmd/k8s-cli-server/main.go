// Command k8s-cli-server is the server. It accepts tasks over HTTP, stores the tasks in a log,
// runs the tasks as Kubernetes Jobs, and answers requests for their status from memory.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
)

func main() {
	ballast := newBallast()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := command(&config{}).ExecuteContext(ctx)
	stop()
	runtime.KeepAlive(ballast)
	os.Exit(exitCode(err))
}

// exitCode prints the error that ended the server on one line. It returns 0 after a
// signal, 2 for an error in the command line, and 1 for any other error.
func exitCode(err error) int {
	switch {
	case err == nil, errors.Is(err, context.Canceled):
		return 0
	case errors.Is(err, errUsage):
		fmt.Fprintf(os.Stderr, "k8s-cli-server: %s; see --help\n", strings.TrimPrefix(err.Error(), errUsage.Error()+": "))
		return 2
	}
	fmt.Fprintf(os.Stderr, "k8s-cli-server: %s\n", strings.ReplaceAll(err.Error(), "\n", "; "))
	return 1
}
