// Package existing finds a cluster that the user of this machine has already, and
// the address by which its pods reach this machine. It touches nothing.
package existing

import (
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// A Cluster is what a kubeconfig says of one context.
type Cluster struct {
	Files   string // for KUBECONFIG
	Context string
	Server  string // URL

	access access
}

// Local reports whether the cluster is certainly on this machine. A well-known name
// alone proves nothing: a context of that name may lead anywhere.
func (c Cluster) Local() bool {
	u, err := url.Parse(c.Server)
	if err != nil {
		return false
	}
	host := u.Hostname()
	if host == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(host)
	if err == nil && (addr.IsLoopback() || addr.IsUnspecified()) {
		return true
	}
	if !wellKnown(c.Context) {
		return false
	}
	return err == nil && addr.IsPrivate() || strings.HasSuffix(host, ".docker.internal") || strings.HasSuffix(host, ".orb.local")
}

// virtual are the contexts of programs that run Kubernetes in a virtual machine.
var virtual = []string{"docker-desktop", "rancher-desktop", "orbstack", "colima"}

func wellKnown(context string) bool {
	return strings.HasPrefix(context, "kind-") || strings.HasPrefix(context, "k3d-") ||
		context == "minikube" || slices.Contains(virtual, context) || strings.HasPrefix(context, "colima-")
}

// HostName is the name by which pods of the cluster reach this machine, where the
// maker of the cluster provides one. It leads to the loopback address of the machine.
func (c Cluster) HostName(system string) string {
	inVM := slices.Contains(virtual, c.Context) || strings.HasPrefix(c.Context, "colima-")
	// On Linux, the nodes of kind and k3d are containers of this very machine.
	containers := strings.HasPrefix(c.Context, "kind-") || strings.HasPrefix(c.Context, "k3d-")
	if inVM || containers && system != "linux" {
		return "host.docker.internal"
	}
	return ""
}

// A Choice is what make run does.
type Choice struct {
	Use *Cluster // nil: start one
	Ask string   // a question to ask first
	Say string   // what to say
}

// Choose decides. explicit says that KUBECONFIG names the cluster; terminal, that the
// user can be asked. answers reports whether a cluster answers.
func Choose(c *Cluster, explicit, terminal bool, answers func(Cluster) bool) Choice {
	switch {
	case c == nil:
		return Choice{}
	case explicit:
		return Choice{Use: c, Say: "Using the cluster that KUBECONFIG names: " + c.Files}
	case !c.Local():
		return Choice{Say: "The context " + c.Context + " may be of another machine and is not used. To use it: " + c.line()}
	case !answers(*c):
		return Choice{Say: "The cluster of the context " + c.Context + " does not answer"}
	case terminal:
		return Choice{Use: c, Ask: "Use the context " + c.Context + "? [Y/n] "}
	default:
		return Choice{Say: "The context " + c.Context + " is a cluster of this machine. To use it: " + c.line()}
	}
}

func (c Cluster) line() string { return "KUBECONFIG=" + c.Files + " make run" }
