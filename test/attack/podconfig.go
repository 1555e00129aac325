package main

import (
	"encoding/json"
	"fmt"

	"k8s-cli/pkg/task"
)

// podConfigAttacks request pod settings that break the isolation of a container, or objects
// of other users.
func podConfigAttacks() (all []attack) {
	for _, spec := range append(append(hostSpecs, volumeSpecs...), schedulingSpecs...) {
		all = append(all, preview("spec: "+spec, `{"config":{"kubernetes":{"pod_config":{"spec":`+spec+`}}}}`, invalid))
	}
	for _, container := range append(securitySpecs, containerSpecs...) {
		all = append(all, preview("container: "+container, `{"config":{"kubernetes":{"pod_config":{"spec":{"containers":[`+container+`]}}}}}`, invalid))
	}
	for _, device := range deviceSpecs {
		all = append(all, preview("device: "+device, `{"config":{"kubernetes":{"pod_config":{"spec":{"containers":[{"resources":{"limits":{"`+device+`":1}}}]}}}}}`, invalid))
	}
	all = append(all, affinityAttacks()...)
	for _, config := range []string{
		`{"kind":"Pod"}`, `{"apiVersion":"v1"}`, `{"status":{"phase":"Succeeded"}}`, `{"$patch":"replace"}`, `{"$patch":"delete","spec":{}}`, `{"$retainKeys":["spec"]}`, `{"$deleteFromPrimitiveList/x":[]}`, `{"Spec":{"hostNetwork":true}}`, `{"SPEC":{}}`,
		`{"metadata":{"name":"other"}}`, `{"metadata":{"namespace":"kube-system"}}`, `{"metadata":{"ownerReferences":[{"kind":"Node"}]}}`, `{"metadata":{"finalizers":["x/y"]}}`, `{"metadata":{"uid":"x"}}`, `{"metadata":{"generateName":"x"}}`, `{"metadata":{"$patch":"replace"}}`,
		`{"metadata":{"deletionTimestamp":null,"managedFields":[{"manager":"x"}]}}`, `{"spec":null,"metadata":{"name":null,"Labels":{"a":"b"}}}`,
		`[]`, `"spec"`, `7`, `[{"op":"add","path":"/spec/hostNetwork","value":true}]`,
	} {
		all = append(all, preview("pod: "+config, `{"config":{"kubernetes":{"pod_config":`+config+`}}}`, invalid))
	}
	for _, spec := range []string{`{"nodeSelector":{"disk":"ssd"}}`, `{"tolerations":[{"key":"gpu","operator":"Exists","effect":"NoSchedule"}]}`, `{"containers":[{"env":[{"name":"A","value":"b"}]}]}`, `{"volumes":[{"name":"shm","emptyDir":{"medium":"Memory","sizeLimit":"1Gi"}}],"containers":[{"volumeMounts":[{"name":"shm","mountPath":"/dev/shm"}]}]}`} {
		all = append(all, control(preview("allowed: "+spec, `{"config":{"kubernetes":{"pod_config":{"spec":`+spec+`}}}}`, works)))
	}
	return all
}

// preview is an attack by a preview of a task with these fields in addition to run. Nothing
// is submitted.
func preview(name, fields string, right want) attack {
	return call(name, byHeader, request{method: "POST", path: "/tasks/preview", body: `{"run":"true",` + fields[1:], header: []string{"X-User", "ann"}}, right)
}

var hostSpecs = []string{
	`{"hostNetwork":true}`, `{"hostPID":true}`, `{"hostIPC":true}`, `{"hostUsers":true}`, `{"hostNetwork":"true"}`, `{"hostNetwork":"yes"}`, `{"hostnetwork":true}`, `{"HostNetwork":true}`, `{"HOSTPID":true}`, `{"host_network":true}`, `{"hostNetwork ":true}`,
	`{"shareProcessNamespace":true}`, `{"hostAliases":[{"ip":"1.2.3.4","hostnames":["kubernetes.default.svc"]}]}`, `{"hostname":"node-0"}`, `{"subdomain":"other"}`, `{"setHostnameAsFQDN":true}`, `{"hostnameOverride":"x"}`,
	`{"dnsPolicy":"Default"}`, `{"dnsConfig":{"nameservers":["1.2.3.4"]}}`,
	`{"serviceAccountName":"default"}`, `{"serviceAccount":"default"}`, `{"automountServiceAccountToken":true}`, `{"ServiceAccountName":"admin"}`,
	`{"initContainers":[{"name":"x","image":"busybox"}]}`, `{"initContainers":[{"name":"x","image":"busybox","restartPolicy":"Always"}]}`, `{"ephemeralContainers":[{"name":"x","image":"busybox"}]}`, `{"initcontainers":[{"name":"x"}]}`,
	`{"containers":[{"name":"a"},{"name":"b","image":"busybox"}]}`, `{"containers":[]}`, `{"containers":{"name":"task"}}`,
	`{"$patch":"replace"}`, `{"$patch":"delete"}`, `{"$setElementOrder/containers":[{"name":"x"}]}`, `{"$retainKeys":["hostNetwork"]}`, `{"containers":[{"$patch":"replace"},{"name":"x"}]}`, `{"volumes":[{"$patch":"replace"}]}`, `{"$deleteFromPrimitiveList/finalizers":["a"]}`,
	`{"securityContext":{"sysctls":[{"name":"kernel.msgmax","value":"1"}]}}`, `{"securityContext":{"sysctls":[{"name":"net.ipv4.ip_unprivileged_port_start","value":"0"}]}}`, `{"securityContext":{"windowsOptions":{"hostProcess":true}}}`,
	`{"securityContext":{"seccompProfile":{"type":"Unconfined"}}}`, `{"securityContext":{"seccompProfile":{"type":"Localhost","localhostProfile":"x.json"}}}`, `{"securityContext":{"appArmorProfile":{"type":"Unconfined"}}}`, `{"securityContext":{"seLinuxOptions":{"type":"spc_t"}}}`,
	`{"securityContext":{"seLinuxOptions":{"level":"s0:c1"}}}`, `{"securityContext":{"supplementalGroupsPolicy":"Strict","procMount":"Unmasked"}}`, `{"os":{"name":"windows"}}`, `{"restartPolicy":"Always"}`, `{"resources":{"limits":{"cpu":"1"}}}`,
}

var securitySpecs = []string{
	`{"securityContext":{"privileged":true}}`, `{"securityContext":{"Privileged":true}}`, `{"securityContext":{"privileged":"true"}}`, `{"securityContext":{"allowPrivilegeEscalation":true}}`, `{"securityContext":{"capabilities":{"add":["SYS_ADMIN"]}}}`,
	`{"securityContext":{"capabilities":{"add":["ALL"]}}}`, `{"securityContext":{"capabilities":{"add":["NET_ADMIN"]}}}`, `{"securityContext":{"capabilities":{"add":["CAP_SYS_PTRACE"]}}}`, `{"securityContext":{"capabilities":{"add":["sys_admin"]}}}`, `{"securityContext":{"capabilities":{"add":["BPF"]}}}`,
	`{"securityContext":{"procMount":"Unmasked"}}`, `{"securityContext":{"seccompProfile":{"type":"Unconfined"}}}`, `{"securityContext":{"appArmorProfile":{"type":"Unconfined"}}}`, `{"securityContext":{"seLinuxOptions":{"type":"spc_t"}}}`, `{"securityContext":{"windowsOptions":{"hostProcess":true}}}`,
	`{"securityContext":{"$patch":"delete"}}`, `{"securitycontext":{"privileged":true}}`,
}

var containerSpecs = []string{
	`{"image":"evil.example/x"}`, `{"command":["sh"]}`, `{"args":["x"]}`, `{"workingDir":"/"}`, `{"envFrom":[{"secretRef":{"name":"k8s-cli-server-key"}}]}`, `{"envFrom":[{"configMapRef":{"name":"x"}}]}`, `{"env":[{"name":"X","valueFrom":{"secretKeyRef":{"name":"k8s-cli-server-key","key":"key"}}}]}`,
	`{"env":[{"name":"X","valueFrom":{"fieldRef":{"fieldPath":"status.hostIP"}}}]}`, `{"env":[{"name":"X","valueFrom":{"configMapKeyRef":{"name":"a","key":"b"}}}]}`, `{"env":[{"name":"X","valueFrom":{"fileKeyRef":{"volumeName":"a","path":"b","key":"c"}}}]}`, `{"env":[{"name":"SKYPILOT_USER","value":"root"}]}`, `{"env":[{"name":"A=B","value":"x"}]}`,
	`{"ports":[{"containerPort":80,"hostPort":80}]}`, `{"ports":[{"containerPort":80}]}`, `{"lifecycle":{"postStart":{"exec":{"command":["sh"]}}}}`, `{"lifecycle":{"preStop":{"httpGet":{"host":"169.254.169.254","port":80}}}}`, `{"livenessProbe":{"httpGet":{"host":"169.254.169.254","port":80}}}`, `{"readinessProbe":{"tcpSocket":{"port":1}}}`,
	`{"startupProbe":{"exec":{"command":["true"]}}}`, `{"volumeDevices":[{"name":"x","devicePath":"/dev/sda"}]}`, `{"volumeMounts":[{"name":"scripts","mountPath":"/x"}]}`, `{"volumeMounts":[{"name":"nothing","mountPath":"/x"}]}`, `{"volumeMounts":[{"name":"x","mountPath":"/x","mountPropagation":"Bidirectional"}]}`, `{"terminationMessagePath":"/etc/passwd"}`,
	`{"resizePolicy":[]}`, `{"restartPolicy":"Always"}`, `{"stdin":true}`, `{"tty":true}`, `{"resources":{"limits":{"cpu":"1000"}}}`, `{"resources":{"limits":{"nvidia.com/gpu":"8"}}}`, `{"resources":{"claims":[{"name":"gpu"}]}}`, `{"resources":{"limits":{"kubernetes.io/x":"1"}}}`, `{"Image":"evil.example/x"}`, `{"$patch":"replace"}`,
	`{"volumeMounts":[{"name":"shm","mountPath":"/k8s-cli"}]}`, `{"volumeMounts":[{"name":"shm","mountPath":"/x","subPathExpr":"$(X)"}]}`,
}

// volumeSpecs are volumes of every kind except scratch space.
var volumeSpecs = volumes(map[string]string{
	"hostPath": `{"path":"/"}`, "HostPath": `{"path":"/"}`, "hostpath": `{"path":"/"}`, "persistentVolumeClaim": `{"claimName":"x"}`, "secret": `{"secretName":"k8s-cli-server-key"}`, "configMap": `{"name":"x"}`, "downwardAPI": `{"items":[]}`,
	"projected": `{"sources":[{"serviceAccountToken":{"path":"token"}}]}`, "nfs": `{"server":"10.0.0.1","path":"/"}`, "iscsi": `{"targetPortal":"10.0.0.1","iqn":"x","lun":0}`, "csi": `{"driver":"secrets-store.csi.k8s.io"}`, "ephemeral": `{"volumeClaimTemplate":{"spec":{}}}`, "image": `{"reference":"evil.example/x"}`,
	"gitRepo": `{"repository":"https://evil.example/x"}`, "awsElasticBlockStore": `{"volumeID":"x"}`, "gcePersistentDisk": `{"pdName":"x"}`, "azureDisk": `{"diskName":"x","diskURI":"y"}`, "azureFile": `{"secretName":"x","shareName":"y"}`, "cephfs": `{"monitors":["x"]}`, "rbd": `{"monitors":["x"],"image":"y"}`,
	"glusterfs": `{"endpoints":"x","path":"y"}`, "flexVolume": `{"driver":"x"}`, "fc": `{"wwids":["x"]}`, "cinder": `{"volumeID":"x"}`, "vsphereVolume": `{"volumePath":"x"}`, "portworxVolume": `{"volumeID":"x"}`, "storageos": `{"volumeName":"x"}`, "scaleIO": `{"gateway":"x"}`, "quobyte": `{"registry":"x","volume":"y"}`,
	"flocker": `{"datasetName":"x"}`, "photonPersistentDisk": `{"pdID":"x"}`,
})

func volumes(kinds map[string]string) (all []string) {
	for kind, source := range byName(kinds) {
		all = append(all, fmt.Sprintf(`{"volumes":[{"name":"x",%q:%s}]}`, kind, source))
	}
	return append(all,
		`{"volumes":[{"name":"scripts","emptyDir":{}}]}`, `{"volumes":[{"name":"volume-0","emptyDir":{}}]}`, `{"volumes":[{"name":"x","emptyDir":{},"hostPath":{"path":"/"}}]}`, `{"volumes":[{"name":"x","emptyDir":{"medium":"HugePages"}}]}`, `{"volumes":[{"name":"x"}]}`, `{"volumes":[{"emptyDir":{}}]}`,
	)
}

// schedulingSpecs control who runs a pod and at whose cost.
var schedulingSpecs = []string{
	`{"nodeName":"control-plane"}`, `{"nodename":"control-plane"}`, `{"schedulerName":"evil-scheduler"}`, `{"runtimeClassName":"privileged"}`, `{"priority":2000000000}`, `{"priorityClassName":"system-node-critical"}`, `{"priorityClassName":"system-cluster-critical"}`,
	`{"priorityClassName":"k8s-cli-k8s-cli"}`, `{"priorityClassName":"high"}`, `{"preemptionPolicy":"PreemptLowerPriority"}`, `{"imagePullSecrets":[{"name":"k8s-cli-server-key"}]}`, `{"imagePullSecrets":[{"name":"registry"}]}`, `{"tolerations":[{"operator":"Exists"}]}`,
	`{"tolerations":[{"operator":"Exists","effect":"NoExecute"}]}`, `{"tolerations":[{"operator":"Exists","effect":"NoSchedule"}]}`, `{"tolerations":[{"key":"","operator":"Exists"}]}`, `{"overhead":{"cpu":"1"}}`, `{"readinessGates":[{"conditionType":"x"}]}`, `{"schedulingGates":[{"name":"x"}]}`,
	`{"resourceClaims":[{"name":"x","resourceClaimName":"y"}]}`, `{"enableServiceLinks":true}`, `{"activeDeadlineSeconds":-1}`, `{"terminationGracePeriodSeconds":99999999}`, `{"topologySpreadConstraints":[{"topologyKey":"kubernetes.io/hostname","whenUnsatisfiable":"DoNotSchedule","labelSelector":{}}]}`,
	`{"affinity":{"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"kubernetes.io/hostname","namespaceSelector":{}}]}}}`, `{"workloadRef":{"name":"x"}}`, `{"terminationGracePeriodSeconds":3600}`,
}

// deviceSpecs request devices that the server does not list.
var deviceSpecs = []string{"nvidia.com/mig-7g.80gb", "nvidia.com/gpu.shared", "habana.ai/gaudi", "gpu.intel.com/i915", "google.com/tpu", "smarter-devices/fuse", "devices.kubevirt.io/kvm", "rdma/ib"}

// affinityAttacks place a pod, or keep pods away, by the pods of another user. The server narrows each
// term to the pods of the sender.
func affinityAttacks() (all []attack) {
	narrowed := showing(works, `{"key":"skypilot-owner","operator":"In","values":["`+task.Owner("ann")+`"]}`)
	for _, selector := range []string{`{"matchLabels":{"username":"bob"}}`, `{"matchExpressions":[{"key":"skypilot-owner","operator":"NotIn","values":["x"]}]}`, `{}`} {
		term := `{"topologyKey":"kubernetes.io/os","labelSelector":` + selector + `}`
		for _, kind := range []string{"podAffinity", "podAntiAffinity"} {
			for _, list := range []string{`"requiredDuringSchedulingIgnoredDuringExecution":[` + term + `]`, `"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":100,"podAffinityTerm":` + term + `}]`} {
				all = append(all, preview(kind+": "+list, `{"config":{"kubernetes":{"pod_config":{"spec":{"affinity":{"`+kind+`":{`+list+`}}}}}}}`, narrowed))
			}
		}
	}
	return all
}

// metadataAttacks set labels and annotations that control other programs.
func metadataAttacks() (all []attack) {
	annotations := map[string]string{
		"k8s.v1.cni.cncf.io/networks": "kube-system/host", "v1.multus-cni.io/default-network": "host", "cni.projectcalico.org/ipAddrs": `["10.0.0.1"]`, "cni.projectcalico.org/ipAddrsNoIpam": `["10.0.0.1"]`, "iam.amazonaws.com/role": "admin", "sidecar.istio.io/userVolume": `[{"name":"x","hostPath":{"path":"/"}}]`,
		"sidecar.istio.io/proxyImage": "evil.example/x", "sidecar.istio.io/inject": "true", "sidecar.istio.io/userVolumeMount": "[]", "vault.hashicorp.com/agent-inject": "true", "vault.hashicorp.com/role": "admin", "io.kubernetes.cri-o.Devices": "/dev/sda", "io.kubernetes.cri-o.userns-mode": "host",
		"io.katacontainers.config.hypervisor.path": "/bin/sh", "io.katacontainers.config.agent.enable_tracing": "true", "cdi.k8s.io/x": "vendor.com/device=all", "container.apparmor.security.beta.kubernetes.io/task": "unconfined", "seccomp.security.alpha.kubernetes.io/pod": "unconfined",
		"kubernetes.io/psp": "privileged", "scheduler.alpha.kubernetes.io/critical-pod": "", "linkerd.io/inject": "enabled", "config.linkerd.io/proxy-image": "evil.example/x", "dapr.io/enabled": "true", "dapr.io/sidecar-image": "evil.example/x", "instrumentation.opentelemetry.io/inject-java": "true",
		"eks.amazonaws.com/role-arn": "arn:aws:iam::1:role/admin", "iam.gke.io/gcp-service-account": "x@y", "azure.workload.identity/use": "true", "admission.datadoghq.com/enabled": "true", "consul.hashicorp.com/connect-inject": "true", "ovn.kubernetes.io/ip_address": "10.0.0.1", "k8s.ovn.org/pod-networks": "{}",
		"security.alpha.kubernetes.io/sysctls": "a=b", "kuma.io/sidecar-injection": "enabled", "argocd.argoproj.io/sync-options": "Prune=false", "batch.kubernetes.io/job-tracking": "", "app.kubernetes.io/managed-by": "Helm", "skypilot-user": "root", "skypilot-run": "true", "created-at": "2020-01-01T00:00:00Z", "k8s-cli/x": "y",
		"io.containerd.cri.x": "y",
	}
	for key, value := range byName(annotations) {
		one := jsonOf(map[string]string{key: value})
		all = append(all, preview("annotation: "+key, `{"config":{"kubernetes":{"custom_metadata":{"annotations":`+one+`}}}}`, invalid))
		if len(all)%3 == 0 {
			all = append(all, preview("annotation in pod_config: "+key, `{"config":{"kubernetes":{"pod_config":{"metadata":{"annotations":`+one+`}}}}}`, invalid))
		}
	}
	for key, value := range byName(map[string]string{
		"app.kubernetes.io/name": "k8s-cli-server", "app.kubernetes.io/instance": "k8s-cli", "app.kubernetes.io/component": "server", "app.kubernetes.io/part-of": "k8s-cli", "app.kubernetes.io/managed-by": "Helm", "app.kubernetes.io/anything": "x",
		"batch.kubernetes.io/job-name": "x", "job-name": "x", "controller-uid": "x", "skypilot-owner": "x", "skypilot-task": "false", "task-id": "abcd1234", "username": "ann", "node-idx": "1",
	}) {
		one := jsonOf(map[string]string{key: value})
		all = append(all,
			preview("label: "+key, `{"resources":{"labels":`+one+`}}`, invalid),
			preview("label in custom_metadata: "+key, `{"config":{"kubernetes":{"custom_metadata":{"labels":`+one+`}}}}`, invalid),
			preview("label in pod_config: "+key, `{"config":{"kubernetes":{"pod_config":{"metadata":{"labels":`+one+`}}}}}`, invalid),
			preview("label of a claim: "+key, `{"ephemeral_volumes":{"/scratch":{"size":"1Gi","labels":`+one+`}}}`, invalid),
		)
	}
	return append(all, control(preview("a label", `{"resources":{"labels":{"team":"search"}}}`, works)))
}

// classAttacks take resources of other users' tasks with a priority class or a queue.
func classAttacks() (all []attack) {
	for _, class := range []string{"system-node-critical", "system-cluster-critical", "k8s-cli-k8s-cli", "k8s-cli", "high", "System-Node-Critical", "system-node-critical ", "../x"} {
		all = append(all, preview("priority_class: "+class, `{"resources":{"priority_class":`+jsonOf(class)+`}}`, invalid))
	}
	for _, priority := range []string{"1001", "-1001", "2000000000", "1e9", "9223372036854775808"} {
		all = append(all, preview("priority: "+priority, `{"resources":{"priority":`+priority+`}}`, invalid))
	}
	return append(all, control(preview("priority: 10", `{"resources":{"priority":10}}`, works)))
}

func jsonOf(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // v is a string or a map of strings
	}
	return string(text)
}
