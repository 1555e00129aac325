package pki

import (
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"k8s-cli/deploy/local/layout"
)

// The users of a cluster. The programs of the cluster have separate user names, so that the
// audit log distinguishes their requests from the requests of people and tests.
const (
	Admin             = "admin"
	Launcher          = "launcher"
	CoreDNS           = "coredns"
	Kwok              = "kwok"
	Kubelet           = "kubelet"
	ControllerManager = "controller-manager"
	Scheduler         = "scheduler"

	// FakeKubelet is not a user of the API: fake nodes serve with its certificate.
	FakeKubelet = "fake-kubelet"
)

// masters is the group system:masters, which has all permissions; the API server does not
// consult RBAC for it.
const masters = "system:masters"

// Ensure creates the missing files: keys and certificates at the first start, and the
// kubeconfigs at every start.
func Ensure(l layout.Layout) error {
	if _, err := os.Stat(l.Path("pki")); errors.Is(err, fs.ErrNotExist) {
		if err := create(l); err != nil {
			return fmt.Errorf("make the cluster's certificates: %w", err)
		}
	}
	return writeKubeconfigs(l)
}

// create writes into a temporary directory first, so that no command uses an incomplete set
// of files.
func create(l layout.Layout) error {
	aside := l.Path("pki.new")
	if err := os.RemoveAll(aside); err != nil {
		return err
	}
	if err := os.MkdirAll(aside, 0o700); err != nil {
		return err
	}
	ca, p, err := newAuthority("k8s-cli-local-" + l.ID())
	if err != nil {
		return err
	}
	if err := save(aside, "ca", p); err != nil {
		return err
	}
	for name, s := range subjects(l) {
		p, err := ca.issue(s)
		if err != nil {
			return err
		}
		if err := save(aside, name, p); err != nil {
			return err
		}
	}
	if err := saveServiceAccountKey(aside); err != nil {
		return err
	}
	return os.Rename(aside, l.Path("pki"))
}

func subjects(l layout.Layout) map[string]subject {
	gateway := l.Gateway().String()
	here := []string{"127.0.0.1", "localhost"}
	return map[string]subject{
		Admin:             {user: "admin", group: masters},
		Launcher:          {user: "k8s-cli-local:launcher", group: masters},
		CoreDNS:           {user: "k8s-cli-local:coredns", group: masters},
		Kwok:              {user: "k8s-cli-local:kwok", group: masters},
		ControllerManager: {user: "system:kube-controller-manager"},
		Scheduler:         {user: "system:kube-scheduler"},
		Kubelet:           {user: "system:node:" + l.NodeName(), group: "system:nodes", hosts: []string{gateway, l.NodeName()}},
		FakeKubelet:       {user: "k8s-cli-local:fake-kubelet", hosts: here},
		"etcd":            {user: "etcd", hosts: here},
		// The API server also uses this certificate as a client of the kubelet and of etcd.
		"apiserver": {user: "kube-apiserver", group: masters, hosts: append(here,
			gateway, l.ServiceIP().String(),
			"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local")},
	}
}

func save(dir, name string, p pair) error {
	if err := os.WriteFile(dir+"/"+name+".crt", p.cert, 0o644); err != nil {
		return err
	}
	return os.WriteFile(dir+"/"+name+".key", p.key, 0o600)
}

// saveServiceAccountKey writes the key pair that signs and verifies service account tokens.
func saveServiceAccountKey(dir string) error {
	key, err := newKey()
	if err != nil {
		return err
	}
	private, err := encodeKey(key)
	if err != nil {
		return err
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return err
	}
	if err := os.WriteFile(dir+"/sa.pub", encode("PUBLIC KEY", public), 0o644); err != nil {
		return err
	}
	return os.WriteFile(dir+"/sa.key", private, 0o600)
}
