// Package layout says where everything of a local cluster is: its files, its
// ports, its addresses and its names. It decides and touches nothing.
package layout

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
)

// Nodes is the kind of nodes a cluster has.
type Nodes string

// The kinds of nodes.
const (
	Kubelet Nodes = "kubelet" // one real node: this machine
	Kwok    Nodes = "kwok"    // fake nodes, on which pods only pretend to run
	None    Nodes = "none"    // no nodes and no controllers: etcd and the API server alone
)

// MaxInstance is the highest instance; more would leave the address ranges.
const MaxInstance = 15

// A Layout is what a user chose; everything else follows from it. It is stored
// with the cluster, so that a later command can tell whether it means the same.
type Layout struct {
	Dir       string `json:"dir"`   // absolute; everything that is stored is below it
	Cache     string `json:"cache"` // absolute; programs and images, shared by all clusters
	Nodes     Nodes  `json:"nodes"`
	Instance  int    `json:"instance"`
	KwokNodes int    `json:"kwokNodes"` // how many fake nodes; Kwok only
}

// Validate reports the first choice that cannot be meant.
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

// ID tells the clusters of a machine apart. It depends on the directory alone,
// so that what a lost cluster left behind is found even if its files are gone.
func (l Layout) ID() string {
	sum := sha256.Sum256([]byte(l.Dir))
	return hex.EncodeToString(sum[:4])
}

// Socket is the abstract socket on which the supervisor listens. Whoever holds
// it is the one supervisor of this directory; the kernel frees it at death.
func (l Layout) Socket() string { return "@k8s-cli-local-" + l.ID() }

// NodeName is the name of the one real node.
func (l Layout) NodeName() string { return "local" }

// Path is a file below the state directory.
func (l Layout) Path(elem ...string) string {
	return filepath.Join(append([]string{l.Dir}, elem...)...)
}

// Kubeconfig is the file that users of the cluster are given.
func (l Layout) Kubeconfig() string { return l.Path("kubeconfig") }

// Settings is where the layout itself is stored.
func (l Layout) Settings() string { return l.Path("cluster.json") }

// PKI is a key or certificate.
func (l Layout) PKI(file string) string { return l.Path("pki", file) }

// Log is where a program's output goes.
func (l Layout) Log(name string) string { return l.Path("log", name+".log") }

// Config is a configuration file of a program.
func (l Layout) Config(name string) string { return l.Path("config", name) }

// UserConfig is the kubeconfig of one of the cluster's own programs.
func (l Layout) UserConfig(user string) string { return l.Config(user + ".kubeconfig") }

// Run is the directory of sockets and of what must not outlive the machine. It
// is short, since a socket's path may have 107 bytes and Dir may be deep.
func (l Layout) Run(elem ...string) string {
	return filepath.Join(append([]string{"/run/k8s-cli-" + l.ID()}, elem...)...)
}
