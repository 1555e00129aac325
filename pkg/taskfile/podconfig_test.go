package taskfile

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// inPod is a task with this under spec of its pod_config.
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
		{`hostNetwork: true`, "spec.hostNetwork: pods may not use what is the node's own"},
		{`hostPID: true`, "spec.hostPID: pods may not use what is the node's own"},
		{`hostIPC: yes`, "spec.hostIPC: pods may not use what is the node's own"},
		{`hostUsers: true`, "spec.hostUsers: pods may not use what is the node's own"},
		{`serviceAccountName: admin`, "spec.serviceAccountName: pods get no credentials of the cluster"},
		{`automountServiceAccountToken: true`, "spec.automountServiceAccountToken: pods get no credentials of the cluster"},
		{`restartPolicy: Always`, `spec.restartPolicy: "Always" is not one of Never`},
		{`initContainers: [{name: a}]`, "spec.initContainers: further containers are not run; write setup"},
		{`nodeName: a`, "spec.nodeName: may not be set here, only activeDeadlineSeconds, affinity, "},
		{`$patch: replace`, "spec.$patch: may not be set here, only "},
		{`priorityClassName: system-node-critical`, `spec.priorityClassName: "system-node-critical" is not the name of a PriorityClass that tasks may have`},
		{`securityContext: {seccompProfile: {type: Unconfined}}`, `spec.securityContext.seccompProfile.type: "Unconfined" is not one of RuntimeDefault`},
		{`securityContext: {sysctls: [{name: a, value: b}]}`, "spec.securityContext.sysctls: may not be set here"},
		{`volumes: [{name: a, hostPath: {path: /}}]`, "spec.volumes[0].hostPath: only emptyDir is mounted here; name volumes and claims under the task's volumes"},
		{`volumes: [{name: a, secret: {secretName: b}}]`, "spec.volumes[0].secret: only emptyDir is mounted here"},
		{`volumes: [{name: a}]`, "spec.volumes[0]: only emptyDir is mounted here"},
		{`volumes: [{emptyDir: {}}]`, "spec.volumes[0]: has no name"},
		{`volumes: [{name: scripts, emptyDir: {}}]`, `spec.volumes[0].name: "scripts" is the name of a volume of the launcher's`},
		{`volumes: [{name: a, emptyDir: {}}, {name: a, emptyDir: {}}]`, `spec.volumes[1]: the name "a" stands there twice`},
		{`volumes: [{name: a, emptyDir: {sizeLimit: -1}}]`, `spec.volumes[0].emptyDir.sizeLimit: "-1" is not a size such as 16Gi`},
		{`nodeSelector: {a: b}}, metadata: {labels: {app.kubernetes.io/name: k8s-cli-nats}`, `metadata.labels.app.kubernetes.io/name: "app.kubernetes.io/name" is a label that tasks never set`},
		{`containers: []`, "spec.containers: has to hold the one container of the task, not 0"},
		{`containers: [{name: a}, {name: b}]`, "spec.containers: has to hold the one container of the task, not 2"},
		{`containers: [{image: a}]`, "spec.containers[0].image: may not be set here; write resources.image_id"},
		{`containers: [{command: [a]}]`, "spec.containers[0].command: may not be set here; write run"},
		{`containers: [{envFrom: [{secretRef: {name: a}}]}]`, "spec.containers[0].envFrom: may not be set here; write envs"},
		{`containers: [{env: [{name: A, valueFrom: {secretKeyRef: {name: a, key: b}}}]}]`, "spec.containers[0].env[0].valueFrom: may not be set here, only name, value"},
		{`containers: [{env: [{name: NODE_RANK, value: "7"}]}]`, "spec.containers[0].env[0].name: NODE_RANK is a variable that the launcher sets"},
		{`containers: [{env: [{name: A B, value: "7"}]}]`, `spec.containers[0].env[0].name: "A B" is not a name of letters, digits and _`},
		{`containers: [{securityContext: {privileged: true}}]`, "spec.containers[0].securityContext.privileged: containers get no privileges"},
		{`containers: [{securityContext: {allowPrivilegeEscalation: true}}]`, "spec.containers[0].securityContext.allowPrivilegeEscalation: containers get no privileges"},
		{`containers: [{securityContext: {capabilities: {add: [SYS_ADMIN]}}}]`, "spec.containers[0].securityContext.capabilities.add: containers get no privileges"},
		{`containers: [{resources: {limits: {cpu: 1}}}]`, "spec.containers[0].resources.limits.cpu: only devices such as rdma/ib are set here"},
		{`containers: [{resources: {limits: {nvidia.com/gpu: 1}}}]`, "spec.containers[0].resources.limits.nvidia.com/gpu: write resources.accelerators"},
		{`containers: [{resources: {limits: {a.b/c: 1}, requests: {a.b/c: 2}}}]`, "spec.containers[0].resources: limits and requests of a.b/c differ"},
		{`containers: [{volumeMounts: [{name: a, mountPath: /a}]}]`, `volumeMounts: there is no volume "a"`},
		{`containers: [{volumeMounts: [{name: a, mountPath: /k8s-cli}]}]`, `spec.containers[0].volumeMounts[0].mountPath: "/k8s-cli" is where the launcher keeps its own files`},
		{`nodeSelector: {a: b c}`, `spec.nodeSelector.a: "b c" has to be at most 63 letters`},
		{`tolerations: [{value: a}]`, "spec.tolerations[0]: without a key the operator has to be Exists"},
		{`tolerations: [{key: a, operator: Exists, value: b}]`, "spec.tolerations[0]: a value goes with the operator Equal only"},
		{`tolerations: [{key: a, effect: NoSchedule, tolerationSeconds: 1}]`, "spec.tolerations[0]: tolerationSeconds goes with the effect NoExecute only"},
		{`affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: []}}}`, "requiredDuringSchedulingIgnoredDuringExecution: has to have nodeSelectorTerms"},
		{`affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{labelSelector: {}}]}}`, "requiredDuringSchedulingIgnoredDuringExecution[0]: has to have topologyKey"},
		{`topologySpreadConstraints: [{topologyKey: zone}]`, "spec.topologySpreadConstraints[0]: has to have whenUnsatisfiable"},
		{`topologySpreadConstraints: [{topologyKey: zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {}}]`, "spec.topologySpreadConstraints[0].labelSelector: may not be set here, only maxSkew, topologyKey, whenUnsatisfiable"},
		{`imagePullSecrets: [{name: A}]`, `spec.imagePullSecrets[0].name: "A" is not the name of an object of Kubernetes`},
	} {
		_, _, err := Parse(inPod(tt.spec))
		if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.HasPrefix(err.Error(), podConfigPath) || !strings.HasSuffix(err.Error(), "(line 2)") {
			t.Errorf("%s:\n got %v\nwant %s", tt.spec, err, tt.want)
		}
	}
	clash := "run: x\nvolumes: {/a/: data}\nconfig: {kubernetes: {pod_config: {spec: {volumes: [{name: a, emptyDir: {}}], containers: [{volumeMounts: [{name: a, mountPath: /a}]}]}}}}\n"
	if _, _, err := Parse([]byte(clash)); err == nil || !strings.Contains(err.Error(), "as volumes does (line 3)") {
		t.Errorf("a mount of both: %v", err)
	}
}
