package parts

import (
	"fmt"

	"k8s-cli/deploy/local/build"
	"k8s-cli/deploy/local/layout"
	"k8s-cli/deploy/local/pki"
	"k8s-cli/deploy/local/supervise"
)

const corednsFile = "Corefile"

// CoreDNS returns the program that resolves DNS names for pods, on the bridge.
func CoreDNS(l layout.Layout, kit build.Artifacts) supervise.Program {
	return supervise.Program{
		Name: "coredns",
		Path: kit.CoreDNS(),
		Args: []string{"-conf", l.Config(corednsFile)},
		Log:  l.Log("coredns"),
	}
}

// corefile disables caching, so that a pod finds the name of a pod that has just started. A
// query for a name outside the cluster fails immediately.
func corefile(l layout.Layout) string {
	return fmt.Sprintf(`cluster.local in-addr.arpa {
	bind %[1]s
	errors
	ready %[2]s
	kubernetes {
		kubeconfig %[3]q
		pods verified
		ttl 0
	}
}
. {
	bind %[1]s
	template ANY ANY {
		rcode NXDOMAIN
	}
}
`, l.Gateway(), l.Addr(layout.CoreDNSReady), l.UserConfig(pki.CoreDNS))
}
