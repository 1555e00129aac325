package existing

import (
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestOnlyClustersOfThisMachineAreLocal(t *testing.T) {
	for _, tt := range []struct {
		context, server string
		want            bool
	}{
		{"kind-dev", "https://127.0.0.1:41233", true},
		{"k3d-dev", "https://0.0.0.0:6550", true},
		{"minikube", "https://192.168.49.2:8443", true},
		{"docker-desktop", "https://kubernetes.docker.internal:6443", true},
		{"orbstack", "https://k8s.orb.local:26443", true},
		{"default", "https://127.0.0.1:6443", true}, // k3s
		{"mine", "https://localhost:6443", true},
		{"mine", "https://[::1]:6443", true},
		{"prod", "https://192.168.1.20:6443", false},
		{"prod", "https://prod.example.com", false},
		{"kind-prod", "https://prod.example.com", false},
		{"minikube", "https://34.1.2.3", false},
		{"kind-dev", "", false},
	} {
		if got := (Cluster{Context: tt.context, Server: tt.server}).Local(); got != tt.want {
			t.Errorf("%s at %s: local = %v", tt.context, tt.server, got)
		}
	}
}

func TestChoose(t *testing.T) {
	kind := &Cluster{Files: "~/.kube/config", Context: "kind-dev", Server: "https://127.0.0.1:1"}
	tunnel := &Cluster{Files: "~/.kube/config", Context: "prod", Server: "https://127.0.0.1:1"}
	k3s := &Cluster{Files: "/etc/k3s.yaml", Context: "default", Server: "https://127.0.0.1:1", installed: true}
	prod := &Cluster{Files: "~/.kube/config", Context: "prod", Server: "https://prod.example.com"}
	posing := &Cluster{Files: "~/.kube/config", Context: "kind-dev", Server: "https://34.1.2.3"}
	for _, tt := range []struct {
		name                        string
		cluster                     *Cluster
		explicit, terminal, answers bool
		use                         bool
		ask, say                    string
	}{
		{"no cluster", nil, false, true, true, false, "", ""},
		{"a local one by KUBECONFIG", kind, true, true, true, true, "", "KUBECONFIG names"},
		{"a remote one by KUBECONFIG", prod, true, true, true, true, "", "KUBECONFIG names"},
		{"one by KUBECONFIG that does not answer", prod, true, false, false, true, "", "KUBECONFIG names"},
		{"a local one on a terminal", kind, false, true, true, true, "Use the context kind-dev at https://127.0.0.1:1? [Y/n] ", ""},
		{"a possible tunnel on a terminal", tunnel, false, true, true, true, "Use the context prod at https://127.0.0.1:1? [y/N] ", ""},
		{"k3s on a terminal", k3s, false, true, true, true, "Use the context default at https://127.0.0.1:1? [Y/n] ", ""},
		{"a local one without a terminal", kind, false, false, true, false, "", "KUBECONFIG=~/.kube/config make run"},
		{"k3s without a terminal", k3s, false, false, true, false, "", "KUBECONFIG=/etc/k3s.yaml make run"},
		{"a local one that does not answer", kind, false, true, false, false, "", "does not answer"},
		{"the same without a terminal", kind, false, false, false, false, "", "does not answer"},
		{"a remote one on a terminal", prod, false, true, true, false, "", "KUBECONFIG=~/.kube/config make run"},
		{"a remote one without a terminal", prod, false, false, true, false, "", "KUBECONFIG=~/.kube/config make run"},
		{"a remote one with the name of a local one", posing, false, true, true, false, "", "may be another machine"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := Choose(tt.cluster, tt.explicit, tt.terminal, func(c Cluster) bool {
				if !c.Local() {
					t.Error("Choose connected to a remote cluster")
				}
				return tt.answers
			})
			if (got.Use != nil) != tt.use || got.Ask != tt.ask || !strings.Contains(got.Say, tt.say) {
				t.Errorf("Choose = %+v", got)
			}
			if got.Default != strings.HasSuffix(got.Ask, "[Y/n] ") {
				t.Errorf("the default of %q is %v", got.Ask, got.Default)
			}
		})
	}
}

func TestFirstPrefersALocalCluster(t *testing.T) {
	dir := t.TempDir()
	write := func(name, server string) string {
		path := filepath.Join(dir, name)
		text := "current-context: " + name + "\ncontexts: [{name: " + name + ", context: {cluster: c}}]\nclusters: [{name: c, cluster: {server: '" + server + "'}}]\n"
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	local, remote, k3s := write("kind-dev", "https://127.0.0.1:1"), write("prod", "https://prod.example.com"), write("k3s", "https://127.0.0.1:6443")
	missing, broken := filepath.Join(dir, "missing"), filepath.Join(dir, "broken")
	if err := os.WriteFile(broken, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name    string
		files   []string
		want    string // context
		certain bool
	}{
		{"only the user's", []string{local, missing}, "kind-dev", true},
		{"the user's before k3s", []string{local, k3s}, "kind-dev", true},
		{"k3s instead of a remote one", []string{remote, k3s}, "k3s", true},
		{"k3s in the user's file", []string{k3s}, "k3s", false},
		{"only a remote one", []string{remote, missing}, "prod", false},
		{"a broken file", []string{broken, k3s}, "k3s", true},
		{"nothing", []string{missing, broken}, "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := First(tt.files)
			switch {
			case got == nil && tt.want == "":
			case got == nil || got.Context != tt.want || got.certain() != tt.certain:
				t.Errorf("First = %+v", got)
			}
		})
	}
}

func TestReach(t *testing.T) {
	bridge := netip.MustParseAddr("172.18.0.1")
	for _, tt := range []struct {
		listen, name string
		addr         netip.Addr
		want         Reach
	}{
		{"127.0.0.1:8000", "", bridge, Reach{"172.18.0.1:8000", "http://172.18.0.1:8000"}},
		{"localhost:8000", "", bridge, Reach{"172.18.0.1:8000", "http://172.18.0.1:8000"}},
		{"127.0.0.1:8000", "host.docker.internal", netip.Addr{}, Reach{"", "http://host.docker.internal:8000"}},
		{":8000", "", bridge, Reach{"", "http://172.18.0.1:8000"}},
		{"10.1.2.3:8000", "", bridge, Reach{"", "http://10.1.2.3:8000"}},
		{"10.1.2.3:8000", "", netip.Addr{}, Reach{"", "http://10.1.2.3:8000"}},
		{"127.0.0.1:8000", "", netip.Addr{}, Reach{}},
		{"8000", "", bridge, Reach{}},
	} {
		if got := reach(tt.listen, tt.name, tt.addr); got != tt.want {
			t.Errorf("reach(%s, %s, %s) = %+v", tt.listen, tt.name, tt.addr, got)
		}
	}
}

func TestANodeBehindARouterIsNotNear(t *testing.T) {
	_, network, err := net.ParseCIDR("172.18.0.0/16")
	if err != nil {
		t.Fatal(err)
	}
	network.IP = net.ParseIP("172.18.0.1").To4()
	local := netip.MustParseAddr("172.18.0.1")
	for node, want := range map[string]bool{"172.18.0.2": true, "172.18.0.1": true, "10.0.0.7": false} {
		if got := near(netip.MustParseAddr(node), local, []net.Addr{network}); got != want {
			t.Errorf("near(%s) = %v", node, got)
		}
	}
}

func TestCurrentReadsKubeconfigs(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer secret" {
			http.Error(w, "who?", http.StatusUnauthorized)
			return
		}
		_, _ = w.Write([]byte(`{"items": [{"status": {"addresses": [{"type": "Hostname", "address": "n"}, {"type": "InternalIP", "address": "172.18.0.2"}]}}]}`))
	}))
	defer server.Close()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("token", "secret")
	files := write("one", "current-context: b\n") + ":" + write("two", `
current-context: a
contexts:
- {name: a, context: {cluster: x, user: x}}
- {name: b, context: {cluster: y, user: y}}
clusters:
- {name: y, cluster: {server: "`+server.URL+`", certificate-authority-data: aGVsbG8=}}
users:
- {name: y, user: {tokenFile: token}}
`) + ":" + filepath.Join(dir, "missing")
	c, err := Current(files)
	if err != nil || c.Context != "b" || c.Server != server.URL || c.Files != files {
		t.Fatalf("Current = %+v, %v", c, err)
	}
	if !c.Answers(t.Context()) {
		t.Error("it does not answer")
	}
	nodes, err := c.Nodes(t.Context())
	if err != nil || len(nodes) != 1 || nodes[0].String() != "172.18.0.2" {
		t.Errorf("Nodes = %v, %v", nodes, err)
	}
	if _, err := Current(filepath.Join(dir, "missing")); err == nil {
		t.Error("there is no file, and yet a context")
	}
}
