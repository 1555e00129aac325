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
	prod := &Cluster{Files: "~/.kube/config", Context: "prod", Server: "https://prod.example.com"}
	for _, tt := range []struct {
		name                        string
		cluster                     *Cluster
		explicit, terminal, answers bool
		use                         bool
		ask, say                    string
	}{
		{"nothing is there", nil, false, true, true, false, "", ""},
		{"KUBECONFIG may name any", prod, true, false, false, true, "", "KUBECONFIG names"},
		{"a local one is asked for", kind, false, true, true, true, "Use the context kind-dev? [Y/n] ", ""},
		{"without a terminal it is named", kind, false, false, true, false, "", "KUBECONFIG=~/.kube/config make run"},
		{"it is off", kind, false, true, false, false, "", "does not answer"},
		{"a remote one is never used", prod, false, true, true, false, "", "KUBECONFIG=~/.kube/config make run"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := Choose(tt.cluster, tt.explicit, tt.terminal, func(c Cluster) bool {
				if !c.Local() {
					t.Error("a remote cluster was asked")
				}
				return tt.answers
			})
			if (got.Use != nil) != tt.use || got.Ask != tt.ask || !strings.Contains(got.Say, tt.say) {
				t.Errorf("Choose = %+v", got)
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
		{"127.0.0.1:8000", "", bridge, Reach{"127.0.0.1:8000,172.18.0.1:8000", "http://172.18.0.1:8000"}},
		{"127.0.0.1:8000", "host.docker.internal", netip.Addr{}, Reach{"127.0.0.1:8000", "http://host.docker.internal:8000"}},
		{":8000", "", bridge, Reach{":8000", "http://172.18.0.1:8000"}},
		{"10.1.2.3:8000", "", bridge, Reach{"10.1.2.3:8000", "http://10.1.2.3:8000"}},
		{"127.0.0.1:8000", "", netip.Addr{}, Reach{"127.0.0.1:8000", ""}},
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
