package existing

import (
	"net"
	"net/netip"
)

// Source returns the local address of the route to a node. It returns false unless the
// node is this machine itself or is on a network of this machine: only then does the node
// certainly reach this machine at that address.
func Source(node netip.Addr) (netip.Addr, bool) {
	conn, err := net.Dial("udp", netip.AddrPortFrom(node, 9).String()) // sends nothing
	if err != nil {
		return netip.Addr{}, false
	}
	defer conn.Close()
	local, err := netip.ParseAddrPort(conn.LocalAddr().String())
	if err != nil {
		return netip.Addr{}, false
	}
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return netip.Addr{}, false
	}
	return local.Addr(), near(node, local.Addr(), addrs)
}

func near(node, local netip.Addr, addrs []net.Addr) bool {
	if local.IsLoopback() {
		return false
	}
	if node == local {
		return true
	}
	for _, a := range addrs {
		prefix, err := netip.ParsePrefix(a.String())
		if err == nil && prefix.Addr() == local && prefix.Contains(node) {
			return true
		}
	}
	return false
}
