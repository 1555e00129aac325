package chart

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s-cli/test/testkit/must"
)

// Values that the chart rejects, such as no AUTH, create nothing in the cluster.
func TestDeployChecksValuesBeforeItCreatesAnything(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, helm string // helm is the script of a fake helm
		created    bool
	}{
		{"invalid values", `echo "Error: auth.mode is empty" >&2; exit 1`, false},
		{"valid values", "exit 0", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			calls := filepath.Join(dir, "calls")
			script(t, filepath.Join(dir, "kubectl"), `cat >/dev/null; echo "kubectl $*" >>`+calls+`; case $* in *"get secret"*) exit 1;; esac`)
			script(t, filepath.Join(dir, "helm"), `echo "helm $*" >>`+calls+"; "+tt.helm)
			cmd := exec.CommandContext(t.Context(), "../../deploy/deploy.sh", "deploy")
			cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "HELM="+filepath.Join(dir, "helm"), "KUBECONFIG="+filepath.Join(dir, "kubeconfig"), "IMAGE=registry/server:v1", "AUTH=", "VALUES=", "LOCAL_DIR=")
			out, err := cmd.CombinedOutput()
			if (err == nil) != tt.created {
				t.Errorf("%v\n%s", err, out)
			}
			made := must.Read(t, calls)
			first, rest, _ := strings.Cut(string(made), "\n")
			if !strings.HasPrefix(first, "helm upgrade --install k8s-cli ") || !strings.HasSuffix(first, " --dry-run") {
				t.Errorf("the first call is %q", first)
			}
			if created := strings.Contains(rest, "kubectl apply") && strings.Contains(rest, "create secret"); created != tt.created || !tt.created && rest != "" {
				t.Errorf("after the check: %s", rest)
			}
		})
	}
}

func script(t *testing.T, path, body string) {
	t.Helper()
	must.Succeed(t, os.WriteFile(path, []byte("#!/bin/sh\n"+body+"\n"), 0o700))
}
