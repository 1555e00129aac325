package parts

import (
	"strconv"

	"k8s-cli/deploy/local/build"
	"k8s-cli/deploy/local/layout"
	"k8s-cli/deploy/local/pki"
	"k8s-cli/deploy/local/supervise"
)

const (
	auditFile     = "audit.yaml"
	schedulerFile = "scheduler.json"
)

// auditPolicy records every request except the requests of the programs of the cluster.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: None
  users: ["system:apiserver", "system:kube-controller-manager", "system:kube-scheduler", "system:anonymous"]
- level: None
  users: ["k8s-cli-local:launcher", "k8s-cli-local:coredns", "k8s-cli-local:kwok"]
- level: None
  userGroups: ["system:nodes", "system:serviceaccounts:kube-system"]
- level: Metadata
`

// Etcd returns the database of the cluster. etcd does not sync its writes: a crash of a
// program loses nothing, but a crash of the machine may lose the cluster.
func Etcd(l layout.Layout, kit build.Artifacts) supervise.Program {
	peer := l.URL(layout.EtcdPeer)
	client := l.URL(layout.EtcdClient)
	return supervise.Program{
		Name: "etcd",
		Path: kit.Etcd(),
		Log:  l.Log("etcd"),
		Args: []string{
			"--name=local",
			"--data-dir=" + l.Path("etcd"),
			"--listen-client-urls=" + client, "--advertise-client-urls=" + client,
			"--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer,
			"--initial-cluster=local=" + peer,
			"--client-cert-auth", "--trusted-ca-file=" + l.PKI("ca.crt"),
			"--cert-file=" + l.PKI("etcd.crt"), "--key-file=" + l.PKI("etcd.key"),
			"--peer-client-cert-auth", "--peer-trusted-ca-file=" + l.PKI("ca.crt"),
			"--peer-cert-file=" + l.PKI("etcd.crt"), "--peer-key-file=" + l.PKI("etcd.key"),
			"--quota-backend-bytes=" + strconv.Itoa(8<<30),
			"--unsafe-no-fsync",
			"--log-level=warn",
		},
	}
}

// APIServer returns the Kubernetes API server.
func APIServer(l layout.Layout, kit build.Artifacts) supervise.Program {
	return kubernetes(l, kit, "kube-apiserver",
		"--etcd-servers="+l.URL(layout.EtcdClient),
		"--etcd-cafile="+l.PKI("ca.crt"), "--etcd-certfile="+l.PKI("apiserver.crt"), "--etcd-keyfile="+l.PKI("apiserver.key"),
		"--bind-address=127.0.0.1", "--secure-port="+strconv.Itoa(l.Port(layout.APIServer)),
		// Pods cannot reach 127.0.0.1, so the server does not publish this address to pods.
		"--advertise-address="+advertised(l), "--endpoint-reconciler-type=none",
		"--tls-cert-file="+l.PKI("apiserver.crt"), "--tls-private-key-file="+l.PKI("apiserver.key"),
		"--client-ca-file="+l.PKI("ca.crt"),
		"--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction",
		"--allow-privileged",
		"--service-cluster-ip-range="+l.Services().String(),
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file="+l.PKI("sa.pub"), "--service-account-signing-key-file="+l.PKI("sa.key"),
		"--kubelet-client-certificate="+l.PKI("apiserver.crt"), "--kubelet-client-key="+l.PKI("apiserver.key"),
		"--kubelet-certificate-authority="+l.PKI("ca.crt"),
		// DNS does not resolve the name of the node.
		"--kubelet-preferred-address-types=InternalIP",
		"--audit-policy-file="+l.Config(auditFile), "--audit-log-path="+l.Log("audit"),
		"--audit-log-maxsize=50", "--audit-log-maxbackup=3",
	)
}

// advertised returns an address that the server accepts as an address of this machine.
func advertised(l layout.Layout) string {
	if l.Nodes == layout.Kubelet {
		return l.Gateway().String()
	}
	return "127.0.0.1"
}

// ControllerManager returns the controllers that create pods for Jobs and volumes for
// claims. Its rate limits are far above the defaults, at which 17 Jobs start per second.
func ControllerManager(l layout.Layout, kit build.Artifacts) supervise.Program {
	return kubernetes(l, kit, "kube-controller-manager",
		"--kubeconfig="+l.UserConfig(pki.ControllerManager),
		"--authentication-kubeconfig="+l.UserConfig(pki.ControllerManager),
		"--authorization-kubeconfig="+l.UserConfig(pki.ControllerManager),
		"--bind-address=127.0.0.1", "--secure-port="+strconv.Itoa(l.Port(layout.ControllerManager)),
		"--leader-elect=false", // the cluster has only one instance
		"--use-service-account-credentials",
		"--service-account-private-key-file="+l.PKI("sa.key"), "--root-ca-file="+l.PKI("ca.crt"),
		"--enable-hostpath-provisioner",
		"--kube-api-qps=1000", "--kube-api-burst=2000",
		"--concurrent-job-syncs=50",
	)
}

// Scheduler returns the program that assigns pods to nodes.
func Scheduler(l layout.Layout, kit build.Artifacts) supervise.Program {
	return kubernetes(l, kit, "kube-scheduler",
		"--config="+l.Config(schedulerFile),
		"--authentication-kubeconfig="+l.UserConfig(pki.Scheduler),
		"--authorization-kubeconfig="+l.UserConfig(pki.Scheduler),
		"--bind-address=127.0.0.1", "--secure-port="+strconv.Itoa(l.Port(layout.Scheduler)),
	)
}

func schedulerConfig(l layout.Layout) string {
	return document(object{
		"apiVersion":       "kubescheduler.config.k8s.io/v1",
		"kind":             "KubeSchedulerConfiguration",
		"clientConnection": object{"kubeconfig": l.UserConfig(pki.Scheduler), "qps": 1000, "burst": 2000},
		"leaderElection":   object{"leaderElect": false},
	})
}

// StorageClass returns the default StorageClass. Each claim gets a directory, which is
// deleted with the claim.
func StorageClass() map[string]any {
	return object{
		"apiVersion": "storage.k8s.io/v1",
		"kind":       "StorageClass",
		"metadata": object{
			"name":        "standard",
			"annotations": object{"storageclass.kubernetes.io/is-default-class": "true"},
		},
		"provisioner":       "kubernetes.io/host-path",
		"reclaimPolicy":     "Delete",
		"volumeBindingMode": "Immediate",
	}
}
