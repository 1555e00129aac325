package layout

import (
	"net/netip"
	"strings"
	"testing"
)

func instances() []Layout {
	var all []Layout
	for i := range MaxInstance + 1 {
		all = append(all, Layout{Dir: "/srv/a", Nodes: Kubelet, Instance: i})
	}
	return all
}

func TestInstancesShareNoPort(t *testing.T) {
	owner := map[int]int{}
	for _, l := range instances() {
		for p := range portNames {
			if other, taken := owner[l.Port(p)]; taken {
				t.Errorf("port %d belongs to instances %d and %d", l.Port(p), other, l.Instance)
			}
			owner[l.Port(p)] = l.Instance
		}
	}
}

func TestInstancesShareNoAddress(t *testing.T) {
	var seen []netip.Prefix
	for _, l := range instances() {
		for _, p := range []netip.Prefix{l.Pods(), l.Services()} {
			if p != p.Masked() {
				t.Errorf("%s is not the address of a network", p)
			}
			for _, other := range seen {
				if p.Overlaps(other) {
					t.Errorf("%s overlaps %s", p, other)
				}
			}
			seen = append(seen, p)
		}
		if !l.Pods().Contains(l.Gateway()) || !l.Services().Contains(l.ServiceIP()) {
			t.Errorf("instance %d: gateway %s or service %s outside its range", l.Instance, l.Gateway(), l.ServiceIP())
		}
	}
}

func TestNamesFitTheKernel(t *testing.T) {
	l := Layout{Dir: "/" + strings.Repeat("deep/", 60), Instance: MaxInstance}
	if n := len(l.Bridge()); n > 15 {
		t.Errorf("the bridge's name has %d bytes, the kernel takes 15", n)
	}
	if n := len(l.Run("kubelet", "device-plugins", "kubelet.sock")); n > 107 {
		t.Errorf("the longest socket path has %d bytes, the kernel takes 107", n)
	}
}

func TestEveryPortHasAName(t *testing.T) {
	for _, nodes := range []Nodes{Kubelet, Kwok, None} {
		for _, p := range (Layout{Nodes: nodes}).Ports() {
			if p.String() == "" {
				t.Errorf("port %d of a %s cluster has no name", p, nodes)
			}
		}
	}
}

func TestValidate(t *testing.T) {
	good := Layout{Dir: "/srv/a", Nodes: Kwok, Instance: 15, KwokNodes: 10}
	for _, tt := range []struct {
		name  string
		spoil func(*Layout)
		want  string
	}{
		{"unknown nodes", func(l *Layout) { l.Nodes = "kind" }, `nodes is "kind"`},
		{"instance too high", func(l *Layout) { l.Instance = 16 }, "instance is 16"},
		{"negative instance", func(l *Layout) { l.Instance = -1 }, "instance is -1"},
		{"kwok without nodes", func(l *Layout) { l.KwokNodes = 0 }, "kwok-nodes is 0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := good
			tt.spoil(&l)
			if err := l.Validate(); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Validate() = %v, want %q in it", err, tt.want)
			}
		})
	}
	if err := good.Validate(); err != nil {
		t.Errorf("a good layout is refused: %v", err)
	}
}
