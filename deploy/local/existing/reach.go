package existing

import (
	"context"
	"net"
	"net/netip"
	"runtime"
)

// A Reach is how pods reach a server on this machine.
type Reach struct {
	Listen    string // addresses to listen on, for --listen
	Advertise string // the URL for pods; empty if none is certain
}

// Reach says where a server that is to listen on an address must listen so that the
// pods of c reach it, and by which URL they do.
func (c Cluster) Reach(ctx context.Context, listen string) Reach {
	if name := c.HostName(runtime.GOOS); name != "" {
		return reach(listen, name, netip.Addr{})
	}
	nodes, err := c.Nodes(ctx)
	if err != nil {
		return Reach{Listen: listen}
	}
	var first netip.Addr
	for _, node := range nodes {
		local, ok := Source(node)
		if !ok || first.IsValid() && local != first {
			return Reach{Listen: listen} // there is no one address for all nodes
		}
		first = local
	}
	return reach(listen, "", first)
}

// reach is by a name that leads to the loopback address, or by an address.
func reach(listen, name string, addr netip.Addr) Reach {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return Reach{Listen: listen}
	}
	own, err := netip.ParseAddr(host)
	loopback := host == "localhost" || err == nil && own.IsLoopback()
	everywhere := host == "" || err == nil && own.IsUnspecified()
	url := func(host string) string { return "http://" + net.JoinHostPort(host, port) }
	switch {
	case !loopback && !everywhere: // the user chose an address
		return Reach{listen, url(host)}
	case name != "":
		return Reach{listen, url(name)}
	case !addr.IsValid():
		return Reach{Listen: listen}
	case everywhere:
		return Reach{listen, url(addr.String())}
	default:
		return Reach{listen + "," + net.JoinHostPort(addr.String(), port), url(addr.String())}
	}
}
