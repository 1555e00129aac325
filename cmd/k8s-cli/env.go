package main

import (
	"context"
	"os"
	"os/signal"

	"k8s-cli/cmd/k8s-cli/internal/console"
	"k8s-cli/cmd/k8s-cli/internal/login"
	"k8s-cli/pkg/client"
	"k8s-cli/pkg/client/account"
)

// An env holds everything that a command uses outside its process, except the server.
type env struct {
	console.Console

	lookup   account.Environment
	settings account.Settings
	connect  func(url, user string) *client.Client
	browse   func(address string) error // opens a page in the user's browser; nil without a browser
	// interrupts returns a context that the first Ctrl-C cancels. In a command that does
	// not call interrupts, Ctrl-C ends the process.
	interrupts func(context.Context) (context.Context, context.CancelFunc)
	terminal   *console.Terminal // of In; nil if In is no terminal
}

// newEnv returns the env of a process with these standard streams.
func newEnv(in, out, errOut *os.File) *env {
	return &env{
		Console:    console.New(in, out, errOut, os.Getenv),
		lookup:     os.LookupEnv,
		settings:   account.Environment(os.LookupEnv).Settings(),
		connect:    client.New,
		browse:     login.Browser(os.LookupEnv),
		interrupts: interrupts,
		terminal:   console.TerminalOf(in),
	}
}

func interrupts(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the process
	return ctx, stop
}
