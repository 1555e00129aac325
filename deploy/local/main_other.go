//go:build !linux

// Command local runs a real Kubernetes on one machine, from source.
package main

import (
	"context"
	"fmt"
	"os"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "find" {
		if err := find(context.Background(), os.Args[2:]); err != nil {
			os.Exit(2)
		}
		return
	}
	fmt.Fprintln(os.Stderr, "local cluster: it needs Linux; elsewhere, point KUBECONFIG at any cluster")
	os.Exit(1)
}
