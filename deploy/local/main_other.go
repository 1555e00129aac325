//go:build !linux

// Command local runs a real Kubernetes on one machine, from source.
package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "local cluster: it needs Linux; elsewhere, point KUBECONFIG at any cluster")
	os.Exit(1)
}
