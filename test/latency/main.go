// Command latency measures how long a change in the API server takes to reach
// whoever waits for it: the watch of a bare client, which is the baseline, the
// answer to a read, a line of server-sent events, and a message of NATS.
//
// It needs an API server beside which no controllers run, and a built
// k8s-cli-server. It plays the Job controller, which makes a pod of each Job, and
// the kubelet: it tells the API server of one pod after the other, at a given
// rate, that its container runs.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"
)

type options struct {
	kubeconfig, server string
	tasks              int
	rate               float64 // changes a second
	every              int     // of so many changes one is read too
}

func main() {
	var o options
	flag.StringVar(&o.kubeconfig, "kubeconfig", os.Getenv("KUBECONFIG"), "kubeconfig of the cluster, as its administrator")
	flag.StringVar(&o.server, "server", "bin/k8s-cli-server", "the server to measure")
	flag.IntVar(&o.tasks, "tasks", 5000, "tasks, each of which changes once")
	flag.Float64Var(&o.rate, "rate", 500, "changes a second")
	flag.IntVar(&o.every, "every", 10, "read the status after one change of so many")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "latency:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	p, err := prepare(ctx, o)
	if err != nil {
		return err
	}
	defer p.close()
	began := time.Now()
	if err := p.change(ctx, o); err != nil {
		return err
	}
	took := time.Since(began)
	if err := p.heardAll(ctx); err != nil {
		return err
	}
	fmt.Printf("%d changes, %.0f a second, one server with the log inside, everything on this machine\n\n", o.tasks, float64(o.tasks)/took.Seconds())
	fmt.Printf("%-34s %9s %9s %9s %9s\n", "from the API server's answer to", "n", "p50", "p99", "most")
	for _, e := range p.ears {
		e.print()
	}
	return nil
}
