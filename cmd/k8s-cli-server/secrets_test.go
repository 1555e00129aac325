package main

import (
	"path/filepath"
	"testing"

	"k8s.io/client-go/rest"

	"k8s-cli/test/testkit/must"
)

// TestNamespaceOfTheKey checks that the key is not in the namespace of the tasks, whose
// pods could mount the key.
func TestNamespaceOfTheKey(t *testing.T) {
	dir := t.TempDir()
	must.Write(t, filepath.Join(dir, "namespace"), "release\n")
	inPod, outside := &rest.Config{BearerTokenFile: filepath.Join(dir, "token")}, &rest.Config{}
	elsewhere := &rest.Config{BearerTokenFile: filepath.Join(t.TempDir(), "token")}
	for _, tt := range []struct {
		name    string
		given   string
		cluster *rest.Config
		want    string
	}{
		{"in a pod", "", inPod, "release"},
		{"outside of a cluster", "", outside, "tasks"},
		{"with a token of one's own", "", elsewhere, "tasks"},
		{"by the flag", "other", inPod, "other"},
	} {
		if got := keyNamespace(config{namespace: "tasks", secretsKeyNamespace: tt.given}, tt.cluster); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}
