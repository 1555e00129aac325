// Command k8s-cli-bucket moves the data of buckets for the pods of tasks, with rclone: fetch copies the
// buckets to the node, and send sends changed files back. The variable K8S_CLI_TRANSFER describes the
// buckets in JSON; other variables hold the credentials. If the program fails, its error is also the
// termination message of the container.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

const planVariable = "K8S_CLI_TRANSFER"

// terminationLog is the file from which Kubernetes reads why a container failed.
const terminationLog = "/dev/termination-log"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	err := start(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "k8s-cli-bucket:", err)
		_ = os.WriteFile(terminationLog, []byte(err.Error()), 0o644) // the container may have no such file
		os.Exit(1)
	}
}

// start runs the program without credentials in its environment.
func start(ctx context.Context) error {
	p, err := readPlan(os.Getenv)
	if err != nil {
		return err
	}
	getenv, err := hide(p)
	if err != nil {
		return err
	}
	return run(ctx, os.Args[1:], getenv)
}

func readPlan(getenv func(string) string) (*plan, error) {
	var p plan
	if err := json.Unmarshal([]byte(getenv(planVariable)), &p); err != nil {
		return nil, fmt.Errorf("%s is not a plan: %w; run the image with the server of the same release", planVariable, err)
	}
	return &p, nil
}

func run(ctx context.Context, args []string, getenv func(string) string) error {
	p, err := readPlan(getenv)
	if err != nil {
		return err
	}
	syscall.Umask(0) // the container of the task may run as another user
	ctx = configured(ctx)
	switch {
	case len(args) == 1 && args[0] == "fetch":
		return redacted(p.fetch(ctx, getenv), p, getenv)
	case len(args) == 1 && args[0] == "send":
		return p.send(ctx, getenv)
	default:
		return errors.New("usage: k8s-cli-bucket fetch|send")
	}
}
