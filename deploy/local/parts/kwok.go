package parts

import (
	_ "embed"
	"fmt"
	"strconv"

	"k8s-cli/deploy/local/build"
	"k8s-cli/deploy/local/layout"
	"k8s-cli/deploy/local/pki"
	"k8s-cli/deploy/local/supervise"
)

const kwokFile = "kwok.yaml"

// Kwok returns the program that simulates the kubelets of all nodes.
func Kwok(l layout.Layout, kit build.Artifacts) supervise.Program {
	return supervise.Program{
		Name: "kwok",
		Path: kit.Kwok(),
		Log:  l.Log("kwok"),
		Args: []string{
			"--kubeconfig=" + l.UserConfig(pki.Kwok),
			"--config=" + l.Config(kwokFile),
			"--manage-all-nodes",
			"--node-lease-duration-seconds=40",
			"--server-address=" + l.Addr(layout.KwokServer),
			"--node-ip=127.0.0.1",
			// The API server requests logs from this address, as the kubelet of every node.
			"--node-port=" + strconv.Itoa(l.Port(layout.KwokServer)),
			"--tls-cert-file=" + l.PKI(pki.FakeKubelet+".crt"), "--tls-private-key-file=" + l.PKI(pki.FakeKubelet+".key"),
			"--cidr=10.128.0.0/9", // no host has these addresses; the range is large enough for any test
		},
	}
}

// NodeLeases is the path of the Leases of nodes. A Lease names its holder, so a restarted
// kwok waits until the Leases of the former process expire.
const NodeLeases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"

// FakeNodeName returns the name of the i-th node.
func FakeNodeName(i int) string { return fmt.Sprintf("kwok-%d", i) }

// FakeNode returns the i-th node of a kwok cluster, with enough resources for any test.
func FakeNode(i int) map[string]any {
	name := FakeNodeName(i)
	room := object{"cpu": "1000", "memory": "10Ti", "pods": "10000", "ephemeral-storage": "10Ti"}
	return object{
		"apiVersion": "v1",
		"kind":       "Node",
		"metadata": object{
			"name":        name,
			"annotations": object{"kwok.x-k8s.io/node": "fake"},
			"labels":      object{"type": "kwok", "kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"},
		},
		"status": object{"allocatable": room, "capacity": room, "phase": "Running"},
	}
}

// kwokStages is the life of fake nodes and pods.
//
//go:embed kwok.yaml
var kwokStages string

// kwokConfig contains kwokStages, and the path of the log file that all pods share. The
// file has the format of container runtimes, and exists only if a test or a user writes it.
func kwokConfig(l layout.Layout) string {
	return kwokStages + "---\n" + document(object{
		"apiVersion": "kwok.x-k8s.io/v1alpha1",
		"kind":       "ClusterLogs",
		"metadata":   object{"name": "fake-pods"},
		"spec":       object{"logs": []object{{"logsFile": l.Log("fake-pods"), "follow": true}}},
	})
}
