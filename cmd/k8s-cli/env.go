package main

import (
	"context"
	"os"
	"os/signal"
	"path/filepath"

	"k8s-cli/cmd/k8s-cli/internal/console"
	"k8s-cli/cmd/k8s-cli/internal/login"
	"k8s-cli/pkg/client"
)

// An env is all that a command touches of the world, besides the server.
type env struct {
	console.Console

	lookup  func(name string) (string, bool) // in the environment
	config  string                           // directory of the user's settings; empty if there is no home
	connect func(url, user string) *client.Client
	browse  func(address string) error // opens a page where the user sees it; nil if there is no browser
	// interrupts returns a context that the first Ctrl-C ends. Everywhere else
	// Ctrl-C ends the process, as it does by itself.
	interrupts func(context.Context) (context.Context, context.CancelFunc)
}

// newEnv returns the env of a process with these files.
func newEnv(in, out, errOut *os.File) *env {
	return &env{
		Console:    console.New(in, out, errOut, os.Getenv),
		lookup:     os.LookupEnv,
		config:     configDir(os.Getenv),
		connect:    client.New,
		browse:     login.Browser(os.LookupEnv),
		interrupts: interrupts,
	}
}

// getenv returns the value of a variable, empty if it is not set.
func (e *env) getenv(name string) string {
	value, _ := e.lookup(name)
	return value
}

func configDir(getenv func(string) string) string {
	base := getenv("XDG_CONFIG_HOME")
	if home, err := os.UserHomeDir(); err == nil && !filepath.IsAbs(base) {
		base = filepath.Join(home, ".config")
	}
	if !filepath.IsAbs(base) {
		return ""
	}
	return filepath.Join(base, "k8s-cli")
}

func interrupts(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the process
	return ctx, stop
}
