package build

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"k8s-cli/deploy/local/layout"
)

// An Artifacts knows where the finished programs and images are.
type Artifacts struct {
	Cache string            `json:"cache"`
	Keys  map[string]string `json:"keys"` // cache entry by the part of its name before the version
}

func newArtifacts(cache string, all []component) Artifacts {
	keys := map[string]string{}
	for _, r := range all {
		keys[strings.SplitN(r.key, "-", 2)[0]] = r.key
	}
	return Artifacts{Cache: cache, Keys: keys}
}

// Kubernetes is the program that is every program of Kubernetes.
func (k Artifacts) Kubernetes() string { return k.path("kubernetes", "kubernetes") }

// Etcd is the etcd server.
func (k Artifacts) Etcd() string { return k.path("etcd", "etcd") }

// Kwok is the controller of fake nodes.
func (k Artifacts) Kwok() string { return k.path("kwok", "kwok") }

// Complete reports whether the cache has the add-ons of a cluster like l: the programs
// that its first task can do without.
func (k Artifacts) Complete(l layout.Layout) bool {
	needed := []string{k.CoreDNS()}
	if l.Proxies() {
		needed = append(needed, k.Proxy(), k.path("nftables", ""))
	}
	for _, path := range needed {
		if _, err := os.Stat(path); err != nil {
			return false
		}
	}
	return true
}

// Splits reports whether the add-ons are programs of their own. A cluster of an older
// checkout started with everything, and its supervisor cannot add anything.
func (k Artifacts) Splits() bool { return k.Keys["proxy"] != "" }

// Proxy is kube-proxy.
func (k Artifacts) Proxy() string { return k.path("proxy", "kube-proxy") }

// Kubectl is kubectl.
func (k Artifacts) Kubectl() string { return k.path("kubectl", "kubectl") }

// CoreDNS is the DNS server.
func (k Artifacts) CoreDNS() string { return k.path("coredns", "coredns") }

// Containerd is a program of containerd.
func (k Artifacts) Containerd(name string) string { return k.path("containerd", name) }

// CNI is the directory of the network plugins.
func (k Artifacts) CNI() string { return k.path("containerd", "cni") }

// NFT is an environment in which kube-proxy finds the program nft: the machine's
// own if it has one, else Debian's with its libraries.
func (k Artifacts) NFT() []string {
	if k.Keys["nftables"] == "" {
		return nil
	}
	dirs := []string{os.Getenv("PATH"), k.path("nftables", "usr/sbin")}
	libraries, _ := filepath.Glob(k.path("nftables", "usr/lib/*-linux-gnu*"))
	return []string{"PATH=" + strings.Join(dirs, ":"), "LD_LIBRARY_PATH=" + strings.Join(libraries, ":")}
}

// Image is a tarball.
func (k Artifacts) Image(name string) string { return k.path("images", name+".tar") }

// Versions names the release of Python in the image that replaces python:3.13-slim.
func (k Artifacts) Versions() string {
	versions, err := os.ReadFile(k.path("images", "versions"))
	if err != nil {
		return "Python"
	}
	return string(versions)
}

// SearchPath is a PATH on which containerd finds its shim and runc: the
// machine's own runc if it has one, else Debian's.
func (k Artifacts) SearchPath() string {
	dirs := []string{k.path("containerd", "")}
	if _, err := exec.LookPath("runc"); err != nil {
		dirs = append(dirs, k.path("debian", "usr/sbin"))
	}
	return strings.Join(append(dirs, os.Getenv("PATH")), ":")
}

func (k Artifacts) path(entry, file string) string {
	return filepath.Join(k.Cache, k.Keys[entry], file)
}
