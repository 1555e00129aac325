// Package chart tests the Helm chart: the chart is well-formed, the plain manifests equal
// its output, invalid values are rejected, and a real API server admits every variant
// without a warning.
package chart

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s-cli/test/testkit/must"
)

// The tests read their settings from environment variables, which make test sets.
const (
	envHelm       = "K8S_CLI_TEST_HELM"       // path of helm
	envKubeconfig = "K8S_CLI_TEST_KUBECONFIG" // of a cluster that tests may change
)

const (
	manifests = "../../deploy/kubernetes"
	chartDir  = manifests + "/chart"
)

var update = flag.Bool("update", false, "write the plain manifests anew")

// helm runs helm and returns its output.
func helm(t *testing.T, args ...string) (string, error) {
	t.Helper()
	program := os.Getenv(envHelm)
	if program == "" {
		t.Skip(envHelm + " names no helm; make test does")
	}
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Env = append(os.Environ(), "HELM_CACHE_HOME="+t.TempDir(), "HELM_CONFIG_HOME="+t.TempDir(), "HELM_DATA_HOME="+t.TempDir())
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	err := cmd.Run()
	return out.String() + said.String(), err
}

// oldest is the oldest Kubernetes release that the chart supports.
const oldest = "1.30.0"

// render renders the chart, with authentication by header unless args choose another mode.
func render(t *testing.T, namespace string, args ...string) string {
	t.Helper()
	out, err := helm(t, append([]string{"template", "k8s-cli", chartDir, "--kube-version", oldest, "--namespace", namespace, "--set", "auth.mode=header"}, args...)...)
	if err != nil {
		t.Fatalf("render: %v\n%s", err, out)
	}
	return out
}

func TestChartIsWellFormed(t *testing.T) {
	t.Parallel()
	if out, err := helm(t, "lint", "--strict", chartDir); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

const several = `# Three API pods and three NATS pods, for kubectl apply. Rendered from the chart by make manifests.
# First push the image to a registry (make push IMAGE=...) and set its name below. Then create three
# Secrets. The file tokens has one line SHA256 USER for each token (docs/auth.md):
#
#   kubectl apply -f namespace.yaml
#   kubectl -n k8s-cli create secret generic k8s-cli-tokens --from-file=tokens
#   kubectl -n k8s-cli create secret generic k8s-cli-nats --from-literal=password=$(openssl rand -hex 32)
#   kubectl -n k8s-cli create secret generic k8s-cli-key --from-literal=key=$(openssl rand -hex 32)
#   kubectl apply -f k8s-cli.yaml
`

const single = `# One API pod with its log on a volume, for kubectl apply. Rendered from the chart by make manifests.
# First push the image to a registry (make push IMAGE=...) and set its name below. Then create two
# Secrets. The file tokens has one line SHA256 USER for each token (docs/auth.md):
#
#   kubectl apply -f namespace.yaml
#   kubectl -n k8s-cli create secret generic k8s-cli-tokens --from-file=tokens
#   kubectl -n k8s-cli create secret generic k8s-cli-key --from-literal=key=$(openssl rand -hex 32)
#   kubectl apply -f k8s-cli-single.yaml
`

func TestPlainManifestsAreUpToDate(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		file, head string
		args       []string
	}{
		{"k8s-cli.yaml", several, []string{"--set", "auth.mode=token,auth.tokensSecret=k8s-cli-tokens,nats.existingSecret=k8s-cli-nats,server.secretsKey.existingSecret=k8s-cli-key"}},
		{"k8s-cli-single.yaml", single, []string{"--set", "auth.mode=token,auth.tokensSecret=k8s-cli-tokens,log=embedded,server.secretsKey.existingSecret=k8s-cli-key"}},
	} {
		t.Run(tt.file, func(t *testing.T) {
			want := tt.head + render(t, "k8s-cli", tt.args...)
			path := filepath.Join(manifests, tt.file)
			if *update {
				must.Succeed(t, os.WriteFile(path, []byte(want), 0o644))
			}
			got := must.Read(t, path)
			if string(got) != want {
				t.Errorf("%s is out of date; run: make manifests", tt.file)
			}
		})
	}
}

func TestInvalidValuesAreRejected(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, values, want string }{
		{"a value that is none", "replicaz=3", "replicaz"},
		{"no way to know callers", "auth.mode=", "auth.mode is empty: choose how the server authenticates users, for example --set auth.mode=tokenreview (with make deploy: AUTH=tokenreview)"},
		{"a way that is none", "auth.mode=password", "/auth/mode"},
		{"the way past its value", "server.flags.auth=token", "auth"},
		{"tokens without a list", "auth.mode=token", "auth.tokensSecret is empty"},
		{"a list of tokens for another way", "auth.tokensSecret=t", "auth.tokensSecret is allowed only with auth.mode token"},
		{"an issuer without a client", "auth.mode=oidc,server.flags.oidc-issuer=https://i", "server.flags.oidc-client-id"},
		{"tasks beside the log in the pod", "log=embedded,tasks.namespace=default", "tasks there could mount the claim of the log"},
		{"tasks beside it by default", "log=embedded,tasks.namespace=", "tasks there could mount the claim of the log"},
		{"files at the API's port", "service.filesPort=8000", "service.filesPort equals service.port"},
		{"a load balancer for nobody", "service.type=LoadBalancer", "networkPolicy.from is empty"},
		{"operators where files are", "metrics.port=8001", "/metrics/port"},
		{"a network that is none", "networkPolicy.tasks.exceptCIDRs[0]=ten", "/networkPolicy/tasks/exceptCIDRs/0"},
		{"a number in words", "replicas=many", "/replicas"},
		{"an even number of NATS nodes", "nats.replicas=2", "/nats/replicas"},
		{"a flag that does not exist", "server.flags.max-nodez=5", "additional properties 'max-nodez' not allowed"},
		{"a flag that the chart sets", "server.flags.namespace=x", "namespace"},
		{"operators where everybody is", "metrics.port=8000", "/metrics/port"},
		{"operators past the value for them", "server.flags.admin-listen=:9090", "admin-listen"},
		{"the key past the value for it", "server.flags.secrets-key-namespace=x", "secrets-key-namespace"},
		{"the release's own PriorityClass for tasks", `server.flags.allowed-priority-classes=low\,k8s-cli-default`, "the PriorityClass of the release itself"},
		{"a NATS elsewhere without an address", "log=external", "/external/url"},
		{"a subscriber without a key", "nats.subscribers[0].user=ann", "nkey"},
		{"a subscriber with a seed", "nats.subscribers[0].user=ann,nats.subscribers[0].nkey=SUAIBDPBAUTWCWBKIO6XHQNINK5FWJW4OHLXC3HQ2KFE4PEJUA44CNHTC4", "nkey"},
		{"an Ingress without TLS", "auth.mode=tokenreview,ingress.enabled=true,ingress.host=a.example.com", "/ingress/tlsSecret"},
		{"an Ingress without a host", "auth.mode=tokenreview,ingress.enabled=true,ingress.tlsSecret=t", "/ingress/host"},
		{"an Ingress through which all can act as any user", "ingress.enabled=true,ingress.host=a.example.com,ingress.tlsSecret=t", "server.flags.trusted-proxies is empty"},
		{"a route without a Gateway", "auth.mode=tokenreview,httpRoute.enabled=true,httpRoute.host=a.example.com", "/httpRoute/parentRefs"},
		{"a Kubernetes that is too old", "", "kubeVersion"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			version := oldest
			if tt.values == "" {
				version = "1.29.0"
			}
			out, err := helm(t, "template", "k8s-cli", chartDir, "--kube-version", version, "--set", "auth.mode=header", "--set", tt.values)
			if err == nil || !strings.Contains(out, tt.want) {
				t.Errorf("helm said %v, want %q in it:\n%.500s", err, tt.want, out)
			}
		})
	}
}

func TestSubscribersHearTheirOwnEventsAlone(t *testing.T) {
	t.Parallel()
	const key = "UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4"
	out := render(t, "k8s-cli", "--set", `nats.subscribers[0].user=a.b@ü.com,nats.subscribers[0].nkey=`+key)
	want := `{ nkey: ` + key + `, permissions: { publish: { deny: ">" }, subscribe: { allow: "event.*.a=2Eb=40=C3=BC=2Ecom.>" } } }`
	if !strings.Contains(out, want) {
		t.Errorf("NATS' configuration lacks %s", want)
	}
}

// The chart deploys the NATS release with which the server is built and tested: older
// releases lose data in a power cut.
func TestNATSVersionMatchesServer(t *testing.T) {
	t.Parallel()
	requirements := must.Read(t, "../../go.mod")
	_, rest, found := strings.Cut(string(requirements), "github.com/nats-io/nats-server/v2 v")
	version, _, _ := strings.Cut(rest, "\n")
	if out := render(t, "k8s-cli"); !found || !strings.Contains(out, `image: "nats:`+version+`"`) {
		t.Errorf("the chart does not install NATS %s", version)
	}
}
