package host

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"k8s-cli/deploy/local/layout"
)

// AddBridge makes the device that pods are plugged into. The DNS server and
// the kubelet listen on its address before the first pod exists.
//
// Its hardware address is set: otherwise the kernel gives it the lowest one of
// the devices plugged into it, which changes as pods come and go, and a pod that
// remembers another one reaches this machine again only after a minute or two.
func AddBridge(l layout.Layout) error {
	if err := overlap(l); err != nil {
		return err
	}
	bridge := &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: l.Bridge()}}
	if err := netlink.LinkAdd(bridge); err != nil && !errors.Is(err, unix.EEXIST) {
		return fmt.Errorf("add the bridge %s: %w", l.Bridge(), err)
	}
	link, err := netlink.LinkByName(l.Bridge())
	if err != nil {
		return fmt.Errorf("find the bridge %s: %w", l.Bridge(), err)
	}
	if err := netlink.LinkSetAlias(link, owner(l)); err != nil {
		return fmt.Errorf("mark the bridge %s: %w", l.Bridge(), err)
	}
	if err := netlink.LinkSetHardwareAddr(link, hardware(l)); err != nil {
		return fmt.Errorf("give the bridge %s its hardware address: %w", l.Bridge(), err)
	}
	// The second address is that of the service "kubernetes": it is here.
	for _, addr := range []*net.IPNet{network(l), {IP: l.ServiceIP().AsSlice(), Mask: net.CIDRMask(32, 32)}} {
		if err := netlink.AddrReplace(link, &netlink.Addr{IPNet: addr}); err != nil {
			return fmt.Errorf("give the bridge %s the address %s: %w", l.Bridge(), addr, err)
		}
	}
	if err := netlink.LinkSetUp(link); err != nil {
		return fmt.Errorf("bring up the bridge %s: %w", l.Bridge(), err)
	}
	return nil
}

// RemoveBridge removes the bridge that bears the mark of l, if there is one.
// Its name does not tell: another cluster may have taken over the instance.
func RemoveBridge(l layout.Layout) error {
	links, err := netlink.LinkList()
	if err != nil {
		return fmt.Errorf("list the network devices: %w", err)
	}
	for _, link := range links {
		if link.Attrs().Alias != owner(l) {
			continue
		}
		if err := netlink.LinkDel(link); err != nil {
			return fmt.Errorf("remove the bridge %s: %w", link.Attrs().Name, err)
		}
	}
	return nil
}

// FiltersBridges reports whether packets between two pods are dropped: Docker
// makes a machine refuse to forward, which may include what crosses a bridge.
func FiltersBridges() bool {
	b, err := os.ReadFile("/proc/sys/net/bridge/bridge-nf-call-iptables")
	if err != nil || strings.TrimSpace(string(b)) != "1" {
		return false
	}
	rules, err := Run(exec.Command("iptables", "-S", "FORWARD"))
	return err == nil && strings.Contains(string(rules), "-P FORWARD DROP")
}

// owner is the mark by which a bridge is known to belong to l.
func owner(l layout.Layout) string { return "k8s-cli " + l.ID() }

// hardware is the bridge's own hardware address: one of those that anybody may
// give, and the IPv4 address.
func hardware(l layout.Layout) net.HardwareAddr {
	return append(net.HardwareAddr{0x0a, 0x58}, l.Gateway().AsSlice()...)
}

// network is the bridge's own address with the mask of its range.
func network(l layout.Layout) *net.IPNet {
	return &net.IPNet{IP: l.Gateway().AsSlice(), Mask: net.CIDRMask(l.Pods().Bits(), 32)}
}

// overlap reports an address of this machine that pods would hide.
func overlap(l layout.Layout) error {
	links, err := netlink.LinkList()
	if err != nil {
		return fmt.Errorf("list the network devices: %w", err)
	}
	for _, link := range links {
		if link.Attrs().Name == l.Bridge() {
			continue
		}
		addrs, err := netlink.AddrList(link, netlink.FAMILY_V4)
		if err != nil {
			return fmt.Errorf("list the addresses of %s: %w", link.Attrs().Name, err)
		}
		for _, a := range addrs {
			if a.Contains(l.Gateway().AsSlice()) || network(l).Contains(a.IP) {
				return fmt.Errorf("the range of the pods, %s, is in use on %s (%s); choose another --instance", l.Pods(), link.Attrs().Name, a.IPNet)
			}
		}
	}
	return nil
}
