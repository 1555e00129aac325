package parts

import (
	"k8s-cli/deploy/local/build"
	"k8s-cli/deploy/local/layout"
	"k8s-cli/deploy/local/pki"
	"k8s-cli/deploy/local/supervise"
)

const proxyFile = "proxy.json"

// Proxy gives the services their virtual addresses: it writes tables of the kernel
// that lead what is sent there to the pods behind.
func Proxy(l layout.Layout, kit build.Artifacts) supervise.Program {
	return supervise.Program{
		Name: "kube-proxy",
		Path: kit.Proxy(),
		Args: []string{"--config=" + l.Config(proxyFile)},
		Env:  kit.NFT(),
		Log:  l.Log("kube-proxy"),
	}
}

func proxyConfig(l layout.Layout) string {
	return document(object{
		"apiVersion":         "kubeproxy.config.k8s.io/v1alpha1",
		"kind":               "KubeProxyConfiguration",
		"clientConnection":   object{"kubeconfig": l.UserConfig(pki.Launcher)},
		"mode":               "nftables",
		"nftables":           object{"syncPeriod": "30s", "minSyncPeriod": "0.1s"},
		"hostnameOverride":   l.NodeName(),
		"healthzBindAddress": l.Addr(layout.ProxyHealth),
		"metricsBindAddress": l.Addr(layout.ProxyMetrics),
		// Only pods and this machine reach these services.
		"detectLocalMode":   "ClusterCIDR",
		"clusterCIDR":       l.Pods().String(),
		"nodePortAddresses": []string{"primary"},
		"conntrack":         object{"maxPerCore": 0, "min": 0}, // how much the machine keeps in mind is its own affair
	})
}

// KubernetesEndpoint says where the service "kubernetes" leads: to its own address,
// where the launcher listens. Without it kube-proxy would refuse what is sent there.
func KubernetesEndpoint(l layout.Layout) map[string]any {
	return object{
		"apiVersion":  "discovery.k8s.io/v1",
		"kind":        "EndpointSlice",
		"metadata":    object{"name": "kubernetes", "labels": object{"kubernetes.io/service-name": "kubernetes"}},
		"addressType": "IPv4",
		"endpoints":   []object{{"addresses": []string{l.ServiceIP().String()}, "conditions": object{"ready": true}}},
		"ports":       []object{{"name": "https", "port": 443, "protocol": "TCP"}},
	}
}
