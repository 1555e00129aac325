package parts

import (
	"fmt"
	"strconv"

	"k8s-cli/deploy/local/build"
	"k8s-cli/deploy/local/host"
	"k8s-cli/deploy/local/image"
	"k8s-cli/deploy/local/layout"
	"k8s-cli/deploy/local/pki"
	"k8s-cli/deploy/local/supervise"
)

const (
	kubeletFile    = "kubelet.json"
	containerdFile = "containerd.toml"
	cniFile        = "net.d/10-bridge.conflist"
)

// ContainerdSocket is the socket of containerd, in the mount namespace of the cluster.
const ContainerdSocket = "/run/containerd/containerd.sock"

// Kubelet returns the kubelet, which makes this machine the node of the cluster.
func Kubelet(l layout.Layout, kit build.Artifacts) supervise.Program {
	p := kubernetes(l, kit, "kubelet",
		"--config="+l.Config(kubeletFile),
		"--kubeconfig="+l.UserConfig(pki.Kubelet),
		"--root-dir="+l.Run("kubelet"),
		"--hostname-override="+l.NodeName(),
		"--node-ip="+l.Gateway().String(), // the kubelet rejects a loopback address
	)
	p.Env = []string{"PATH=" + kit.SearchPath()}
	return p
}

func kubeletConfig(l layout.Layout) string {
	return document(object{
		"apiVersion":               "kubelet.config.k8s.io/v1beta1",
		"kind":                     "KubeletConfiguration",
		"address":                  l.Gateway().String(),
		"port":                     l.Port(layout.KubeletAPI),
		"healthzBindAddress":       "127.0.0.1",
		"healthzPort":              l.Port(layout.KubeletHealth),
		"tlsCertFile":              l.PKI("kubelet.crt"),
		"tlsPrivateKeyFile":        l.PKI("kubelet.key"),
		"authentication":           object{"anonymous": object{"enabled": false}, "webhook": object{"enabled": true}, "x509": object{"clientCAFile": l.PKI("ca.crt")}},
		"authorization":            object{"mode": "Webhook"},
		"containerRuntimeEndpoint": "unix://" + ContainerdSocket,
		"clusterDomain":            "cluster.local",
		"clusterDNS":               []string{l.Gateway().String()},
		"resolvConf":               "", // tasks must not use the search domains of the machine
		"podLogsDir":               l.Path("pod-logs"),
		"containerLogMaxSize":      "16Mi", // the kubelet shows only the newest file of a log
		"volumePluginDir":          l.Run("kubelet", "volume-plugins"),
		"cgroupDriver":             "cgroupfs",
		"cgroupRoot":               host.Cgroup(l),
		"failCgroupV1":             false,
		"failSwapOn":               false,
		// Without this setting, the kubelet requires quotas of the file system.
		"localStorageCapacityIsolation": false,
		// A score of 0 requires no CAP_SYS_RESOURCE.
		"oomScoreAdj":            0,
		"makeIPTablesUtilChains": false,
		"maxPods":                250,
		"serializeImagePulls":    false,
		"registryPullQPS":        0,
		"eventRecordQPS":         0,
		"kubeAPIQPS":             500,
		"kubeAPIBurst":           1000,
		// Disable garbage collection of images, because images from a tarball cannot be
		// pulled again. A nearly full disk is acceptable on a development machine.
		"imageGCHighThresholdPercent": 100,
		"evictionHard":                object{"memory.available": "100Mi", "nodefs.available": "0%", "nodefs.inodesFree": "0%", "imagefs.available": "0%", "imagefs.inodesFree": "0%"},
	})
}

// Containerd returns the container runtime of pods.
func Containerd(l layout.Layout, kit build.Artifacts) supervise.Program {
	return supervise.Program{
		Name: "containerd",
		Path: kit.Containerd("containerd"),
		Args: []string{"--config", l.Config(containerdFile)},
		Env:  []string{"PATH=" + kit.SearchPath()}, // containerd looks up its shim and runc in PATH
		Log:  l.Log("containerd"),
	}
}

// Import returns the command that imports the images of an archive into the containerd that
// listens on socket.
func Import(kit build.Artifacts, socket, archive string) []string {
	return []string{kit.Containerd("ctr"), "--address", socket, "--namespace", "k8s.io", "images", "import", archive}
}

func containerdConfig(l layout.Layout, kit build.Artifacts) string {
	snapshotter := "overlayfs"
	if host.OnOverlay(l.Dir) {
		snapshotter = "native"
	}
	return fmt.Sprintf(`version = 3
root = %[1]q
state = "/run/containerd"
disabled_plugins = ["io.containerd.nri.v1.nri", "io.containerd.internal.v1.opt", "io.containerd.snapshotter.v1.erofs", "io.containerd.differ.v1.erofs"]

[grpc]
address = %[2]q

[plugins."io.containerd.cri.v1.images"]
snapshotter = %[3]q

[plugins."io.containerd.cri.v1.images".pinned_images]
sandbox = %[4]q

[plugins."io.containerd.cri.v1.runtime"]
netns_mounts_under_state_dir = true
restrict_oom_score_adj = true # a score below one's own needs CAP_SYS_RESOURCE

[plugins."io.containerd.cri.v1.runtime".cni]
bin_dirs = [%[5]q]
conf_dir = %[6]q

[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"

[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
SystemdCgroup = false
`, l.Path("containerd"), ContainerdSocket, snapshotter, image.Pause, kit.CNI(), l.Config("net.d"))
}

// cniConfig connects pods to the bridge. Pods reach each other and this machine, and no
// other machine.
func cniConfig(l layout.Layout) string {
	return document(object{
		"cniVersion": "1.0.0",
		"name":       "k8s-cli-" + strconv.Itoa(l.Instance),
		"plugins": []object{{
			"type":             "bridge",
			"bridge":           l.Bridge(),
			"isDefaultGateway": true,
			"hairpinMode":      true,
			"ipMasq":           false,
			"ipam":             object{"type": "host-local", "dataDir": l.Run("addresses"), "ranges": [][]object{{{"subnet": l.Pods().String()}}}},
		}},
	})
}
