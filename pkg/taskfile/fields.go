package taskfile

import "k8s-cli/pkg/task"

// The fields of SkyPilot's task files and how the server treats them. To implement a field,
// make it honoured and give it a reader that stores the value. A test keeps the tables in
// docs/taskfile.md equal to these tables.

const (
	forItself = "not used; internal to SkyPilot"
	noSecrets = "managed secrets are not supported; write the values under secrets, or pass --secret NAME=VALUE"
	// as sky launch, which prints a notice
	notLaunched = "ignored, because the file is launched as a task, which runs once; services and pools are not supported"
	noOverride  = "overrides of SkyPilot's configuration are not supported, and the task may depend on them"
)

// taskTables returns the tables of a task, the root table first.
func taskTables() []table {
	t := new(task.Spec)
	k := &t.Config.Kubernetes
	return []table{
		{"", taskFields(t)},
		{"resources.", resourceFields(new(plain))},
		{"config.", configFields(k)},
		{"config.kubernetes.", kubernetesFields(k)},
	}
}

func taskFields(t *task.Spec) schema {
	return schema{
		"name":              honoured(text(&t.Name), "the prefix of the Job names, and a label; the server converts the name to a valid Kubernetes name", "letters and digits, joined by `.` `_` `-`"),
		"num_nodes":         honoured(integer(&t.NumNodes, 1, task.MaxNodes), "the number of Jobs, which start together; the first failure ends all nodes", "a whole number"),
		"workdir":           honoured(workdir(&t.Workdir, &t.Git), "a directory that the CLI uploads to `~/sky_workdir`, or a directory of the image; both scripts start there", "`directory`, `{url, ref}` of a git repository"),
		"resources":         group(resources(&t.Resources)),
		"envs":              honoured(envs(&t.Envs), "environment variables, byte for byte", "a mapping of names to any scalars; null requires `--env NAME=VALUE`"),
		"secrets":           honoured(secrets(&t.Secrets), "environment variables from a Kubernetes Secret, which override envs; the server stores the values encrypted", "a mapping of names to any scalars; null requires `--secret NAME=VALUE`"),
		"volumes":           honoured(volumes(t), "mounts of your volume of this name, or else of the Kubernetes claim of this name; with a size, of a new empty volume for each node", "`path: name`, `path: {name, sub_path}`, `path: {size, labels, config: {storage_class_name, access_mode}}`"),
		"file_mounts":       honoured(fileMounts(&t.FileMounts), "files and directories that the CLI uploads to these paths, and buckets, which each node copies to these paths", "`path: file or directory`, `path: s3://BUCKET/PREFIX`, `path: {source, name, store, mode}`"),
		"buckets":           honoured(buckets(&t.Buckets), "the same as buckets in file_mounts", "`path: {url, mode, create}`; usually written by programs"),
		"git":               honoured(git(&t.Git), "the same as the url and ref of workdir", "`{url, ref}`; usually written by programs"),
		"uploads":           honoured(textsOf(&t.Uploads), "uploaded archives, which the containers unpack at these paths", "`path: SHA-256`; usually written by programs"),
		"sub_paths":         honoured(textsOf(&t.SubPaths), "the same as sub_path in volumes", "`path: directory`; usually written by programs"),
		"config":            group(mappingOf(configFields(&t.Config.Kubernetes))),
		"ephemeral_volumes": honoured(ephemerals(&t.Ephemeral), "the same as volumes with a size", "`path: {size, storage_class, access_mode, labels}`; usually written by programs"),
		"max_duration":      honoured(checked(text(&t.MaxDuration), func() error { _, err := t.TimeLimit(); return err }), "the longest time that the task runs, restarts included; then the task fails with `DeadlineExceeded`", "`90s`, `30m`, `2h`, `1h30m`, `1d`, `2w`; at most `365d`"),
		"event_callback":    honoured(eventCallback(&t.EventCallback), "an https URL to which the server sends the phase changes of the task; the server must allow the host; a shell command gets a warning and is not called", "`https://hooks.example.com/k8s-cli`"),
		"outputs":           honoured(outputs(&t.Outputs), "files and directories that the server stores when the scripts have ended; an extension of SkyPilot", "`[PATH, ...]`: `/path`, `~/path`, or a path below the directory where the scripts start; SkyPilot's mapping gets a warning"),
		"annotations":       honoured(checked(textsOf(&t.Annotations), t.CheckAnnotations), "your own metadata in the status, the events and the notifications of the task; lists filter by them; an extension of SkyPilot", "a mapping of keys to any text, at most 64 entries, and 4 KiB as JSON"),
		"setup":             honoured(text(&t.Setup), "a script, run by bash if the image has bash, otherwise by sh"),
		"run":               honoured(text(&t.Run), "a script that starts if setup succeeded", "setup or run is required"),

		"inputs":              ignored(mappingOfAny, "not used; the server runs on one cluster and needs no cost estimate"),
		"api_server_access":   ignored(truthOf(new(bool)), "not used; the container gets no credentials for the API server"),
		"service":             ignored(anything, notLaunched),
		"pool":                ignored(anything, notLaunched),
		"file_mounts_mapping": ignored(anything, forItself),
		"_metadata":           ignored(anything, forItself),

		"managed_secrets": refused(noSecrets),
		"experimental":    refused(noOverride + "; use config"),
		"volume_mounts":   refused("internal to SkyPilot; name volumes under volumes"),
	}
}

func resourceFields(p *plain) schema {
	r, c := &p.resources, &p.choice
	return schema{
		"cpus":              honoured(checked(text(&r.CPUs), func() error { _, err := r.CPU(); return err }), "the container's CPU request and limit", "`4`, `4+`, `0.5`, `500m`"),
		"memory":            honoured(checked(text(&r.Memory), func() error { _, err := r.RAM(); return err }), "the container's memory request and limit", "`16` (GiB), `16+`, `512Mi`, `64GB`"),
		"accelerators":      honoured(accelerators(c), "a limit of nvidia.com/gpu, amd.com/gpu or google.com/tpu, and affinity to machines with the model", "`H100`, `H100:8`, `{H100: 8}`, `2`; fractions are rounded up; a set or a list gives alternatives"),
		"gpus":              honoured(accelerators(c), "the same as accelerators"),
		"image_id":          honoured(image(&r.ImageID), "the container's image", "`IMAGE`, `docker:IMAGE`, `{docker: IMAGE}`, `{REGION: IMAGE}` if all images are the same"),
		"ephemeral_storage": honoured(gigabytes(&r.EphemeralStorage), "the container's request for disk space of the node", "`50` (GB), `50GB`"),
		"labels":            honoured(labels(&r.Labels), "labels of the Jobs and pods", "the server must allow keys with a domain"),
		"priority_class":    honoured(text(&r.PriorityClass), "the PriorityClass of the pods; it must exist in the cluster, and the server must allow it"),
		"job_recovery":      honoured(jobRecovery(&r.JobRecovery), "when Kubernetes replaces a failed pod: after an eviction (strategy), errors (backoffLimit of the Job) and exit codes (podFailurePolicy)", "`none`, `FAILOVER`, `EAGER_NEXT_REGION`, `{strategy, max_restarts_on_errors, recover_on_exit_codes}`"),
		"spot_recovery":     honoured(spotRecovery(&r.JobRecovery), "deprecated; the old name of job_recovery"),
		"use_spot":          honoured(truthOf(&r.UseSpot), "affinity to spot machines, and tolerations; without spot machines, any machine and a warning"),
		"infra":             honoured(infra, "all tasks run on the cluster of the server", "`kubernetes`, `k8s`; other values get a warning"),
		"cloud":             honoured(infra, "the same as infra"),
		"any_of":            group(lists, "alternative resources: the server uses the first alternative that fits an empty machine, or else the first one", "a list of resources; fields outside of the list apply to every alternative"),
		"ordered":           group(lists, "the same as any_of", "the same"),

		"region":           ignored(someText, "not used; tasks run on the server's cluster"),
		"zone":             ignored(someText, "not used; the scheduler chooses the nodes"),
		"instance_type":    ignored(text(&r.InstanceType), "not used; the scheduler chooses the nodes; request cpus and memory instead"),
		"disk_size":        ignored(gigabytes(&r.DiskSize), "not used; put large data on a volume"),
		"disk_tier":        ignored(someText, "not used; the storage class of a volume determines its performance"),
		"local_disk":       ignored(someText, "not used; the scheduler chooses the nodes"),
		"network_tier":     ignored(someText, "not used; tasks use the cluster's network"),
		"ports":            honoured(ports(&r.Ports), "ports of the container and, for several nodes, of the headless Service, except ranges; `jobs port-forward` forwards them; nothing is opened outside of the cluster", "`8080`, `[8080, 6006]`, `10052-10100`"),
		"autostop":         ignored(autostop, "not used; a task ends when its scripts end"),
		"max_hourly_cost":  ignored(someText, "not used; the server does not know prices"),
		"priority":         honoured(integer(&r.Priority, -1000, 1000), "the order of your own waiting tasks; for pods in the cluster, use priority_class"),
		"accelerator_args": ignored(mappingOfAny, "not used; they are for TPU VMs"),

		"_no_missing_accel_warnings": ignored(anything, forItself),
		"_is_image_managed":          ignored(anything, forItself),
		"_requires_fuse":             ignored(anything, forItself),

		"volumes":                   refused("disks are not supported; name volumes under the task's volumes"),
		"hooks":                     refused("hooks are not supported"),
		"_docker_login_config":      refused("registry logins are not supported; name a pull secret in config.kubernetes.pod_config"),
		"_cluster_config_overrides": refused(noOverride),
	}
}

// configFields returns the settings of SkyPilot that a task may override.
func configFields(k *task.Kubernetes) schema {
	const elsewhere = "not used; tasks run on the server's cluster"
	return schema{
		"kubernetes": group(mappingOf(kubernetesFields(k))),

		"docker":           ignored(mappingOfAny, "not used; Kubernetes starts the container, not docker"),
		"nvidia_gpus":      ignored(mappingOfAny, "not used; the cluster configures its GPUs"),
		"active_workspace": ignored(someText, "not used; workspaces are not supported"),
		"aws":              ignored(mappingOfAny, elsewhere),
		"azure":            ignored(mappingOfAny, elsewhere),
		"gcp":              ignored(mappingOfAny, elsewhere),
		"slurm":            ignored(mappingOfAny, elsewhere),
		"ssh":              ignored(mappingOfAny, elsewhere),
		"vast":             ignored(mappingOfAny, elsewhere),

		"hooks": refused("hooks are not supported"),
	}
}

func kubernetesFields(k *task.Kubernetes) schema {
	return schema{
		"pod_config":              honoured(podConfig(&k.PodConfig), "merged into the pods", "the parts of a pod described below"),
		"custom_metadata":         group(mappingOf(customMetadataFields(&k.CustomMetadata))),
		"kueue":                   group(mappingOf(kueueFields(&k.Kueue))),
		"set_pod_resource_limits": honoured(resourceLimits, "no effect: limits always equal requests", "`true`; other values get a warning"),

		"provision_timeout": ignored(someText, "not used; a task waits until its pods can start, and its status says why"),
		"remote_identity":   ignored(someText, "not used; the container gets no credentials for the cluster"),
		"dws":               ignored(mappingOfAny, "not used; the scheduler decides when pods start"),
		"quota":             ignored(anything, "not used; the cluster's own quotas apply"),

		"enable_docker": refused("docker in a task is not supported; it needs a privileged container"),
	}
}

func customMetadataFields(m *task.CustomMetadata) schema {
	return schema{
		"labels":      honoured(labels(&m.Labels), "labels of the Jobs and pods", "the server must allow keys with a domain"),
		"annotations": honoured(annotations(&m.Annotations), "annotations of the Jobs and pods", "the server must allow keys with a domain"),
	}
}

func kueueFields(q *task.Kueue) schema {
	return schema{
		"local_queue_name": honoured(checked(text(&q.LocalQueue), func() error { return task.CheckLabelValue(q.LocalQueue) }), "the Kueue LocalQueue that admits the Jobs (label kueue.x-k8s.io/queue-name)"),
	}
}

// volumeFields returns the fields of a volume, and the fields of SkyPilot's volume files.
func volumeFields(v *task.Volume) schema {
	return schema{
		"name":          honoured(text(&v.Name), "the claim's name, with the id"),
		"size":          honoured(text(&v.Size), "the requested size of the claim"),
		"storage_class": honoured(optionalText(&v.StorageClass), "the claim's storage class"),
		"access_modes":  honoured(textList(&v.AccessModes), "the claim's access modes"),

		"type":         refused("not supported; every volume is a PersistentVolumeClaim"),
		"infra":        refused("not supported; volumes are on the server's cluster"),
		"labels":       refused("not supported; a volume has only the labels of k8s-cli"),
		"use_existing": refused("not supported; name an existing claim under the task's volumes"),
		"config":       refused("not supported; write storage_class and access_modes"),
	}
}
