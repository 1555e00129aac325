package taskfile

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// inPod returns a task file with spec in its pod_config.
func inPod(spec string) []byte {
	return []byte("run: x\nconfig: {kubernetes: {pod_config: {spec: {" + spec + "}}}}\n")
}

func TestPodConfigIsStoredAsJSON(t *testing.T) {
	for _, tt := range []struct{ spec, want string }{
		{``, `{"spec":{}}`},
		{`nodeSelector: {a: 1}`, `{"spec":{"nodeSelector":{"a":"1"}}}`},
		{`tolerations: [{key: a, operator: Exists}]`, `{"spec":{"tolerations":[{"key":"a","operator":"Exists"}]}}`},
		{`terminationGracePeriodSeconds: "30"`, `{"spec":{"terminationGracePeriodSeconds":30}}`},
		{`hostNetwork: false, serviceAccountName: null`, `{"spec":{}}`},
		{`containers: [{name: ray-node, imagePullPolicy: Always}]`, `{"spec":{"containers":[{"imagePullPolicy":"Always"}]}}`},
		{`containers: [{resources: {requests: {rdma/ib: 1}}}]`, `{"spec":{"containers":[{"resources":{"limits":{"rdma/ib":"1"}}}]}}`},
		{`containers: [{resources: {requests: {ephemeral-storage: 10Gi}, limits: {ephemeral-storage: 20Gi}}}]`, `{"spec":{"containers":[{"resources":{"limits":{"ephemeral-storage":"20Gi"},"requests":{"ephemeral-storage":"10Gi"}}}]}}`},
		{`volumes: [{name: a, emptyDir: {}}], containers: [{volumeMounts: [{name: a, mountPath: /a//b/}]}]`, `{"spec":{"containers":[{"volumeMounts":[{"mountPath":"/a/b","name":"a"}]}],"volumes":[{"emptyDir":{},"name":"a"}]}}`},
	} {
		got, warnings, err := Parse(inPod(tt.spec))
		if err != nil || len(warnings) > 0 {
			t.Errorf("%s: %v %q", tt.spec, err, warnings)
			continue
		}
		if diff := cmp.Diff(tt.want, string(got.Config.Kubernetes.PodConfig)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.spec, diff)
		}
	}
}

func TestPodConfigRefuses(t *testing.T) {
	for _, tt := range []struct{ spec, want string }{
		{`hostNetwork: true`, "spec.hostNetwork: pods cannot use the namespaces of the host"},
		{`hostPID: true`, "spec.hostPID: pods cannot use the namespaces of the host"},
		{`hostIPC: yes`, "spec.hostIPC: pods cannot use the namespaces of the host"},
		{`hostUsers: true`, "spec.hostUsers: pods cannot use the namespaces of the host"},
		{`serviceAccountName: admin`, "spec.serviceAccountName: pods get no credentials for the cluster"},
		{`automountServiceAccountToken: true`, "spec.automountServiceAccountToken: pods get no credentials for the cluster"},
		{`restartPolicy: Always`, `spec.restartPolicy: "Always" is not one of Never`},
		{`initContainers: [{name: a}]`, "spec.initContainers: init containers are not supported; use setup"},
		{`nodeName: a`, "spec.nodeName: cannot be set here; allowed are activeDeadlineSeconds, affinity, "},
		{`$patch: replace`, "spec.$patch: cannot be set here; allowed are "},
		{`priorityClassName: system-node-critical`, `spec.priorityClassName: "system-node-critical" is not a valid name of a PriorityClass for tasks; names that begin with system- are reserved`},
		{`securityContext: {seccompProfile: {type: Unconfined}}`, `spec.securityContext.seccompProfile.type: "Unconfined" is not one of RuntimeDefault`},
		{`securityContext: {sysctls: [{name: a, value: b}]}`, "spec.securityContext.sysctls: cannot be set here"},
		{`volumes: [{name: a, hostPath: {path: /}}]`, "spec.volumes[0].hostPath: only emptyDir is supported here; name volumes and claims under the task's volumes"},
		{`volumes: [{name: a, secret: {secretName: b}}]`, "spec.volumes[0].secret: only emptyDir is supported here"},
		{`volumes: [{name: a}]`, "spec.volumes[0]: only emptyDir is supported here"},
		{`volumes: [{emptyDir: {}}]`, "spec.volumes[0]: has no name"},
		{`volumes: [{name: scripts, emptyDir: {}}]`, `spec.volumes[0].name: volume name "scripts" is reserved for k8s-cli; choose another name`},
		{`volumes: [{name: a, emptyDir: {}}, {name: a, emptyDir: {}}]`, `spec.volumes[1]: duplicate name "a"`},
		{`volumes: [{name: a, emptyDir: {sizeLimit: -1}}]`, `spec.volumes[0].emptyDir.sizeLimit: "-1" is not a size, for example 16Gi`},
		{`nodeSelector: {a: b}}, metadata: {labels: {app.kubernetes.io/name: k8s-cli-nats}`, `metadata.labels.app.kubernetes.io/name: label "app.kubernetes.io/name" is reserved`},
		{`containers: []`, "spec.containers: must have exactly one container, not 0"},
		{`containers: [{name: a}, {name: b}]`, "spec.containers: must have exactly one container, not 2"},
		{`containers: [{image: a}]`, "spec.containers[0].image: cannot be set here; use resources.image_id"},
		{`containers: [{command: [a]}]`, "spec.containers[0].command: cannot be set here; use run"},
		{`containers: [{envFrom: [{secretRef: {name: a}}]}]`, "spec.containers[0].envFrom: cannot be set here; use envs"},
		{`containers: [{env: [{name: A, valueFrom: {secretKeyRef: {name: a, key: b}}}]}]`, "spec.containers[0].env[0].valueFrom: cannot be set here; allowed are name, value"},
		{`containers: [{env: [{name: NODE_RANK, value: "7"}]}]`, "spec.containers[0].env[0].name: variable NODE_RANK is set by the launcher; choose another name"},
		{`containers: [{env: [{name: A B, value: "7"}]}]`, `spec.containers[0].env[0].name: "A B" is not a valid variable name`},
		{`containers: [{securityContext: {privileged: true}}]`, "spec.containers[0].securityContext.privileged: containers cannot get additional privileges"},
		{`containers: [{securityContext: {allowPrivilegeEscalation: true}}]`, "spec.containers[0].securityContext.allowPrivilegeEscalation: containers cannot get additional privileges"},
		{`containers: [{securityContext: {capabilities: {add: [SYS_ADMIN]}}}]`, "spec.containers[0].securityContext.capabilities.add: containers cannot get additional privileges"},
		{`containers: [{resources: {limits: {ephemeral-storage: much}}}]`, `spec.containers[0].resources.limits.ephemeral-storage: "much" is not a size, for example 50Gi`},
		{`containers: [{resources: {limits: {cpu: 1}}}]`, "spec.containers[0].resources.limits.cpu: only devices such as rdma/ib can be set here"},
		{`containers: [{resources: {limits: {nvidia.com/gpu: 1}}}]`, "spec.containers[0].resources.limits.nvidia.com/gpu: GPUs cannot be set here; use resources.accelerators"},
		{`containers: [{resources: {limits: {a.b/c: 1}, requests: {a.b/c: 2}}}]`, "spec.containers[0].resources: limits and requests of a.b/c differ; make them equal"},
		{`containers: [{volumeMounts: [{name: a, mountPath: /a}]}]`, `volumeMounts: the pod has no volume "a"; add it to volumes`},
		{`containers: [{volumeMounts: [{name: a, mountPath: /k8s-cli}]}]`, `spec.containers[0].volumeMounts[0].mountPath: "/k8s-cli" is reserved for the files of k8s-cli; choose another path`},
		{`nodeSelector: {a: b c}`, `spec.nodeSelector.a: "b c" must be at most 63 letters`},
		{`tolerations: [{value: a}]`, "spec.tolerations[0]: without a key, the operator must be Exists"},
		{`tolerations: [{key: a, operator: Exists, value: b}]`, "spec.tolerations[0]: value requires the operator Equal"},
		{`tolerations: [{key: a, effect: NoSchedule, tolerationSeconds: 1}]`, "spec.tolerations[0]: tolerationSeconds requires the effect NoExecute"},
		{`affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: []}}}`, "requiredDuringSchedulingIgnoredDuringExecution: must have nodeSelectorTerms"},
		{`affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{labelSelector: {}}]}}`, "requiredDuringSchedulingIgnoredDuringExecution[0]: must have topologyKey"},
		{`topologySpreadConstraints: [{topologyKey: zone}]`, "spec.topologySpreadConstraints[0]: must have whenUnsatisfiable"},
		{`topologySpreadConstraints: [{topologyKey: zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {}}]`, "spec.topologySpreadConstraints[0].labelSelector: cannot be set here; allowed are maxSkew, topologyKey, whenUnsatisfiable"},
		{`imagePullSecrets: [{name: A}]`, `spec.imagePullSecrets[0].name: "A" is not a valid name of a Kubernetes object`},
	} {
		_, _, err := Parse(inPod(tt.spec))
		if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.HasPrefix(err.Error(), "line 2, "+podConfigPath) {
			t.Errorf("%s:\n got %v\nwant %s", tt.spec, err, tt.want)
		}
	}
	clash := "run: x\nvolumes: {/a/: data}\nconfig: {kubernetes: {pod_config: {spec: {volumes: [{name: a, emptyDir: {}}], containers: [{volumeMounts: [{name: a, mountPath: /a}]}]}}}}\n"
	if _, _, err := Parse([]byte(clash)); err == nil || !strings.HasPrefix(err.Error(), "line 3, ") || !strings.HasSuffix(err.Error(), "and so does volumes; remove one of them") {
		t.Errorf("a mount of both: %v", err)
	}
}
