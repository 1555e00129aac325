package auth

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
)

// A UserHeader trusts the header X-User, either from every sender or only from trusted proxies.
type UserHeader struct {
	Trusted Proxies // if empty, every sender is trusted
}

// Identify returns the user in the header X-User. Identify reads groups only from trusted
// proxies.
func (h UserHeader) Identify(_ context.Context, c task.Credentials) (Principal, error) {
	if len(h.Trusted) == 0 {
		return Principal{User: c.User}, nil
	}
	if h.Trusted.contain(c.Peer) {
		return Principal{User: c.User, Groups: groupsOf(c.Groups)}, nil
	}
	return Principal{}, problem.New(problem.ProxyNotTrusted, fmt.Sprintf("X-User: only trusted proxies may set this header (--trusted-proxies), and %s is not one of them; send the request through a trusted proxy", c.Peer.Unmap()))
}

// Proxies lists the networks of trusted proxies.
type Proxies []netip.Prefix

func (p Proxies) contain(address netip.Addr) bool {
	address = address.Unmap()
	return slices.ContainsFunc(p, func(network netip.Prefix) bool { return network.Contains(address) })
}

// Client returns the address of the client of a request: the address of the connection, or, if that is
// a trusted proxy, the last address in X-Forwarded-For that is not. forwarded holds the values of
// the header. Each proxy adds the address from which it got the request at the end.
func (p Proxies) Client(peer netip.Addr, forwarded []string) netip.Addr {
	hops := strings.Split(strings.Join(forwarded, ","), ",")
	for at := len(hops) - 1; at >= 0 && p.contain(peer); at-- {
		hop, err := netip.ParseAddr(strings.Trim(hops[at], blanks))
		if err != nil {
			break
		}
		peer = hop
	}
	return peer
}

const blanks = " \t" // characters to trim around names, in headers and in the file of tokens

func groupsOf(header string) (groups []string) {
	for group := range strings.SplitSeq(header, ",") {
		if group = strings.Trim(group, blanks); group != "" {
			groups = append(groups, group)
		}
	}
	return groups
}

// ParseNetworks parses a comma-separated list of networks and addresses.
func ParseNetworks(text string) (all Proxies, err error) {
	for one := range strings.SplitSeq(text, ",") {
		one = strings.TrimSpace(one)
		if one == "" {
			continue
		}
		prefix, err := netip.ParsePrefix(one)
		if address, wrong := netip.ParseAddr(one); wrong == nil {
			prefix, err = netip.PrefixFrom(address, address.BitLen()), nil
		}
		if err != nil {
			return nil, fmt.Errorf("%q is neither a network, for example 10.0.0.0/8, nor an address", one)
		}
		all = append(all, prefix)
	}
	return all, nil
}
