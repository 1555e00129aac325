package task

import "strings"

// hints maps a reason to one sentence that says what to do.
var hints = map[string]string{
	"InBacklog":            "Wait: users take turns; among your own tasks, resources.priority decides which starts first.",
	"MaxActiveJobs":        "Wait: the task starts when Jobs of other tasks are gone; the administrator can raise --max-active-jobs.",
	"MaxActiveJobsPerUser": "The task starts when Jobs of your other tasks are gone: wait, or stop tasks that you do not need.",
	"MaxUnschedulablePods": "Check why your other tasks find no machine, then stop them or request less; this task starts when fewer of their pods wait.",
	"TaskTooLarge":         "Use fewer nodes, or ask the administrator to raise the limit that the message names, then submit the task again.",
	"WaitsForTask":         "Wait, or check the tasks that the message names.",
	"MaxParallelTasks":     "Wait: the task starts when other tasks of its group end; for more at once, submit with a larger --max-parallel.",
	"GroupFailed":          "Check why the task that the message names failed, then submit the tasks again, without --fail-fast to let the others go on.",
	"WaitsForJobGroup":     "Wait: all tasks of a job group start together; the task that the message names says what it waits for.",
	"JobGroupFailed":       "Check why the task that the message names ended, then submit the job group again.",
	"DependencyFailed":     "Check why the task that the message names did not complete, then submit that task and this one again.",
	"VolumeNotFound":       "Create the volume with 'k8s-cli volumes create', or correct its name in the task and submit the task again.",
	"SiblingFailed":        "Check why the other node failed, and fix that.",
	"JobDeleted":           "Submit the task again if it should have continued; to end a task without a failure, use 'k8s-cli jobs stop'.",
	"InternalError":        "This is a fault of the server: report it to the administrator; the server log has details.",
	"VolumeNotBound":       "Check the volume with 'k8s-cli volumes status', or ask the administrator which storage classes work.",
	"VolumeGone":           "Create the volume again and submit the task again, or stop the task.",
	"VolumeDeleting":       "Stop the task, so that Kubernetes can delete the volume; then create the volume again.",
	"VolumeNotShareable":   "Create a volume with the access mode ReadWriteMany, give each node its own volume, or use one node.",
	"NodeNotReady":         "Kubernetes evicts the pod after some minutes; ask the administrator why the machine is not ready.",
	"BackOff":              "Wait: Kubernetes starts the node again, and waits longer after each failure; read the failed attempt with 'k8s-cli jobs logs --attempt'.",
	"NotScheduled":         "If this persists, no scheduler of that name runs: correct schedulerName and submit the task again, or ask the administrator.",
	"FailedBinding":        "Name a storage class when you create the volume, or ask the administrator to add a volume or a default storage class.",
	"ProvisioningFailed":   "Create a volume with a storage class of this cluster, and use that volume in the task.",
	"FailedMount":          "Kubernetes keeps trying: check that the volume exists, is not in use and is reachable, or ask the administrator.",
	"FailedAttachVolume":   "The volume may still be attached to another machine: stop what uses it there, or use a volume with the access mode ReadWriteMany.",
	"FetchingFiles":        "Wait: large files take a while.",
	"FilesNotFetched":      "Submit the task and its files again if the message names a fault in the files, or ask the administrator whether pods can reach the server.",
	"FetchingBuckets":      "Wait: large buckets take a while.",
	"BucketsNotFetched":    "Correct what the message names, for example the name of the bucket or the secrets with its credentials, and submit the task again.",
	"BucketsNotStored":     "Correct what the message names, and submit the task again; files that were not sent are lost with the pod.",
	"JobSuspended":         "The queue starts the task when it has capacity: ask the queue's administrator, or remove the task with 'k8s-cli jobs stop'.",
	"QuotaExceeded":        "Request less, stop tasks that you do not need, or ask the administrator to raise the quota; the server retries automatically.",
	"NamespaceTerminating": "The namespace is being deleted: ask the administrator.",
	"Terminating":          "Wait: the task continues once the former object is deleted.",
	"APIServerUnavailable": "Wait: the server retries until the API server answers.",
	"SecretsUnreadable":    "Ask the administrator to restore the secrets key that the server had when the task was submitted, or submit the task again.",
	"NameTaken":            "Submit the task again under another name.",
	"Invalid":              "Correct what the message names in the task file, and submit the task again.",
	"Forbidden":            "A policy of the cluster forbids this: change what the message names, or ask the administrator.",
	"FailedCreate":         "A policy of the cluster rejects the pod: change what the message names, or ask the administrator; Kubernetes retries automatically.",

	"Unschedulable":              "The task starts when capacity becomes free: wait, stop other tasks, or request less.",
	"SchedulingGated":            "A scheduling gate holds the pod back: ask the administrator to have the gate removed.",
	"InvalidImageName":           "Correct resources.image_id: it is not a valid image name.",
	"ErrImageNeverPull":          "The machine does not have the image and may not pull it: use another image, or ask the administrator.",
	"ContainerCreating":          "Wait: the first pull of a large image on a machine may take minutes.",
	"CreateContainerConfigError": "The container refers to an object that does not exist: submit the task again, or ask the administrator.",
	"CreateContainerError":       "The machine cannot create the container: correct workdir, mounts or image, or ask the administrator.",
	"RunContainerError":          "The machine cannot start the container: correct workdir, mounts or image, or ask the administrator.",
	"FailedCreatePodSandBox":     "The machine cannot set up the pod, usually because of its network: Kubernetes keeps trying; if this persists, ask the administrator.",

	"StartError":               "The image needs a shell, /bin/sh, for the architecture of the machine: use another image.",
	"ContainerCannotRun":       "The image needs a shell, /bin/sh, for the architecture of the machine: use another image.",
	"OOMKilled":                "Request more in resources.memory, or use less memory at a time.",
	"Evicted":                  "The machine ran short: request what the task needs (memory, resources.ephemeral_storage), or set resources.job_recovery for automatic restarts.",
	"PreemptionByScheduler":    "A pod of a higher priority class replaced the task's pod: submit the task again, give it a priority class, or set resources.job_recovery.",
	"DeletionByTaintManager":   "The machine was lost or drained: submit the task again, or set resources.job_recovery for automatic restarts.",
	"DeletionByPodGC":          "The machine is gone: submit the task again, or set resources.job_recovery for automatic restarts.",
	"EvictionByEvictionAPI":    "An administrator drained the machine: submit the task again, or set resources.job_recovery for automatic restarts.",
	"TerminationByKubelet":     "The machine ran short of resources or shut down: submit the task again, or set resources.job_recovery for automatic restarts.",
	"NodeLost":                 "The machine does not respond: submit the task again, or set resources.job_recovery for automatic restarts.",
	"DeadlineExceeded":         "Allow more time in max_duration (or activeDeadlineSeconds, if the task sets that), or make the task shorter.",
	"BackoffLimitExceeded":     "Read the log with 'k8s-cli jobs logs', and submit the task again.",
	"UnexpectedAdmissionError": "The machine had less capacity than the scheduler assumed: submit the task again, or set resources.job_recovery for automatic restarts.",
	"Preempting":               "A critical pod of the cluster replaced the task's pod: submit the task again, or set resources.job_recovery for automatic restarts.",
	"Terminated":               "The machine shut down: submit the task again, or set resources.job_recovery for automatic restarts.",
	"NodeShutdown":             "The machine is shutting down: submit the task again, or set resources.job_recovery for automatic restarts.",
}

// HintFor returns one sentence that says what to do about a reason, or "" if unknown. The message
// and the exit code distinguish cases of one reason; code may be nil.
func HintFor(reason, message string, code *int) string {
	switch reason {
	case "":
		return ""
	case "ErrImagePull", "ImagePullBackOff", "ImageInspectError", "RegistryUnavailable":
		return imageHint(message)
	case "Error":
		return exitCodeHint(message, code)
	case "FailedCreatePodSandBox":
		if strings.Contains(message, "no runtime for") {
			return "The machine does not have this container runtime: correct runtimeClassName in config.kubernetes.pod_config, or ask the administrator."
		}
	}
	if strings.HasPrefix(reason, "OutOf") { // OutOf is followed by the name of a resource
		reason = "UnexpectedAdmissionError"
	}
	return hints[reason]
}

// imageHint returns what to do about an image that cannot be pulled.
func imageHint(message string) string {
	has := func(words ...string) bool {
		for _, w := range words {
			if strings.Contains(strings.ToLower(message), w) {
				return true
			}
		}
		return false
	}
	switch {
	case has("no match for platform", "exec format"):
		return "The image does not support the architecture of the machine: use another image."
	case has("no such host", "i/o timeout", "connection refused", "network is unreachable", "no route to host", "deadline exceeded", "server misbehaving", "tls handshake"):
		return "The machine cannot reach the registry: correct its name in resources.image_id, or ask the administrator about the network; Kubernetes retries automatically."
	case has("unauthorized", "authentication required", "403 forbidden", "401 ", "denied", "authorization failed"):
		return "The image is private or does not exist: correct resources.image_id, or name a pull secret in config.kubernetes.pod_config."
	case has("not found", "manifest unknown", "does not exist"):
		return "The registry has no such image: correct name and tag in resources.image_id, and submit the task again."
	}
	return "Correct resources.image_id, or ask the administrator why the image cannot be pulled; Kubernetes retries automatically."
}

// exitCodeHint returns what an exit code means by the conventions of shells.
func exitCodeHint(message string, code *int) string {
	if code == nil {
		return ""
	}
	switch *code {
	case 126:
		return "A file that the script runs is not executable: run chmod +x on the file, or run the file with its interpreter."
	case 127:
		return "The image does not have a command of the script: install the command in setup, or use an image that has it."
	case 137:
		return "Killed (SIGKILL): it killed itself, ignored SIGTERM past the grace period, or a child process ran out of memory; see the log."
	case 143:
		return "Terminated (SIGTERM): its pod was deleted or its machine drained; submit the task again if it should have continued."
	case 139:
		return "A program crashed (SIGSEGV): read the log with 'k8s-cli jobs logs'."
	}
	if strings.Contains(message, SetupFailedSuffix) {
		return "Read the output of setup with 'k8s-cli jobs logs', correct setup and submit the task again."
	}
	return "Read the last lines here, or the whole log with 'k8s-cli jobs logs'."
}
