package layout

import (
	"fmt"
	"net/netip"
)

// A Port is a listener of a cluster: its offset from the first port of the instance.
type Port int

// The listeners. All listeners are on 127.0.0.1, except the listener of the kubelet. The
// kubelet listens on the bridge, to which the API server connects.
const (
	APIServer Port = iota
	EtcdClient
	EtcdPeer
	ControllerManager
	Scheduler
	KubeletAPI
	KubeletHealth
	CoreDNSReady
	KwokServer
	ProxyHealth
	ProxyMetrics
)

var portNames = map[Port]string{
	APIServer:         "the API server",
	EtcdClient:        "etcd",
	EtcdPeer:          "etcd's peers",
	ControllerManager: "the controller manager",
	Scheduler:         "the scheduler",
	KubeletAPI:        "the kubelet",
	KubeletHealth:     "the kubelet's health",
	CoreDNSReady:      "CoreDNS's health",
	KwokServer:        "kwok",
	ProxyHealth:       "kube-proxy's health",
	ProxyMetrics:      "kube-proxy's metrics",
}

const (
	firstPort        = 17600 // below the range of ephemeral ports
	portsPerInstance = 20
)

// String returns the name of the program that listens.
func (p Port) String() string { return portNames[p] }

// Ports returns the listeners of this kind of cluster.
func (l Layout) Ports() []Port {
	ports := []Port{APIServer, EtcdClient, EtcdPeer}
	switch l.Nodes {
	case None:
		return ports
	case Kwok:
		return append(ports, ControllerManager, Scheduler, KwokServer)
	}
	ports = append(ports, ControllerManager, Scheduler, KubeletAPI, KubeletHealth, CoreDNSReady)
	if l.Proxies() {
		ports = append(ports, ProxyHealth, ProxyMetrics)
	}
	return ports
}

// Proxies reports whether the virtual addresses of Services work. On a machine, they work
// in only one cluster, because kube-proxy uses the same names of kernel tables in every
// cluster.
func (l Layout) Proxies() bool { return l.Nodes == Kubelet && l.Instance == 0 }

// Port returns the number of a port in this instance.
func (l Layout) Port(p Port) int { return firstPort + portsPerInstance*l.Instance + int(p) }

// Addr returns the address at which programs of this machine reach p.
func (l Layout) Addr(p Port) string { return fmt.Sprintf("127.0.0.1:%d", l.Port(p)) }

// URL returns the https URL of p.
func (l Layout) URL(p Port) string { return "https://" + l.Addr(p) }

// Bridge returns the name of the network bridge of the pods.
func (l Layout) Bridge() string { return fmt.Sprintf("k8scli%d", l.Instance) }

// Pods returns the range of the addresses of pods: 4,093 addresses.
func (l Layout) Pods() netip.Prefix { return l.subnet(88) }

// Services returns the range of the addresses of Services.
func (l Layout) Services() netip.Prefix { return l.subnet(89) }

// Gateway returns the address of this machine on the bridge. The kubelet and DNS listen on
// this address, and it is the default route of pods.
func (l Layout) Gateway() netip.Addr { return l.Pods().Addr().Next() }

// ServiceIP returns the address of the Service "kubernetes".
func (l Layout) ServiceIP() netip.Addr { return l.Services().Addr().Next() }

func (l Layout) subnet(second byte) netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, second, byte(16 * l.Instance), 0}), 20)
}
