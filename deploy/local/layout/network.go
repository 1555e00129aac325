package layout

import (
	"fmt"
	"net/netip"
)

// A Port is a listener of a cluster, counted from the first port of its
// instance.
type Port int

// The listeners. All of them are on 127.0.0.1, except the kubelet's, which is
// on the bridge, where the API server looks for it.
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
	firstPort        = 17600 // below the range from which the kernel gives ports to clients
	portsPerInstance = 20
)

// String says who listens.
func (p Port) String() string { return portNames[p] }

// Ports are the listeners that this kind of cluster has.
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

// Proxies reports whether services have virtual addresses that work. One cluster
// of a machine can have that: kube-proxy calls its table in the kernel the same
// whatever cluster it is of.
func (l Layout) Proxies() bool { return l.Nodes == Kubelet && l.Instance == 0 }

// Port is the number of a port in this instance.
func (l Layout) Port(p Port) int { return firstPort + portsPerInstance*l.Instance + int(p) }

// Addr is where a program of this machine finds p.
func (l Layout) Addr(p Port) string { return fmt.Sprintf("127.0.0.1:%d", l.Port(p)) }

// URL is the https address of p.
func (l Layout) URL(p Port) string { return "https://" + l.Addr(p) }

// Bridge is the network device that pods are plugged into.
func (l Layout) Bridge() string { return fmt.Sprintf("k8scli%d", l.Instance) }

// Pods is the range of the pods' addresses: 4,093 of them.
func (l Layout) Pods() netip.Prefix { return l.subnet(88) }

// Services is the range of the services' addresses.
func (l Layout) Services() netip.Prefix { return l.subnet(89) }

// Gateway is the address of this machine on the bridge. The kubelet, DNS and
// the pods' default route are there.
func (l Layout) Gateway() netip.Addr { return l.Pods().Addr().Next() }

// ServiceIP is the address of the service "kubernetes".
func (l Layout) ServiceIP() netip.Addr { return l.Services().Addr().Next() }

func (l Layout) subnet(second byte) netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, second, byte(16 * l.Instance), 0}), 20)
}
