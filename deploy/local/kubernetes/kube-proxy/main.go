// Command kube-proxy implements the virtual addresses of Services. It is separate from
// the command kubernetes, because the first task of a cluster can do without it.
package main

import (
	"os"

	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // client metrics
	_ "k8s.io/component-base/metrics/prometheus/version"  // version metric
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
)

func main() {
	os.Exit(cli.Run(proxy.NewProxyCommand()))
}
