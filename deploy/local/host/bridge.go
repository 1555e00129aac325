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

// AddBridge creates the network bridge of the pods. The DNS server and the kubelet listen
// on its address before the first pod exists.
//
// AddBridge sets the hardware address of the bridge. Otherwise the kernel uses the lowest
// address of the attached devices, which changes as pods start and stop. A pod with an
// outdated ARP entry would then reach this machine only after a minute or two.
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
	// The second address is the address of the Service "kubernetes", which this machine
	// serves.
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

// RemoveBridge removes the bridge that has the mark of l, if such a bridge exists. The name
// of the bridge is not sufficient, because another cluster may use the same instance now.
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

// FiltersBridges reports whether the machine drops packets between pods. Docker sets the
// forward policy of a machine to drop, which may include packets that cross a bridge.
func FiltersBridges() bool {
	b, err := os.ReadFile("/proc/sys/net/bridge/bridge-nf-call-iptables")
	if err != nil || strings.TrimSpace(string(b)) != "1" {
		return false
	}
	rules, err := Run(exec.Command("iptables", "-S", "FORWARD"))
	return err == nil && strings.Contains(string(rules), "-P FORWARD DROP")
}

// owner returns the mark that identifies the bridge of l.
func owner(l layout.Layout) string { return "k8s-cli " + l.ID() }

// hardware returns the hardware address of the bridge: the prefix of locally administered
// addresses, and the IPv4 address.
func hardware(l layout.Layout) net.HardwareAddr {
	return append(net.HardwareAddr{0x0a, 0x58}, l.Gateway().AsSlice()...)
}

// network returns the address of the bridge with the mask of its range.
func network(l layout.Layout) *net.IPNet {
	return &net.IPNet{IP: l.Gateway().AsSlice(), Mask: net.CIDRMask(l.Pods().Bits(), 32)}
}

// overlap returns an error if the range of the pods contains an address of this machine.
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
