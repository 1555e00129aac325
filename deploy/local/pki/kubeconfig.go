package pki

import (
	"encoding/base64"
	"fmt"
	"os"
	"strings"

	"k8s-cli/deploy/local/layout"
)

// writeKubeconfigs writes the kubeconfig for users of the cluster, and one kubeconfig for
// each program that is a client of the API server.
func writeKubeconfigs(l layout.Layout) error {
	if err := os.MkdirAll(l.Config(""), 0o700); err != nil {
		return err
	}
	for _, user := range []string{Launcher, CoreDNS, Kwok, Kubelet, ControllerManager, Scheduler} {
		if err := writeKubeconfig(l, user, l.UserConfig(user)); err != nil {
			return err
		}
	}
	return writeKubeconfig(l, Admin, l.Kubeconfig())
}

// writeKubeconfig replaces the file at path atomically, because other programs may be
// reading the file.
func writeKubeconfig(l layout.Layout, user, path string) error {
	var pems [3][]byte
	for i, file := range []string{"ca.crt", user + ".crt", user + ".key"} {
		b, err := os.ReadFile(l.PKI(file))
		if err != nil {
			return fmt.Errorf("write %s: %w", path, err)
		}
		pems[i] = b
	}
	text := kubeconfig(l.URL(layout.APIServer), user, pems[0], pair{cert: pems[1], key: pems[2]})
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return os.Rename(path+".new", path)
}

func kubeconfig(server, user string, ca []byte, p pair) string {
	return strings.NewReplacer(
		"SERVER", server,
		"USER", user,
		"CA", base64.StdEncoding.EncodeToString(ca),
		"CERT", base64.StdEncoding.EncodeToString(p.cert),
		"KEY", base64.StdEncoding.EncodeToString(p.key),
	).Replace(`apiVersion: v1
kind: Config
current-context: k8s-cli-local
contexts:
- name: k8s-cli-local
  context:
    cluster: k8s-cli-local
    user: USER
    namespace: default
clusters:
- name: k8s-cli-local
  cluster:
    server: SERVER
    certificate-authority-data: CA
users:
- name: USER
  user:
    client-certificate-data: CERT
    client-key-data: KEY
`)
}
