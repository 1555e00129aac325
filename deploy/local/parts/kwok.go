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

// Kwok pretends to be the kubelet of every node.
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
			// Where the API server finds the kubelet of every node, for logs.
			"--node-port=" + strconv.Itoa(l.Port(layout.KwokServer)),
			"--tls-cert-file=" + l.PKI(pki.FakeKubelet+".crt"), "--tls-private-key-file=" + l.PKI(pki.FakeKubelet+".key"),
			"--cidr=10.128.0.0/9", // nobody is there; room for all pods of any test
		},
	}
}

// NodeLeases are how nodes show that they live. They name their holder, and a
// kwok that was started again waits for those of the former one to expire.
const NodeLeases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"

// FakeNodeName is the name of the i-th node.
func FakeNodeName(i int) string { return fmt.Sprintf("kwok-%d", i) }

// FakeNode is the i-th node of a kwok cluster, large enough for any test.
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

// kwokConfig is that, and where the kubelet of every node finds the log of every
// pod: in a file as container runtimes write it, which is there if somebody
// writes it.
func kwokConfig(l layout.Layout) string {
	return kwokStages + "---\n" + document(object{
		"apiVersion": "kwok.x-k8s.io/v1alpha1",
		"kind":       "ClusterLogs",
		"metadata":   object{"name": "fake-pods"},
		"spec":       object{"logs": []object{{"logsFile": l.Log("fake-pods"), "follow": true}}},
	})
}
