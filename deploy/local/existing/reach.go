package existing

import (
	"context"
	"net"
	"net/netip"
	"runtime"
)

// A Reach is how pods reach a server on this machine.
type Reach struct {
	FilesListen string // the additional address that serves files to pods; may be empty
	Advertise   string // the URL for pods; empty if no URL certainly works
}

// Reach returns how the pods of c reach a server on this machine that listens on the
// address listen. If that is a loopback address, pods reach nothing but the files: the
// network of the nodes may be the network of other people's machines.
func (c Cluster) Reach(ctx context.Context, listen string) Reach {
	if name := c.HostName(runtime.GOOS); name != "" {
		return reach(listen, name, netip.Addr{})
	}
	nodes, err := c.Nodes(ctx)
	if err != nil {
		return reach(listen, "", netip.Addr{})
	}
	var first netip.Addr
	for _, node := range nodes {
		local, ok := Source(node)
		if !ok || first.IsValid() && local != first {
			return reach(listen, "", netip.Addr{}) // no address works for all nodes
		}
		first = local
	}
	return reach(listen, "", first)
}

// reach returns the Reach by a name of the loopback address, or by an address. Either may
// be missing.
func reach(listen, name string, addr netip.Addr) Reach {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return Reach{}
	}
	own, err := netip.ParseAddr(host)
	loopback := host == "localhost" || err == nil && own.IsLoopback()
	everywhere := host == "" || err == nil && own.IsUnspecified()
	url := func(host string) string { return "http://" + net.JoinHostPort(host, port) }
	switch {
	case !loopback && !everywhere: // the user chose an address
		return Reach{Advertise: url(host)}
	case name != "":
		return Reach{Advertise: url(name)}
	case !addr.IsValid():
		return Reach{}
	case everywhere:
		return Reach{Advertise: url(addr.String())}
	default:
		return Reach{net.JoinHostPort(addr.String(), port), url(addr.String())}
	}
}
