// Package build makes the programs and images of the local cluster, from Go
// modules and Debian packages, and keeps them in the user's cache directory.
// What is there is never made again: each entry is named after its versions.
package build

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"k8s-cli/deploy/local/image"
	"k8s-cli/deploy/local/layout"
)

// The versions that no go.mod here contains.
const (
	kubernetesVersion = "v1.37.1"
	kwokVersion       = "v0.8.0"
)

// The entries of the cache that hold Debian's packages. A number changes whenever
// the content of the entry would.
const (
	debianKey = "debian-1"
	pythonKey = "python-1"
)

// kubernetesFlags tell Kubernetes its own version. Without it the server calls
// itself something that no client can parse.
const kubernetesFlags = "-X k8s.io/component-base/version.gitVersion=" + kubernetesVersion +
	" -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=37" +
	" -X k8s.io/client-go/pkg/version.gitVersion=" + kubernetesVersion

// A component makes one entry of the cache.
type component struct {
	title   string // as users see it
	key     string // the entry's name; changes whenever the result would
	need    need
	targets []target                                   // the programs to compile from the modules here
	make    func(ctx context.Context, k builder) error // makes the rest of the entry; may be nil
}

// A need says when a component is needed.
type need int

const (
	always   need = iota
	forReal       // for a real node
	forFake       // for fake nodes
	forNames      // for DNS on a real node: an add-on
	forVIPs       // for the virtual addresses of Services: an add-on
	onDemand      // for no cluster; a user calls it
)

// neededBy reports whether a cluster like l needs a component with the need n.
func (n need) neededBy(l layout.Layout) bool {
	switch n {
	case always:
		return true
	case forFake:
		return l.Nodes == layout.Kwok
	case forReal, forNames:
		return l.Nodes == layout.Kubelet
	case forVIPs:
		return l.Proxies()
	default:
		return false
	}
}

// addOn reports whether the first task can do without a component with the need n.
func (n need) addOn() bool { return n == forNames || n == forVIPs }

// compiled reports whether r consists of programs that the progress counts.
func (r component) compiled() bool { return len(r.targets) > 0 }

// components returns the components in the order in which they are made: the add-ons
// follow what the first task needs, and the images follow the Debian packages.
func components(source string) ([]component, error) {
	const containerd, cni = "github.com/containerd/containerd/v2/cmd/", "github.com/containernetworking/plugins/plugins/"
	all := []component{
		{title: "Kubernetes " + kubernetesVersion, key: "kubernetes-" + kubernetesVersion, need: always, targets: []target{
			{module: "kubernetes", packages: []string{"."}, ldflags: kubernetesFlags},
		}},
		{title: "etcd", key: "etcd", need: always, targets: []target{{module: "etcd", packages: []string{"."}}}},
		{title: "containerd and the CNI plugins", key: "containerd", need: forReal, targets: []target{
			{module: "containerd", packages: []string{containerd + "containerd", containerd + "containerd-shim-runc-v2", containerd + "ctr"}, tags: "no_btrfs,no_devmapper,no_zfs"},
			{module: "containerd", packages: []string{cni + "main/bridge", cni + "main/loopback", cni + "ipam/host-local"}, out: "cni"},
		}},
		{title: "CoreDNS", key: "coredns", need: forNames, targets: []target{{module: "coredns", packages: []string{"."}}}},
		{title: "kube-proxy", key: "proxy-" + kubernetesVersion, need: forVIPs, targets: []target{
			{module: "kubernetes", packages: []string{"./kube-proxy"}, ldflags: kubernetesFlags},
		}},
		{title: "kubectl", key: "kubectl-" + kubernetesVersion, need: onDemand, targets: []target{
			{module: "kubernetes", packages: []string{"./kubectl"}, ldflags: kubernetesFlags},
		}},
	}
	for i, r := range all {
		dirs := []string{filepath.Join(source, r.targets[0].module)}
		if p := r.targets[0].packages[0]; strings.HasPrefix(p, "./") {
			dirs = append(dirs, filepath.Join(dirs[0], p))
		}
		key, err := sourceKey(r.key, dirs, append(flags, fmt.Sprint(r.targets))...)
		if err != nil {
			return nil, err
		}
		all[i].key = key
	}
	images, err := sourceKey("images-"+image.Version, []string{filepath.Join(source, "pause")})
	if err != nil {
		return nil, err
	}
	return append(all,
		component{title: "kwok " + kwokVersion, key: "kwok-" + kwokVersion, need: forFake, make: makeKwok},
		component{title: "runc, bash and busybox from Debian", key: debianKey, need: forReal, make: unpackDebian},
		component{title: "nft from Debian", key: "nftables-1", need: forVIPs, make: unpackNFT},
		component{title: "Python from Debian", key: pythonKey, need: forReal, make: unpackPython},
		component{title: "the images", key: images, need: forReal, make: makeImages},
	), nil
}

func makeKwok(ctx context.Context, k builder) error {
	return k.install(ctx, "", "sigs.k8s.io/kwok/cmd/kwok@"+kwokVersion)
}

func makeImages(ctx context.Context, k builder) error {
	if err := k.buildPackage(ctx, "pause"); err != nil {
		return err
	}
	if err := image.WritePause(k.out("pause.tar"), k.out("pause")); err != nil {
		return err
	}
	debian, python := filepath.Join(k.cache, debianKey), filepath.Join(k.cache, pythonKey)
	versions, err := os.ReadFile(filepath.Join(python, "version"))
	if err != nil {
		return err
	}
	if err := os.WriteFile(k.out("versions"), versions, 0o644); err != nil {
		return err
	}
	return image.WriteTasks(ctx, k.out("task.tar"), image.Programs{
		Bash:    filepath.Join(debian, "bin/bash-static"),
		Busybox: filepath.Join(debian, "bin/busybox"),
		Python:  filepath.Join(python, "root"),
	})
}
