package chart

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"k8s-cli/test/testkit/must"
)

// serverContainer returns the container of the API.
func serverContainer(t *testing.T, all []*unstructured.Unstructured) map[string]any {
	t.Helper()
	containers := at(t, find(t, all, "Deployment", "k8s-cli"), "spec", "template", "spec", "containers").([]any)
	if len(containers) != 1 {
		t.Fatalf("%d containers", len(containers))
	}
	return containers[0].(map[string]any)
}

// serverArgs returns the arguments of the container of the API.
func serverArgs(t *testing.T, all []*unstructured.Unstructured) []string {
	t.Helper()
	args, _, err := unstructured.NestedStringSlice(serverContainer(t, all), "args")
	must.Succeed(t, err)
	return args
}

// listens reports whether the container of the API has a port of this name and number.
func listens(t *testing.T, all []*unstructured.Unstructured, name string, number int64) bool {
	t.Helper()
	return slices.ContainsFunc(serverContainer(t, all)["ports"].([]any), func(p any) bool {
		port := p.(map[string]any)
		return port["name"] == name && port["containerPort"] == number
	})
}

// The first pod creates the Secret with the key in the namespace of the release, in which no
// task runs.
func TestSecretsKeyIsInReleaseNamespace(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, values string
		made, role   bool
	}{
		{"apart from the tasks", "tasks.namespace=tasks", true, true},
		{"where the tasks are", "tasks.namespace=release", true, false}, // the Role for tasks covers the Secret
		{"in a Secret that exists", "tasks.namespace=tasks,server.secretsKey.existingSecret=key", false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			all := rendered(t, render(t, "release", "--set", tt.values))
			if got := slices.Contains(serverArgs(t, all), "--secrets-key-namespace=release"); got != tt.made {
				t.Errorf("the server makes a key in the namespace of the release: %t", got)
			}
			found, binding := find(t, all, "Role", "k8s-cli-key"), find(t, all, "RoleBinding", "k8s-cli-key")
			if (found != nil) != tt.role || (binding != nil) != tt.role {
				t.Fatalf("role %v, binding %v", found, binding)
			}
			if found == nil {
				return
			}
			if found.GetNamespace() != "release" || binding.GetNamespace() != "release" {
				t.Errorf("the Role of the key is in namespace %s, its binding in %s", found.GetNamespace(), binding.GetNamespace())
			}
			var role rbacv1.Role
			must.Succeed(t, runtime.DefaultUnstructuredConverter.FromUnstructured(found.Object, &role))
			for _, r := range role.Rules {
				if named := slices.Equal(r.ResourceNames, []string{"k8s-cli-server-key"}); !slices.Equal(r.Resources, []string{"secrets"}) || !named && !slices.Equal(r.Verbs, []string{"create"}) {
					t.Errorf("the server may %v any of %v of the release", r.Verbs, r.Resources)
				}
			}
		})
	}
}

// YAML reads an unquoted off as a boolean.
func TestChartTurnsTheDashboardOff(t *testing.T) {
	values := filepath.Join(t.TempDir(), "values.yaml")
	for text, want := range map[string]string{"off": "--ui=off", `"off"`: "--ui=off", "false": "--ui=off", "on": "--ui=on", "true": "--ui=on"} {
		must.Write(t, values, "server: {flags: {ui: "+text+", adopt-legacy: true}}")
		args := serverArgs(t, rendered(t, render(t, "release", "--values", values)))
		if !slices.Contains(args, want) || !slices.Contains(args, "--adopt-legacy=true") {
			t.Errorf("ui: %s gives %q, want %s", text, args, want)
		}
	}
}

func TestTasksDoNotMountTheLog(t *testing.T) {
	t.Parallel()
	for values, want := range map[string]string{
		"log=embedded": "k8s-cli-log",
		"log=embedded,embedded.existingClaim=disk":              "disk",
		"log=embedded,server.flags.reserved-claims=a":           "k8s-cli-log a",
		"server.flags.literal-claims=off,nats.existingSecret=n": "",
	} {
		var reserved []string
		for _, arg := range serverArgs(t, rendered(t, render(t, "release", "--set", values))) {
			if name, ok := strings.CutPrefix(arg, "--reserved-claims="); ok {
				reserved = append(reserved, name)
			}
		}
		if got := strings.Join(reserved, " "); got != want {
			t.Errorf("%s: the claims %q are reserved, want %q", values, got, want)
		}
	}
	nats := find(t, rendered(t, render(t, "release")), "StatefulSet", "k8s-cli-nats")
	claims := at(t, nats, "spec", "volumeClaimTemplates").([]any)
	if len(claims) != 1 {
		t.Fatalf("NATS has %d claims", len(claims))
	}
	if name, _, _ := unstructured.NestedString(claims[0].(map[string]any), "metadata", "labels", "app.kubernetes.io/name"); name != "k8s-cli-nats" {
		t.Errorf("the claims of NATS are labelled %q; servers know them by k8s-cli-nats", name)
	}
}
