// Package layout defines the paths, ports, addresses and names of a local cluster. Its
// functions have no side effects.
package layout

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
)

// Nodes is the kind of the nodes of a cluster.
type Nodes string

// The kinds of nodes.
const (
	Kubelet Nodes = "kubelet" // one real node: this machine
	Kwok    Nodes = "kwok"    // fake nodes, which simulate running pods
	None    Nodes = "none"    // no nodes and no controllers: only etcd and the API server
)

// MaxInstance is the highest instance; the address ranges have no room for more instances.
const MaxInstance = 15

// A Layout holds the choices of the user, from which all paths, ports and addresses follow.
// The cluster stores its Layout, so that a later command can compare its own choices with
// it.
type Layout struct {
	Dir       string `json:"dir"`   // absolute; contains all files of the cluster
	Cache     string `json:"cache"` // absolute; contains programs and images, which all clusters share
	Nodes     Nodes  `json:"nodes"`
	Instance  int    `json:"instance"`
	KwokNodes int    `json:"kwokNodes"` // number of fake nodes; for Kwok only
}

// Validate returns an error for the first invalid choice.
func (l Layout) Validate() error {
	switch {
	case l.Nodes != Kubelet && l.Nodes != Kwok && l.Nodes != None:
		return fmt.Errorf("nodes is %q, want %q, %q or %q", l.Nodes, Kubelet, Kwok, None)
	case l.Instance < 0 || l.Instance > MaxInstance:
		return fmt.Errorf("instance is %d, want 0 to %d", l.Instance, MaxInstance)
	case l.Nodes == Kwok && l.KwokNodes < 1:
		return fmt.Errorf("kwok-nodes is %d, want at least 1", l.KwokNodes)
	}
	return nil
}

// ID identifies a cluster on its machine. ID depends only on the directory, so that a
// command finds the leftovers of a cluster even if the files of the cluster are deleted.
func (l Layout) ID() string {
	sum := sha256.Sum256([]byte(l.Dir))
	return hex.EncodeToString(sum[:4])
}

// Socket is the abstract socket on which the supervisor listens. Only one process can hold
// the socket, so a directory has at most one supervisor. The kernel releases the socket
// when the process exits.
func (l Layout) Socket() string { return "@k8s-cli-local-" + l.ID() }

// NodeName is the name of the only real node.
func (l Layout) NodeName() string { return "local" }

// Path returns the path of a file in the state directory.
func (l Layout) Path(elem ...string) string {
	return filepath.Join(append([]string{l.Dir}, elem...)...)
}

// Kubeconfig returns the path of the kubeconfig for users of the cluster.
func (l Layout) Kubeconfig() string { return l.Path("kubeconfig") }

// Settings returns the path of the file that stores the layout.
func (l Layout) Settings() string { return l.Path("cluster.json") }

// PKI returns the path of a key or certificate.
func (l Layout) PKI(file string) string { return l.Path("pki", file) }

// Log returns the path of the file for the output of a program.
func (l Layout) Log(name string) string { return l.Path("log", name+".log") }

// Config returns the path of a configuration file of a program.
func (l Layout) Config(name string) string { return l.Path("config", name) }

// UserConfig returns the path of the kubeconfig of a program of the cluster.
func (l Layout) UserConfig(user string) string { return l.Config(user + ".kubeconfig") }

// Run returns the directory of sockets and of files that must not survive a reboot. The
// path is short, because the path of a socket has at most 107 bytes and Dir may be long.
func (l Layout) Run(elem ...string) string {
	return filepath.Join(append([]string{"/run/k8s-cli-" + l.ID()}, elem...)...)
}
