package taskfile

import "k8s-cli/pkg/task"

// The fields of SkyPilot's task files with their verdicts. Whoever makes one
// work moves it to honoured and gives it a reader that stores it.

const alternatives = "several alternatives are not supported; write one set of resources"

func taskFields(t *task.Task, resources schema) schema {
	return schema{
		"name":      honoured(text(&t.Name)),
		"num_nodes": honoured(whole(&t.NumNodes, 1, 1_000_000)),
		"workdir":   honoured(workdir(&t.Workdir)),
		"resources": honoured(mappingOf(resources)),
		"envs":      honoured(envs(&t.Envs)),
		"volumes":   honoured(volumes(&t.Volumes)),
		"setup":     honoured(text(&t.Setup)),
		"run":       honoured(text(&t.Run)),

		"file_mounts":         ignored(fileMounts(&t.FileMounts), "not uploaded; put the files into the image or on a volume"),
		"inputs":              ignored(mappingOfAny, "not used; there is no choice of clouds to estimate for"),
		"outputs":             ignored(mappingOfAny, "not used; there is no choice of clouds to estimate for"),
		"event_callback":      ignored(text(new(string)), "not called"),
		"api_server_access":   ignored(truthOf(new(bool)), "not honoured; the container gets no credentials of the API server"),
		"file_mounts_mapping": ignored(anything, "not used; SkyPilot writes it for itself"),
		"_metadata":           ignored(anything, "not used; SkyPilot writes it for itself"),

		"secrets":         refused("not supported; a value under envs works, but everyone who may read Jobs can see it"),
		"managed_secrets": refused("not supported; a value under envs works, but everyone who may read Jobs can see it"),
		"config":          refused("SkyPilot's configuration cannot be overridden here, and the task might not run as meant without it"),
		"experimental":    refused("SkyPilot's configuration cannot be overridden here, and the task might not run as meant without it"),
		"service":         refused("services are not supported; a task runs until its commands end"),
		"pool":            refused("pools are not supported; a task gets containers of its own"),
		"volume_mounts":   refused("SkyPilot writes it for itself; name volumes under volumes"),
	}
}

func resourceFields(r *task.Resources) schema {
	return schema{
		"cpus":         honoured(text(&r.CPUs)),
		"memory":       honoured(text(&r.Memory)),
		"accelerators": honoured(accelerators(&r.Accelerators)),
		"gpus":         honoured(accelerators(&r.Accelerators)),
		"image_id":     honoured(image(&r.ImageID)),
		"infra":        honoured(infra),
		"cloud":        honoured(infra),
		"job_recovery": honoured(jobRecovery),

		"region":            ignored(text(new(string)), "not used; tasks run on the server's cluster"),
		"zone":              ignored(text(new(string)), "not used; the cluster chooses the nodes"),
		"instance_type":     ignored(text(&r.InstanceType), "not used; the cluster chooses the nodes, write cpus and memory"),
		"use_spot":          ignored(truthOf(&r.UseSpot), "not used; the cluster chooses the nodes"),
		"disk_size":         ignored(gigabytes(&r.DiskSize), "not used; put large data on a volume"),
		"disk_tier":         ignored(text(new(string)), "not used; the storage class of a volume says how fast it is"),
		"local_disk":        ignored(text(new(string)), "not used; the cluster chooses the nodes"),
		"ephemeral_storage": ignored(gigabytes(new(int)), "not used; put large data on a volume"),
		"network_tier":      ignored(text(new(string)), "not used; the cluster's network is as it is"),
		"ports":             ignored(ports(&r.Ports), "not opened; kubectl port-forward reaches the pod"),
		"labels":            ignored(textsOf(new(map[string]string)), "not put on the pods"),
		"autostop":          ignored(autostop, "not used; a task ends when its commands end"),
		"max_hourly_cost":   ignored(text(new(string)), "not used; there are no prices here"),
		"priority":          ignored(whole(new(int), -1000, 1000), "not used; tasks start in the order in which they came"),
		"priority_class":    ignored(text(new(string)), "not used; tasks start in the order in which they came"),
		"accelerator_args":  ignored(mappingOfAny, "not used; they are for TPUs"),

		"_no_missing_accel_warnings": ignored(anything, "not used; SkyPilot writes it for itself"),
		"_is_image_managed":          ignored(anything, "not used; SkyPilot writes it for itself"),
		"_requires_fuse":             ignored(anything, "not used; SkyPilot writes it for itself"),

		"any_of":                    refused(alternatives),
		"ordered":                   refused(alternatives),
		"volumes":                   refused("disks are not attached; name volumes under the task's volumes"),
		"hooks":                     refused("hooks are not run"),
		"_docker_login_config":      refused("logging in to registries is not supported; the cluster's pull secrets apply"),
		"_cluster_config_overrides": refused("SkyPilot's configuration cannot be overridden here, and the task might not run as meant without it"),
	}
}

// volumeFields are those of a volume's creation, and SkyPilot's volume files.
func volumeFields(v *task.Volume) schema {
	return schema{
		"name":          honoured(text(&v.Name)),
		"size":          honoured(text(&v.Size)),
		"storage_class": honoured(optionalText(&v.StorageClass)),
		"access_modes":  honoured(textList(&v.AccessModes)),

		"type":         refused("not a field here; every volume is a claim of Kubernetes"),
		"infra":        refused("not a field here; volumes are on the server's cluster"),
		"labels":       refused("not a field here; volumes carry the launcher's labels"),
		"use_existing": refused("not a field here; a task may name an existing claim under its volumes"),
		"config":       refused("not a field here; write storage_class and access_modes"),
	}
}
