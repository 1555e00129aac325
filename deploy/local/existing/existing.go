// Package existing finds a cluster that the user of this machine already has, and the
// address at which the pods of that cluster reach this machine. The package changes
// nothing.
package existing

import (
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// A Cluster is the current context of a kubeconfig.
type Cluster struct {
	Files   string // the value for KUBECONFIG
	Context string
	Server  string // URL

	installed bool // an installation on this machine wrote the kubeconfig
	access    access
}

// Local reports whether the cluster is on this machine. The name of the context alone is
// no proof: the server of a context with a well-known name may be any machine.
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

// certain reports whether nothing but a local cluster looks like c. A server with a
// loopback address can also be the end of a tunnel to another machine.
func (c Cluster) certain() bool { return c.Local() && (c.installed || wellKnown(c.Context)) }

// virtual lists the contexts of the programs that run Kubernetes in a virtual machine.
var virtual = []string{"docker-desktop", "rancher-desktop", "orbstack", "colima"}

func wellKnown(context string) bool {
	return strings.HasPrefix(context, "kind-") || strings.HasPrefix(context, "k3d-") ||
		context == "minikube" || slices.Contains(virtual, context) || strings.HasPrefix(context, "colima-")
}

// HostName returns the host name by which pods of the cluster reach this machine, if the
// cluster has such a name. The name leads to the loopback address of this machine.
func (c Cluster) HostName(system string) string {
	inVM := slices.Contains(virtual, c.Context) || strings.HasPrefix(c.Context, "colima-")
	// On Linux, the nodes of kind and k3d are containers of this machine itself.
	containers := strings.HasPrefix(c.Context, "kind-") || strings.HasPrefix(c.Context, "k3d-")
	if inVM || containers && system != "linux" {
		return "host.docker.internal"
	}
	return ""
}

// A Choice is what make run does.
type Choice struct {
	Use     *Cluster // nil: start a cluster
	Ask     string   // the question to ask before Use is used; may be empty
	Default bool     // the answer if the user only presses Enter
	Say     string   // the message to print; may be empty
}

// Choose decides which cluster make run uses. c may be nil. explicit says that the user
// named the cluster; terminal, that the user can answer a question. answers reports
// whether a cluster answers; Choose calls it only for a local cluster.
func Choose(c *Cluster, explicit, terminal bool, answers func(Cluster) bool) Choice {
	switch {
	case c == nil:
		return Choice{}
	case explicit:
		return Choice{Use: c, Say: "Using the cluster that KUBECONFIG names: " + c.Files}
	case !c.Local():
		return Choice{Say: "make run does not use the " + c.title() + ", because that may be another machine. To use it: " + c.line()}
	case !answers(*c):
		return Choice{Say: "make run does not use the " + c.title() + ", because the server does not answer."}
	case !terminal:
		return Choice{Say: "make run uses the " + c.title() + " only on request. To use it: " + c.line()}
	case c.certain():
		return Choice{Use: c, Ask: "Use the " + c.title() + "? [Y/n] ", Default: true}
	default:
		return Choice{Use: c, Ask: "Use the " + c.title() + "? [y/N] "}
	}
}

func (c Cluster) title() string { return "context " + c.Context + " at " + c.Server }

func (c Cluster) line() string { return "KUBECONFIG=" + c.Files + " make run" }

// First returns the first local cluster that the kubeconfigs name, or else the first
// cluster, or nil. The first file is the kubeconfig of the user, the others belong to
// installations on this machine. First ignores files that do not exist or cannot be read.
func First(files []string) *Cluster {
	var remote *Cluster
	for i, file := range files {
		c, err := Current(file)
		if err != nil {
			continue
		}
		c.installed = i > 0
		if c.Local() {
			return &c
		}
		if remote == nil {
			remote = &c
		}
	}
	return remote
}
