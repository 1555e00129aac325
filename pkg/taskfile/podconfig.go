package taskfile

import (
	"encoding/json"
	"fmt"
	"math"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s-cli/pkg/task"
)

// The parts of a pod that a task may set in config.kubernetes.pod_config: placement, pull
// secrets, users, scratch space and devices. Nothing may let a container leave its
// isolation or access objects of others: no host namespaces, host paths or host ports, no
// privileges, no service account, no Secret as a volume or a variable, no claim by name, no
// additional containers. policy.Tasks decides what only some servers allow.

const podConfigPath = "config.kubernetes.pod_config"

func podConfig(to *json.RawMessage) reader {
	return func(d *decoder, n *node) error {
		d.mounts = map[string]bool{}
		v, err := podShape(d)(d, n)
		if err != nil || d.diagnostics.wrong() {
			return err
		}
		if len(v.(map[string]any)) == 0 {
			return nil
		}
		*to, err = task.Marshal(v)
		return err
	}
}

func podShape(d *decoder) shape {
	const host = "pods cannot use the namespaces of the host"
	spec := object(map[string]shape{
		"affinity":                      affinityShape(),
		"activeDeadlineSeconds":         number(1, math.MaxInt32),
		"containers":                    oneContainer(d),
		"imagePullSecrets":              listOf(object(map[string]shape{"name": words(objectName)}), "name"),
		"nodeSelector":                  textsBy(anyLabel),
		"priorityClassName":             words(task.CheckPriorityClass),
		"runtimeClassName":              words(objectName),
		"schedulerName":                 words(objectName),
		"securityContext":               podSecurityShape(),
		"terminationGracePeriodSeconds": number(0, 86400),
		"tolerations":                   listOf(tolerationShape(), ""),
		"topologySpreadConstraints":     listOf(spreadShape(), "topologyKey"),
		"volumes":                       listOf(scratchShape(), "name"),

		"hostNetwork":                  never(host),
		"hostPID":                      never(host),
		"hostIPC":                      never(host),
		"hostUsers":                    notTrue(host),
		"serviceAccountName":           never("pods get no credentials for the cluster"),
		"serviceAccount":               never("pods get no credentials for the cluster"),
		"automountServiceAccountToken": notTrue("pods get no credentials for the cluster"),
		"restartPolicy":                oneOf("Never"),
		"initContainers":               never("init containers are not supported; use setup"),
		"ephemeralContainers":          never("ephemeral containers are not supported"),
	})
	metadata := object(map[string]shape{
		"labels":      textsBy(task.CheckLabel),
		"annotations": textsBy(func(key, _ string) error { return task.CheckAnnotation(key) }),
	})
	return with(object(map[string]shape{"metadata": metadata, "spec": spec}), mountsHaveVolumes)
}

// oneContainer returns the shape of the list with the single container of a pod. The name
// of the container is ignored, because SkyPilot uses another name.
func oneContainer(d *decoder) shape {
	const elsewhere = "cannot be set here; use "
	container := object(map[string]shape{
		"name":            words(func(string) error { return nil }),
		"env":             listOf(object(map[string]shape{"name": words(freeVariable), "value": words(noNUL)}), "name"),
		"imagePullPolicy": oneOf("Always", "IfNotPresent", "Never"),
		"resources":       with(object(map[string]shape{"limits": textsBy(device), "requests": textsBy(device)}), sameDevices),
		"securityContext": containerSecurityShape(),
		"volumeMounts":    listOf(mountShape(d), "mountPath"),

		"args":          never(elsewhere + "run"),
		"command":       never(elsewhere + "run"),
		"image":         never(elsewhere + "resources.image_id"),
		"workingDir":    never(elsewhere + "workdir"),
		"envFrom":       never(elsewhere + "envs"),
		"volumeDevices": never("containers get no block devices"),
	})
	return func(d *decoder, n *node) (any, error) {
		v, err := listOf(container, "")(d, n)
		all, _ := v.([]any)
		if err == nil && len(n.items) != 1 {
			return nil, d.wrong("must have exactly one container, not %d", len(n.items))
		}
		for _, c := range all {
			delete(c.(map[string]any), "name")
		}
		return all, err
	}
}

func podSecurityShape() shape {
	return object(map[string]shape{
		"runAsUser":           number(0, math.MaxInt32),
		"runAsGroup":          number(0, math.MaxInt32),
		"runAsNonRoot":        boolean,
		"fsGroup":             number(0, math.MaxInt32),
		"fsGroupChangePolicy": oneOf("OnRootMismatch", "Always"),
		"supplementalGroups":  listOf(number(0, math.MaxInt32), ""),
		"seccompProfile":      object(map[string]shape{"type": oneOf("RuntimeDefault")}),
	})
}

func containerSecurityShape() shape {
	const no = "containers cannot get additional privileges"
	return object(map[string]shape{
		"runAsUser":                number(0, math.MaxInt32),
		"runAsGroup":               number(0, math.MaxInt32),
		"runAsNonRoot":             boolean,
		"readOnlyRootFilesystem":   boolean,
		"privileged":               notTrue(no),
		"allowPrivilegeEscalation": notTrue(no),
		"capabilities": object(map[string]shape{
			"drop": listOf(words(capability), ""),
			"add":  never(no),
		}),
	})
}

// scratchShape returns the shape of a volume with the lifetime of the pod.
func scratchShape() shape {
	const others = "only emptyDir is supported here; name volumes and claims under the task's volumes"
	fields := map[string]shape{
		"name": words(volumeName),
		"emptyDir": object(map[string]shape{
			"medium":    oneOf("", "Memory"),
			"sizeLimit": words(quantityOfBytes),
		}),
	}
	for _, other := range []string{"hostPath", "persistentVolumeClaim", "secret", "configMap", "projected", "nfs", "csi", "downwardAPI", "ephemeral", "image"} {
		fields[other] = never(others)
	}
	return with(object(fields), func(v map[string]any) error {
		if v["emptyDir"] == nil {
			return fmt.Errorf("%s", others)
		}
		return nil
	})
}

func mountShape(d *decoder) shape {
	return with(object(map[string]shape{
		"name":      words(volumeName),
		"mountPath": words(mountPath),
		"readOnly":  boolean,
	}), func(v map[string]any) error {
		dir, _ := v["mountPath"].(string)
		clean := path.Clean(dir)
		switch {
		case dir == "" || v["name"] == nil:
			return fmt.Errorf("must have a name and a mountPath")
		case d.mounts[clean]:
			return fmt.Errorf("duplicate mountPath %s", task.Quote(dir))
		}
		d.mounts[clean] = true
		v["mountPath"] = clean
		return nil
	})
}

// mountsHaveVolumes checks that the pod has all volumes that the container mounts.
func mountsHaveVolumes(pod map[string]any) error {
	spec, _ := pod["spec"].(map[string]any)
	names := map[any]bool{}
	volumes, _ := spec["volumes"].([]any)
	for _, v := range volumes {
		names[v.(map[string]any)["name"]] = true
	}
	containers, _ := spec["containers"].([]any)
	for _, c := range containers {
		mounts, _ := c.(map[string]any)["volumeMounts"].([]any)
		for _, m := range mounts {
			if name := m.(map[string]any)["name"]; !names[name] {
				return fmt.Errorf("volumeMounts: the pod has no volume %s; add it to volumes", task.Quote(fmt.Sprint(name)))
			}
		}
	}
	return nil
}

func anyLabel(key, value string) error {
	if err := task.CheckLabelKey(key); err != nil {
		return err
	}
	return task.CheckLabelValue(value)
}

func freeVariable(name string) error {
	t := task.Spec{Run: "true", Envs: map[string]string{name: ""}}
	if err := t.Validate(); err != nil {
		return fmt.Errorf("%s", strings.TrimPrefix(err.Error(), "envs: "))
	}
	if slices.Contains(task.Variables(), name) {
		return fmt.Errorf("variable %s is set by the launcher; choose another name", name)
	}
	return nil
}

func noNUL(s string) error {
	if strings.ContainsRune(s, 0) {
		return fmt.Errorf("contains a NUL character")
	}
	return nil
}

func mountPath(s string) error {
	t := task.Spec{Run: "true", Volumes: map[string]string{s: "any"}}
	if err := t.Validate(); err != nil {
		return fmt.Errorf("%s", strings.TrimPrefix(err.Error(), "volumes: "))
	}
	return nil
}

var capabilityForm = regexp.MustCompile(`^[A-Z][A-Z_]{0,62}$`)

func capability(s string) error {
	if !capabilityForm.MatchString(s) {
		return fmt.Errorf("%s is not a valid capability name", task.Quote(s))
	}
	return nil
}

// ephemeralStorage is the disk space of the machine, for which a task may also use
// resources.ephemeral_storage.
const ephemeralStorage = "ephemeral-storage"

var storageForm = regexp.MustCompile(`^[0-9]{1,15}(\.[0-9]{1,3})?([kMGTPE]|[KMGTPE]i)?$`)

// device checks a request for disk space or for an extended resource, which has the domain of its vendor.
func device(name, count string) error {
	domain, _, _ := strings.Cut(name, "/")
	switch {
	case name == ephemeralStorage && storageForm.MatchString(count):
		return nil
	case name == ephemeralStorage:
		return fmt.Errorf("%s is not a size, for example 50Gi", task.Quote(count))
	case name == "nvidia.com/gpu" || name == "amd.com/gpu":
		return fmt.Errorf("GPUs cannot be set here; use resources.accelerators")
	case !extendedForm.MatchString(name) || task.CheckLabelKey(name) != nil || strings.HasSuffix(domain, "kubernetes.io"):
		return fmt.Errorf("only devices such as rdma/ib can be set here; use resources.cpus and memory")
	}
	if n, ok := wholeNumber(count, 0, 1_000_000); !ok || strconv.Itoa(n) != count {
		return fmt.Errorf("%s is not a whole number of devices", task.Quote(count))
	}
	return nil
}

// sameDevices merges requests into limits. Kubernetes requires both to be equal for
// extended resources.
func sameDevices(v map[string]any) error {
	limits, _ := v["limits"].(map[string]any)
	requests, _ := v["requests"].(map[string]any)
	if limits == nil {
		limits = map[string]any{}
	}
	space, asked := requests[ephemeralStorage]
	delete(requests, ephemeralStorage)
	for name, count := range requests {
		if limits[name] != nil && limits[name] != count {
			return fmt.Errorf("limits and requests of %s differ; make them equal", name)
		}
		limits[name] = count
	}
	delete(v, "requests")
	if asked {
		v["requests"] = map[string]any{ephemeralStorage: space}
	}
	v["limits"] = limits
	return nil
}
