package chart

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"k8s-cli/test/testkit/must"
)

// The Ingress serves the API port, and never the port for the files of tasks.
func TestIngressServesTheAPIWithTLS(t *testing.T) {
	t.Parallel()
	all := rendered(t, render(t, "release", "--set", "ingress.enabled=true,ingress.host=k8s-cli.example.com,ingress.tlsSecret=cert,ingress.className=nginx,server.flags.trusted-proxies=10.0.0.0/8"))
	var got networkingv1.Ingress
	must.Succeed(t, runtime.DefaultUnstructuredConverter.FromUnstructured(find(t, all, "Ingress", "k8s-cli").Object, &got))
	const host = "k8s-cli.example.com"
	if tls := got.Spec.TLS; len(tls) != 1 || tls[0].SecretName != "cert" || !slices.Equal(tls[0].Hosts, []string{host}) {
		t.Errorf("TLS %+v", got.Spec.TLS)
	}
	if len(got.Spec.Rules) != 1 || got.Spec.Rules[0].Host != host || *got.Spec.IngressClassName != "nginx" {
		t.Fatalf("rules %+v", got.Spec.Rules)
	}
	paths := got.Spec.Rules[0].HTTP.Paths
	if len(paths) != 1 || paths[0].Path != "/" || paths[0].Backend.Service.Name != "k8s-cli" || paths[0].Backend.Service.Port.Name != "http" {
		t.Errorf("paths %+v", paths)
	}
}

// The example of TLS in the documentation is a file of values.
func TestExampleOfTLSIsRendered(t *testing.T) {
	t.Parallel()
	page := must.Read(t, "../../docs/operations.md")
	_, section, _ := strings.Cut(string(page), "\n## TLS\n")
	_, block, _ := strings.Cut(section, "```yaml\n")
	block, _, found := strings.Cut(block, "```\n")
	values := filepath.Join(t.TempDir(), "values.yaml")
	if err := os.WriteFile(values, []byte(block), 0o600); err != nil || !found {
		t.Fatal(err)
	}
	out, err := helm(t, "template", "k8s-cli", chartDir, "--kube-version", oldest, "--values", values)
	if err != nil || !strings.Contains(out, "kind: Ingress") {
		t.Errorf("%v\n%.500s", err, out)
	}
}

// The probes of the pods use HTTPS if the server does.
func TestProbesUseTheSchemeOfTheServer(t *testing.T) {
	t.Parallel()
	for values, want := range map[string]any{"server.flags.tls-cert=/c,server.flags.tls-key=/k": "HTTPS", "replicas=3": nil} {
		container := at(t, find(t, rendered(t, render(t, "release", "--set", values)), "Deployment", "k8s-cli"), "spec", "template", "spec", "containers").([]any)[0].(map[string]any)
		for _, probe := range []string{"startupProbe", "readinessProbe", "livenessProbe"} {
			if got := container[probe].(map[string]any)["httpGet"].(map[string]any)["scheme"]; got != want {
				t.Errorf("%s: scheme of %s is %v, want %v", values, probe, got, want)
			}
		}
	}
}

func TestHTTPRouteLeadsToTheAPI(t *testing.T) {
	t.Parallel()
	route := find(t, rendered(t, render(t, "release", "--set", "auth.mode=tokenreview,httpRoute.enabled=true,httpRoute.host=k8s-cli.example.com,httpRoute.parentRefs[0].name=public")), "HTTPRoute", "k8s-cli")
	backend := at(t, route, "spec", "rules").([]any)[0].(map[string]any)["backendRefs"].([]any)[0].(map[string]any)
	if backend["name"] != "k8s-cli" || backend["port"] != int64(8000) {
		t.Errorf("backend %v", backend)
	}
	if got := at(t, route, "spec", "parentRefs").([]any)[0].(map[string]any)["name"]; got != "public" {
		t.Errorf("parent %v", got)
	}
}

// The API pods get the flags and files for TLS to NATS.
func TestServerUsesTLSToNATS(t *testing.T) {
	t.Parallel()
	for values, want := range map[string]string{
		"nats.tlsSecret=a": "--nats-ca=/etc/k8s-cli/nats-ca/ca.crt",
		"log=external,external.url=tls://n:4222,external.caSecret=a,external.clientSecret=b": "--nats-ca=/etc/k8s-cli/nats-ca/ca.crt --nats-cert=/etc/k8s-cli/nats-client/tls.crt --nats-key=/etc/k8s-cli/nats-client/tls.key",
		"external.caSecret=a,external.clientSecret=b":                                        "",
		"log=embedded,nats.tlsSecret=a":                                                      "",
	} {
		text := render(t, "release", "--set", values)
		var got []string
		for _, arg := range serverArgs(t, rendered(t, text)) {
			if strings.HasPrefix(arg, "--nats-c") || strings.HasPrefix(arg, "--nats-k") {
				got = append(got, arg)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q, want %q", values, got, want)
		}
		for _, arg := range got {
			dir := arg[strings.Index(arg, "=")+1 : strings.LastIndex(arg, "/")]
			if !strings.Contains(text, "mountPath: "+dir+", readOnly: true") {
				t.Errorf("%s: no volume at %s", values, dir)
			}
		}
	}
}
