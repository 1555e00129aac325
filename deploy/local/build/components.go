// Package build makes the programs and images of the local cluster, from Go
// modules and Debian packages, and keeps them in the user's cache directory.
// What is there is never made again: each entry is named after its versions.
package build

import (
	"context"
	"os"
	"path/filepath"

	"k8s-cli/deploy/local/image"
	"k8s-cli/deploy/local/layout"
)

// The versions of everything that is built.
const (
	kubernetesVersion = "v1.37.1"
	etcdVersion       = "v3.7.3"
	containerdVersion = "v2.4.2"
	cniVersion        = "v1.9.1"
	corednsVersion    = "v1.15.0"
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
	title string // as users see it
	takes string // on a small machine; empty if it is over before anyone asks
	key   string // the entry's name; changes whenever the result would
	only  layout.Nodes
	make  func(ctx context.Context, k builder) error
}

// components are in the order in which they are made: the images need what
// Debian brings.
func components(source string) ([]component, error) {
	kubernetesKey, err := sourceKey("kubernetes-"+kubernetesVersion, filepath.Join(source, "kubernetes"), kubernetesFlags)
	if err != nil {
		return nil, err
	}
	etcdKey, err := sourceKey("etcd-"+etcdVersion, filepath.Join(source, "etcd"))
	if err != nil {
		return nil, err
	}
	pauseKey, err := sourceKey("images-"+image.Version, filepath.Join(source, "pause"))
	if err != nil {
		return nil, err
	}
	return []component{
		{title: "Kubernetes " + kubernetesVersion, takes: "about 5 minutes", key: kubernetesKey, make: makeKubernetes},
		{title: "etcd " + etcdVersion, takes: "about 20 seconds", key: etcdKey, make: makeEtcd},
		{title: "kwok " + kwokVersion, takes: "about 1 minute", key: "kwok-" + kwokVersion, only: layout.Kwok, make: makeKwok},
		{title: "containerd " + containerdVersion, takes: "about 1 minute", key: "containerd-" + containerdVersion, only: layout.Kubelet, make: makeContainerd},
		{title: "the CNI plugins " + cniVersion, takes: "about 10 seconds", key: "cni-" + cniVersion, only: layout.Kubelet, make: makeCNI},
		{title: "CoreDNS " + corednsVersion, takes: "about 2 minutes", key: "coredns-" + corednsVersion, only: layout.Kubelet, make: makeCoreDNS},
		{title: "runc, bash and busybox from Debian", takes: "some seconds", key: debianKey, only: layout.Kubelet, make: unpackDebian},
		{title: "Python from Debian", takes: "some seconds", key: pythonKey, only: layout.Kubelet, make: unpackPython},
		{title: "nft from Debian", takes: "some seconds", key: "nftables-1", only: layout.Kubelet, make: unpackNFT},
		{title: "the images", takes: "some seconds", key: pauseKey, only: layout.Kubelet, make: makeImages},
	}, nil
}

func makeKubernetes(ctx context.Context, k builder) error {
	return k.buildModule(ctx, "kubernetes", kubernetesFlags)
}

func makeEtcd(ctx context.Context, k builder) error {
	return k.buildModule(ctx, "etcd", "")
}

func makeKwok(ctx context.Context, k builder) error {
	return k.install(ctx, "", "sigs.k8s.io/kwok/cmd/kwok@"+kwokVersion)
}

func makeContainerd(ctx context.Context, k builder) error {
	const cmd = "github.com/containerd/containerd/v2/cmd/"
	return k.install(ctx, "no_btrfs,no_devmapper,no_zfs",
		cmd+"containerd@"+containerdVersion,
		cmd+"containerd-shim-runc-v2@"+containerdVersion,
		cmd+"ctr@"+containerdVersion)
}

func makeCNI(ctx context.Context, k builder) error {
	const plugins = "github.com/containernetworking/plugins/plugins/"
	return k.install(ctx, "",
		plugins+"main/bridge@"+cniVersion,
		plugins+"main/loopback@"+cniVersion,
		plugins+"ipam/host-local@"+cniVersion)
}

func makeCoreDNS(ctx context.Context, k builder) error {
	return k.install(ctx, "", "github.com/coredns/coredns@"+corednsVersion)
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
