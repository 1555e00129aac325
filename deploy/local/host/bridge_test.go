package host

import (
	"errors"
	"net"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"k8s-cli/deploy/local/layout"
)

// Pods remember the hardware address of the bridge while others come and go.
func TestBridgeKeepsItsHardwareAddress(t *testing.T) {
	l := layout.Layout{Dir: t.TempDir(), Nodes: layout.Kubelet, Instance: layout.MaxInstance}
	err := AddBridge(l)
	if errors.Is(err, unix.EPERM) {
		t.Skip("only root may add network devices")
	}
	t.Cleanup(func() {
		if err := RemoveBridge(l); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	bridge := linkOf(t, l.Bridge())
	pod := &netlink.Veth{PeerName: l.Bridge() + "q", LinkAttrs: netlink.LinkAttrs{
		Name: l.Bridge() + "p", MasterIndex: bridge.Attrs().Index, HardwareAddr: net.HardwareAddr{0x02, 0, 0, 0, 0, 1}, // lower than any
	}}
	if err := netlink.LinkAdd(pod); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = netlink.LinkDel(pod) })
	if err := netlink.LinkSetUp(pod); err != nil {
		t.Fatal(err)
	}
	before, now := bridge.Attrs().HardwareAddr, linkOf(t, l.Bridge()).Attrs().HardwareAddr
	if now.String() != before.String() {
		t.Errorf("the bridge has the hardware address %s, and had %s before a pod came", now, before)
	}
}

func linkOf(t *testing.T, name string) netlink.Link {
	t.Helper()
	link, err := netlink.LinkByName(name)
	if err != nil {
		t.Fatal(err)
	}
	return link
}
