package objects

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"k8s-cli/pkg/task"
)

// environment returns the variables of one node: the variables of the task and the variables
// of the server, which take precedence. The variables of SkyPilot have the same meaning here
// (docs/source/running-jobs/environment-variables.rst). SkyPilot has variables for setup and
// variables for run; here both scripts get all of them.
func environment(r *task.Record, rank int) []corev1.EnvVar {
	t := r.Submit.Task
	own := task.Variables()
	if r.Submit.JobGroup != nil {
		own = append(own, task.JobGroupVariable)
	}
	var env []corev1.EnvVar
	_, given := t.Envs[unbufferedEnv]
	if _, secretData := t.Secrets[unbufferedEnv]; !given && !secretData {
		env = append(env, corev1.EnvVar{Name: unbufferedEnv, Value: "1"})
	}
	for _, name := range slices.Sorted(maps.Keys(t.Envs)) {
		if _, secretData := t.Secrets[name]; !secretData && !slices.Contains(own, name) {
			env = append(env, corev1.EnvVar{Name: name, Value: escapeDollar(t.Envs[name])})
		}
	}
	hidden, _ := t.Buckets.Variables() // only for the containers that move data
	isHidden := func(name string) bool {
		_, secretData := t.Secrets[name]
		return secretData && slices.Contains(hidden, name)
	}
	for _, name := range slices.Sorted(maps.Keys(t.Secrets)) {
		if !slices.Contains(own, name) && !isHidden(name) {
			env = append(env, corev1.EnvVar{Name: name, ValueFrom: secretValue(r, name)})
		}
	}
	if set := slices.Sorted(maps.Keys(mergeMaps(t.Envs, t.Secrets))); len(set) > 0 {
		set = slices.DeleteFunc(set, func(name string) bool { return slices.Contains(own, name) || isHidden(name) })
		env = append(env, corev1.EnvVar{Name: variablesEnv, Value: strings.Join(set, " ")})
	}
	values := entrypointEnv(r, rank)
	for _, name := range own {
		v := corev1.EnvVar{Name: name, Value: escapeDollar(values[name])}
		if strings.HasSuffix(name, "_NODE_IPS") {
			if r.NumNodes() > 1 {
				continue // the entrypoint sets them once all nodes have an address
			}
			v = corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{
				FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "status.podIP"},
			}}
		}
		env = append(env, v)
	}
	return env
}

// secretValue returns the source of a value in the Secret of a task.
func secretValue(r *task.Record, key string) *corev1.EnvVarSource {
	return &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
		LocalObjectReference: corev1.LocalObjectReference{Name: serviceName(r)}, Key: key,
	}}
}

// unbufferedEnv makes Python write each line when it is printed, as SkyPilot does.
const unbufferedEnv = "PYTHONUNBUFFERED"

// entrypointEnv returns the values of the variables of the server, except for the addresses.
func entrypointEnv(r *task.Record, rank int) map[string]string {
	_, count, _ := r.Submit.Resources().GPUs()
	node, nodes, gpus := strconv.Itoa(rank), strconv.Itoa(r.NumNodes()), strconv.Itoa(count)
	values := map[string]string{
		"NODE_RANK":                        node,
		"NUM_NODES":                        nodes,
		"SKYPILOT_NODE_RANK":               node,
		"SKYPILOT_NUM_NODES":               nodes,
		"SKYPILOT_NUM_GPUS_PER_NODE":       gpus,
		"SKYPILOT_SETUP_NODE_RANK":         node,
		"SKYPILOT_SETUP_NUM_GPUS_PER_NODE": gpus,
		"SKYPILOT_TASK_ID":                 taskID(r),
		"SKYPILOT_CLUSTER_INFO":            clusterInfo(r),
		"SKYPILOT_USER":                    r.Submit.User,
	}
	if g := r.Submit.JobGroup; g != nil {
		values[task.JobGroupVariable] = g.Name
	}
	return values
}

// taskID returns an id in SkyPilot's form, which is the same on all nodes and after a restart.
func taskID(r *task.Record) string {
	at := strings.ReplaceAll(r.CreatedAt.UTC().Format("2006-01-02-15-04-05.000000"), ".", "-")
	return "sky-managed-" + at + "_" + r.Name() + "_" + r.Submit.ID + "-0"
}

func clusterInfo(r *task.Record) string {
	raw, _ := json.Marshal(struct {
		Name   string  `json:"cluster_name"`
		Cloud  string  `json:"cloud"`
		Region *string `json:"region"`
		Zone   *string `json:"zone"`
	}{Name: task.JobName(r.Submit.Task.Name, r.Submit.ID, 0, 1), Cloud: "Kubernetes"}) // strings cannot fail
	return string(raw)
}
