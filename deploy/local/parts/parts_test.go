package parts

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"k8s-cli/deploy/local/build"
	"k8s-cli/deploy/local/layout"
	"k8s-cli/deploy/local/supervise"
)

func programs(l layout.Layout) []supervise.Program {
	var kit build.Artifacts
	all := []supervise.Program{Etcd(l, kit), APIServer(l, kit)}
	if l.Nodes == layout.None {
		return all
	}
	all = append(all, ControllerManager(l, kit), Scheduler(l, kit))
	if l.Nodes == layout.Kwok {
		return append(all, Kwok(l, kit))
	}
	all = append(all, Containerd(l, kit), CoreDNS(l, kit), Kubelet(l, kit))
	if l.Proxies() {
		all = append(all, Proxy(l, kit))
	}
	return all
}

func TestInstancesShareNothing(t *testing.T) {
	for _, nodes := range []layout.Nodes{layout.Kubelet, layout.Kwok, layout.None} {
		one := layout.Layout{Dir: "/srv/one", Nodes: nodes}
		two := layout.Layout{Dir: "/srv/two", Nodes: nodes, Instance: 1}
		foreign := []string{"/srv/one/", one.Run(), one.Bridge(), one.Gateway().String() + ":"}
		for _, p := range one.Ports() {
			foreign = append(foreign, one.Addr(p))
		}
		for _, text := range texts(two) {
			for _, f := range foreign {
				if strings.Contains(text, f) {
					t.Errorf("%s of the first cluster is in the second one's %s", f, text)
				}
			}
		}
	}
}

// texts is everything that is said to the programs of a cluster.
func texts(l layout.Layout) []string {
	var all []string
	for _, p := range programs(l) {
		all = append(all, strings.Join(p.Args, " "))
	}
	for _, text := range Files(l, build.Artifacts{}) {
		all = append(all, text)
	}
	return all
}

func TestNothingListensToTheWorld(t *testing.T) {
	for _, nodes := range []layout.Nodes{layout.Kubelet, layout.Kwok, layout.None} {
		for _, text := range texts(layout.Layout{Dir: "/srv/a", Nodes: nodes}) {
			if strings.Contains(text, "0.0.0.0") {
				t.Errorf("a program would listen everywhere: %s", text)
			}
		}
	}
}

func TestEveryFileThatIsNamedIsWritten(t *testing.T) {
	for _, nodes := range []layout.Nodes{layout.Kubelet, layout.Kwok, layout.None} {
		l := layout.Layout{Dir: "/srv/a", Nodes: nodes}
		files := Files(l, build.Artifacts{})
		for _, p := range programs(l) {
			for _, arg := range p.Args {
				_, name, named := strings.Cut(arg, l.Config("")+"/")
				if named && !strings.HasSuffix(name, ".kubeconfig") && files[name] == "" {
					t.Errorf("%s wants %s, which nobody writes", p.Name, name)
				}
			}
		}
	}
}

func TestKubeletConfigIsJSON(t *testing.T) {
	l := layout.Layout{Dir: "/srv/a", Nodes: layout.Kubelet, Instance: 2}
	var config struct {
		ClusterDNS []string
		CgroupRoot string
	}
	if err := json.Unmarshal([]byte(kubeletConfig(l)), &config); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(config.ClusterDNS, []string{"10.88.32.1"}) || config.CgroupRoot != "/k8s-cli-"+l.ID() {
		t.Errorf("config = %+v", config)
	}
}
