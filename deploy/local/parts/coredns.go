package parts

import (
	"fmt"

	"k8s-cli/deploy/local/build"
	"k8s-cli/deploy/local/layout"
	"k8s-cli/deploy/local/pki"
	"k8s-cli/deploy/local/supervise"
)

const corednsFile = "Corefile"

// CoreDNS answers the pods' questions for names, on the bridge.
func CoreDNS(l layout.Layout, kit build.Artifacts) supervise.Program {
	return supervise.Program{
		Name: "coredns",
		Path: kit.CoreDNS(),
		Args: []string{"-conf", l.Config(corednsFile)},
		Log:  l.Log("coredns"),
	}
}

// corefile lets no answer be kept: a pod that looks for one that just started
// must find it. Names outside the cluster do not exist, at once.
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
