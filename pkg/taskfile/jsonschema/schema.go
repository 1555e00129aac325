// Package jsonschema describes task files as JSON Schema. Editors and the OpenAPI description
// use the schema. The names of the fields and their descriptions are from the tables of
// package taskfile, which read the tasks; this package adds the types. A schema accepts what
// the parser accepts, with one exception: fields that hold text take any scalar in a task
// file, and only strings in the schema.
package jsonschema

import (
	"maps"
	"slices"
	"strings"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/bucket"
	"k8s-cli/pkg/taskfile"
)

// A Schema is a JSON Schema of draft 2020-12, in the form of its JSON.
type Schema = map[string]any

// Task returns the schema of a task file, for editors.
func Task(url string) Schema {
	s := build("#/$defs/")
	root := s["Task"].(Schema)
	delete(s, "Task")
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["$id"] = url
	root["title"] = "Task of k8s-cli"
	root["$defs"] = s
	// A component of OpenAPI has no such condition, because it splits the types of clients.
	root["anyOf"] = []any{Schema{"required": []string{"run"}}, Schema{"required": []string{"setup"}}}
	return root
}

// Components returns the schemas of a task by name, for the components of OpenAPI.
func Components() map[string]any { return build("#/components/schemas/") }

// sections maps the paths whose schemas have names to the names.
var sections = map[string]string{
	"": "Task", "resources": "TaskResources", "config": "TaskConfig", "config.kubernetes": "TaskKubernetes",
	"config.kubernetes.custom_metadata": "TaskMetadata", "config.kubernetes.kueue": "TaskKueue",
}

// build returns all named schemas. base is the beginning of references.
func build(base string) map[string]any {
	forms := formsOf(base)
	named := map[string]any{"JobRecovery": jobRecovery(), "VolumeMount": volumeMount(), "NodeVolume": nodeVolume(), "PodConfig": podConfig()}
	properties := map[string]Schema{}
	for path, name := range sections {
		properties[path] = Schema{}
		named[name] = Schema{"type": "object", "additionalProperties": false, "properties": properties[path]}
	}
	for _, f := range taskfile.Fields() {
		if f.Severity == taskfile.Refused {
			continue
		}
		parent, name := split(f.Path)
		properties[parent][name] = describe(f, forms[f.Path], base)
	}
	named["Task"].(Schema)["description"] = "A task in SkyPilot's format. setup or run is required."
	named["Task"].(Schema)["examples"] = []any{Schema{"name": "hello", "resources": Schema{"cpus": 1, "memory": "1Gi"}, "run": "echo hello"}}
	return named
}

// describe returns the schema of one field: its form, with the text of the tables.
func describe(f taskfile.FieldInfo, form Schema, base string) Schema {
	if name, ok := sections[f.Path]; ok {
		return nullable(reference(base, name))
	}
	s := maps.Clone(form)
	if s == nil {
		s = Schema{}
	}
	text := strings.ToUpper(f.Text[:min(1, len(f.Text))]) + f.Text[min(1, len(f.Text)):]
	if f.Forms != "" {
		text = strings.TrimPrefix(text+". Forms: "+f.Forms, ". ")
	}
	if text != "" {
		s["description"] = text + "."
	}
	if f.Severity == taskfile.Warning {
		s["deprecated"] = true
		s["deprecationMessage"] = f.Path + ": " + f.Text // yaml-language-server shows this text as a warning
	}
	return s
}

func split(path string) (parent, name string) {
	i := strings.LastIndexByte(path, '.')
	return path[:max(i, 0)], path[i+1:]
}

func reference(base, name string) Schema { return Schema{"$ref": base + name} }

// nullable allows null, which means that the field is absent.
func nullable(s Schema) Schema { return Schema{"anyOf": []any{s, Schema{"type": "null"}}} }

// types allows values of these types and null. Several types become anyOf, because generators
// of clients do not support other lists of types.
func types(names ...string) Schema {
	if len(names) == 1 {
		return Schema{"type": []any{names[0], "null"}}
	}
	var all []any
	for _, name := range append(names, "null") {
		s := Schema{"type": name}
		if name == "array" {
			s["items"] = Schema{"anyOf": []any{Schema{"type": "string"}, Schema{"type": "integer"}}}
		}
		all = append(all, s)
	}
	return Schema{"anyOf": all}
}

func with(s Schema, key string, value any) Schema {
	s[key] = value
	return s
}

func examples(s Schema, values ...any) Schema { return with(s, "examples", values) }

func texts() Schema { return with(types("object"), "additionalProperties", types("string")) }

func scalars() Schema {
	return with(types("object"), "additionalProperties", types("string", "number", "boolean"))
}

func mapping() Schema { return with(types("object"), "additionalProperties", true) }

func integer(low, high int) Schema {
	return Schema{"anyOf": []any{Schema{"type": "integer", "minimum": low, "maximum": high}, Schema{"type": "string"}, Schema{"type": "null"}}}
}

func listOf(s Schema) Schema { return with(types("array"), "items", s) }

func oneOf(values ...string) Schema { return with(types("string"), "enum", anyOf(values)) }

func anyOf(values []string) []any {
	all := make([]any, 0, len(values)+1)
	for _, v := range values {
		all = append(all, v)
	}
	return append(all, nil)
}

func object(properties Schema, required ...string) Schema {
	s := Schema{"type": "object", "additionalProperties": false, "properties": properties}
	if len(required) > 0 {
		s["required"] = required
	}
	return s
}

// mounts is a mapping of paths in the containers to values.
func mounts(value Schema) Schema { return with(types("object"), "additionalProperties", value) }

// formsOf returns the types of all fields by path.
func formsOf(base string) map[string]Schema {
	accelerators := func() Schema {
		return examples(types("string", "integer", "number", "array", "object"), "H100:8", Schema{"H100": 8}, 2)
	}
	recovery := func() Schema {
		return Schema{"anyOf": []any{Schema{"type": "string"}, reference(base, "JobRecovery"), Schema{"type": "null"}}}
	}
	forms := map[string]Schema{
		"name": examples(types("string"), "train"), "num_nodes": examples(integer(1, task.MaxNodes), 2),
		"workdir": types("string", "object"), "git": object(Schema{"url": types("string"), "ref": types("string")}),
		"envs": examples(scalars(), Schema{"EPOCHS": 3}), "secrets": examples(scalars(), Schema{"HF_TOKEN": "hf_..."}),
		"volumes":     examples(mounts(Schema{"anyOf": []any{Schema{"type": "string"}, reference(base, "VolumeMount")}}), Schema{"/data": "datasets"}),
		"file_mounts": examples(mounts(types("string", "object")), Schema{"/config.yaml": "./config.yaml"}),
		"buckets":     mounts(object(Schema{"url": examples(types("string"), "s3://bucket/prefix"), "mode": oneOf(bucket.Modes...), "create": types("boolean")}, "url")),
		"uploads":     texts(), "sub_paths": texts(), "ephemeral_volumes": mounts(reference(base, "NodeVolume")),
		"max_duration": examples(types("string"), "2h"), "event_callback": examples(types("string"), "https://hooks.example.com/k8s-cli"),
		"outputs": examples(Schema{"anyOf": []any{Schema{"type": "array", "items": types("string")}, mapping()}}, []string{"results"}),
		"setup":   examples(types("string"), "pip install -r requirements.txt"), "run": examples(types("string"), "python train.py"),
		"inputs": mapping(), "api_server_access": types("boolean", "string", "integer"),

		"cpus": examples(types("string", "number"), "4+", 0.5), "memory": examples(types("string", "number"), "16", "512Mi"),
		"accelerators": accelerators(), "gpus": accelerators(),
		"image_id":          examples(types("string", "object"), "python:3.13-slim"),
		"ephemeral_storage": examples(types("string", "number"), "50GB"),
		"labels":            examples(scalars(), Schema{"team": "vision"}), "priority_class": types("string"),
		"job_recovery": recovery(), "spot_recovery": recovery(),
		"infra": examples(types("string"), "kubernetes"), "cloud": types("string"),
		"any_of": listOf(reference(base, "TaskResources")), "ordered": listOf(reference(base, "TaskResources")),
		"disk_size": types("string", "number"), "max_hourly_cost": types("string", "number"), "use_spot": types("boolean", "string", "integer"),
		"priority": integer(-1000, 1000), "accelerator_args": mapping(),
		"ports": types("string", "integer", "array"), "autostop": types("boolean", "integer", "string", "object"),

		"docker": mapping(), "nvidia_gpus": mapping(), "aws": mapping(), "azure": mapping(), "gcp": mapping(), "slurm": mapping(), "vast": mapping(), "ssh": mapping(), "dws": mapping(),
		"pod_config": nullable(reference(base, "PodConfig")), "set_pod_resource_limits": types("boolean", "number", "string"),
		"annotations": scalars(), "local_queue_name": types("string"), "provision_timeout": types("string", "number"),
	}
	all := map[string]Schema{}
	for _, f := range taskfile.Fields() {
		_, name := split(f.Path)
		form, known := forms[name]
		switch {
		case known:
			all[f.Path] = form
		case !strings.HasPrefix(name, "_") && slices.Contains([]string{"region", "zone", "instance_type", "disk_tier", "local_disk", "network_tier", "active_workspace", "remote_identity"}, name):
			all[f.Path] = types("string")
		}
	}
	return all
}

func jobRecovery() Schema {
	return object(Schema{
		"strategy":               examples(types("string"), "EAGER_NEXT_REGION", "FAILOVER", "none"),
		"max_restarts_on_errors": integer(0, task.MaxRestarts),
		"recover_on_exit_codes":  examples(types("array", "integer", "string"), []int{33}),
	})
}

// volumeMount describes a volume under a path in volumes: a volume by name, or, with a
// size, a new volume for each node.
func volumeMount() Schema {
	return object(Schema{
		"name":     with(types("string"), "description", "Name of your volume, or of a claim."),
		"sub_path": with(types("string"), "description", "Directory of the volume."),
		"size":     with(examples(types("string", "number"), "100Gi"), "description", "Size of a new volume for each node, in GiB without a unit."),
		"labels":   scalars(), "type": types("string"),
		"config": with(types("object"), "properties", Schema{"storage_class_name": types("string"), "access_mode": oneOf(task.AccessModes...)}),
	})
}

// nodeVolume describes a volume of ephemeral_volumes.
func nodeVolume() Schema {
	return object(Schema{
		"size": examples(types("string"), "100Gi"), "labels": scalars(),
		"storage_class": types("string"), "access_mode": oneOf(append(slices.Clone(task.AccessModes), "")...),
	}, "size")
}

// podConfig describes the parts of a pod that a task may set.
func podConfig() Schema {
	list := func() Schema { return listOf(mapping()) }
	number := func() Schema { return types("integer", "string") }
	container := object(Schema{
		"name": types("string"), "env": list(), "imagePullPolicy": oneOf("Always", "IfNotPresent", "Never"),
		"resources": mapping(), "securityContext": mapping(), "volumeMounts": list(),
	})
	spec := object(Schema{
		"affinity": mapping(), "activeDeadlineSeconds": number(), "containers": with(listOf(container), "maxItems", 1), "imagePullSecrets": list(),
		"nodeSelector": scalars(), "priorityClassName": types("string"), "runtimeClassName": types("string"), "schedulerName": types("string"),
		"securityContext": mapping(), "terminationGracePeriodSeconds": number(), "tolerations": list(), "topologySpreadConstraints": list(), "volumes": list(),
		"hostUsers": oneFalse(), "automountServiceAccountToken": oneFalse(), "restartPolicy": oneOf("Never"),
	})
	s := object(Schema{"metadata": object(Schema{"labels": scalars(), "annotations": scalars()}), "spec": spec})
	return with(s, "description", "The parts of a Kubernetes pod that a task may set. The server checks the parts in detail.")
}

func oneFalse() Schema { return Schema{"enum": []any{false, "false", nil}} }
