package task

import "strings"

// Reasons that the launcher finds itself, where Kubernetes has no word.
const (
	ReasonBacklog       = "InBacklog"            // the Jobs of the task are still to be created
	ReasonMaxJobs       = "MaxActiveJobs"        // as many Jobs exist as may, of all users
	ReasonMaxUserJobs   = "MaxActiveJobsPerUser" // as many Jobs of the user exist as may
	ReasonMaxUnplaced   = "MaxUnschedulablePods" // as many pods of the user find no node as may
	ReasonTooLarge      = "TaskTooLarge"         // the task has more nodes than Jobs may exist
	ReasonNotBound      = "VolumeNotBound"       // a claim that the task mounts has no volume behind it yet
	ReasonClaimGone     = "VolumeGone"           // a claim that the task mounts is not there any more
	ReasonClaimDeleting = "VolumeDeleting"       // a claim that the task mounts is being deleted
	ReasonNodeNotReady  = "NodeNotReady"         // the machine does not answer
	ReasonNotScheduled  = "NotScheduled"         // a scheduler of its own has not looked at the pod
)

// MessageOfSetup begins the message of a node whose setup failed.
const MessageOfSetup = " of setup, so run did not start"

// SetupFailed is what the launcher leaves as the last words of such a node.
const SetupFailed = LauncherSays + "setup failed"

// LauncherSays begins what the launcher itself leaves as last words.
const LauncherSays = "k8s-cli: "

// hints say what to do about a reason.
var hints = map[string]string{
	ReasonBacklog:          "Nothing: users take turns, and among your own tasks resources.priority says which is first.",
	ReasonMaxJobs:          "Nothing: it starts when Jobs of other tasks are gone, in the same order; the administrator can raise --max-active-jobs.",
	ReasonMaxUserJobs:      "It starts when Jobs of your other tasks are gone: wait, or stop tasks that you do not need.",
	ReasonMaxUnplaced:      "See why your other tasks find no node, and stop them or ask for less; this one starts when fewer of them wait.",
	ReasonTooLarge:         "Use fewer nodes, or have the administrator raise the limit that the message names, and submit it again.",
	ReasonVolume:           "Create it with 'k8s-cli volumes create', or correct its name in the task and submit it again.",
	ReasonSibling:          "See why the other node failed: that is what to repair.",
	ReasonDeleted:          "Submit the task again if it was not meant to end; 'k8s-cli jobs stop' ends one without a failure.",
	ReasonInternal:         "This is a fault of the server: tell its administrator, who finds more in its log.",
	ReasonNotBound:         "See 'k8s-cli volumes status' of the volume, or ask the administrator which storage classes work.",
	ReasonClaimGone:        "Create the volume again and submit the task again, or stop it.",
	ReasonClaimDeleting:    "Stop the task: the volume goes once nothing uses it; then create it anew.",
	ReasonUnshared:         "Create a volume with the access mode ReadWriteMany, give each node its own, or use one node.",
	ReasonNodeNotReady:     "Kubernetes moves or ends the node after some minutes; the administrator can see what ails the machine.",
	ReasonNotScheduled:     "If it stays so, no scheduler of that name runs: correct schedulerName and submit the task again, or ask the administrator.",
	"FailedBinding":        "Name a storage class when creating the volume, or have the administrator add a volume or a default class.",
	"ProvisioningFailed":   "Create a volume with a storage class that the cluster has, and let the task use that one.",
	"FailedMount":          "Kubernetes goes on trying: see that the volume exists, is free and can be reached, or ask the administrator.",
	"FailedAttachVolume":   "The volume may still be attached to another machine: end what uses it there, or give it the access mode ReadWriteMany.",
	ReasonFetching:         "Nothing: large files take a while.",
	ReasonNotFetched:       "Submit the task and its files again if the message says what is wrong with them, or ask the administrator whether pods reach the server.",
	"JobSuspended":         "The queue lets it run when there is room: ask whoever runs the queue; 'k8s-cli jobs stop' takes it out.",
	"QuotaExceeded":        "Ask for less, stop tasks that you do not need, or have the administrator raise the quota; it is tried again by itself.",
	"NamespaceTerminating": "The namespace is being deleted: ask the administrator.",
	"Terminating":          "Nothing: it goes on once the former object is gone.",
	"APIServerUnavailable": "Nothing: it is tried again until the API server answers.",
	"SecretsUnreadable":    "Have the administrator give the server the key that it had when the task was submitted, or submit the task again.",
	"NameTaken":            "Submit the task again, under another name.",
	"Invalid":              "Correct what the message names in the task file and submit it again.",
	"Forbidden":            "A rule of the cluster forbids it: change what the message names, or ask the administrator.",
	"FailedCreate":         "A rule of the cluster refuses the pod: change what the message names, or ask the administrator; it is tried again by itself.",

	"Unschedulable":              "It starts when room becomes free: wait, stop other tasks, or ask for less.",
	"SchedulingGated":            "Whoever put the gate on the pod has to lift it: ask the administrator.",
	"InvalidImageName":           "Correct resources.image_id: it is not the name of an image.",
	"ErrImageNeverPull":          "The machine does not have the image and may not pull it: use another one, or ask the administrator.",
	"ContainerCreating":          "Nothing: a large image may take minutes where it is pulled for the first time.",
	"CreateContainerConfigError": "Something that the container refers to is not there: submit the task again, or ask the administrator.",
	"CreateContainerError":       "The machine cannot make the container: correct workdir, mounts or image, or ask the administrator.",
	"RunContainerError":          "The machine cannot start the container: correct workdir, mounts or image, or ask the administrator.",
	"FailedCreatePodSandBox":     "The machine cannot set up the pod, mostly for want of a network: Kubernetes goes on trying, or ask the administrator.",

	"StartError":               "The image needs a shell, /bin/sh, that runs on this kind of machine: use another image.",
	"ContainerCannotRun":       "The image needs a shell, /bin/sh, that runs on this kind of machine: use another image.",
	"OOMKilled":                "Ask for more in resources.memory, or use less at a time.",
	"Evicted":                  "The machine ran short: ask for what the task needs (memory, resources.ephemeral_storage), or set resources.job_recovery to start again.",
	"PreemptionByScheduler":    "A task of a higher priority class took the room: submit it again, give it a priority class, or set resources.job_recovery.",
	"DeletionByTaintManager":   "The machine was lost or emptied: submit the task again, or set resources.job_recovery to have that done.",
	"DeletionByPodGC":          "The machine is gone: submit the task again, or set resources.job_recovery to have that done.",
	"EvictionByEvictionAPI":    "An administrator emptied the machine: submit the task again, or set resources.job_recovery to have that done.",
	"TerminationByKubelet":     "The machine ended it for want of resources or since it shut down: submit the task again, or set resources.job_recovery.",
	"NodeLost":                 "The machine does not answer: submit the task again, or set resources.job_recovery to have that done.",
	reasonDeadline:             "Give it more time in config.kubernetes.pod_config (activeDeadlineSeconds), or make it shorter.",
	"BackoffLimitExceeded":     "See its log with 'k8s-cli jobs logs', and submit the task again.",
	"UnexpectedAdmissionError": "The machine had less room than it was thought to have: submit the task again, or set resources.job_recovery.",
	"Preempting":               "A part of the cluster itself took the room: submit the task again, or set resources.job_recovery to have that done.",
	"Terminated":               "The machine shut down: submit the task again, or set resources.job_recovery to have that done.",
	"NodeShutdown":             "The machine shuts down: submit the task again, or set resources.job_recovery to have that done.",
}

// Hint returns what to do about a reason, in a sentence; it is empty if nobody
// knows.
func Hint(reason string) string { return hint(reason, "", nil) }

// hint returns what to do about a reason; the message and the exit code, which
// is nil if there is none, tell cases of it apart.
func hint(reason, message string, code *int) string {
	switch reason {
	case "":
		return ""
	case "ErrImagePull", "ImagePullBackOff", "ImageInspectError", "RegistryUnavailable":
		return imageHint(message)
	case "Error":
		return exitHint(message, code)
	case "FailedCreatePodSandBox":
		if strings.Contains(message, "no runtime for") {
			return "The machine has no such container runtime: correct runtimeClassName in config.kubernetes.pod_config, or ask the administrator."
		}
	}
	if strings.HasPrefix(reason, "OutOf") { // and the name of a resource
		reason = "UnexpectedAdmissionError"
	}
	return hints[reason]
}

// imageHint returns what to do about an image that cannot be had.
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
		return "The image is not made for this kind of machine: use another one."
	case has("no such host", "i/o timeout", "connection refused", "network is unreachable", "no route to host", "deadline exceeded", "server misbehaving", "tls handshake"):
		return "The machine cannot reach the registry: correct its name in resources.image_id, or ask the administrator about the network; it is tried again by itself."
	case has("unauthorized", "authentication required", "403 forbidden", "401 ", "denied", "authorization failed"):
		return "The registry gives it to nobody unknown, or does not have it: correct resources.image_id, or name a pull secret in config.kubernetes.pod_config."
	case has("not found", "manifest unknown", "does not exist"):
		return "The registry has no such image: correct name and tag in resources.image_id and submit it again."
	}
	return "Correct resources.image_id, or ask the administrator why the image cannot be pulled; it is tried again by itself."
}

// exitHint returns what an exit code means by the customs of shells.
func exitHint(message string, code *int) string {
	if code == nil {
		return ""
	}
	switch *code {
	case 126:
		return "A file that the script runs is not executable: chmod +x it, or run it by its interpreter."
	case 127:
		return "A command of the script is not in the image: install it in setup, or use an image that has it."
	case 137:
		return "It was killed (SIGKILL): by itself, because it took no notice of an end, or for want of memory in a part of it; see its log."
	case 143:
		return "It was told to end (SIGTERM): somebody deleted its pod or emptied the machine; submit it again if it was not meant to."
	case 139:
		return "A program crashed (SIGSEGV): see its log with 'k8s-cli jobs logs'."
	}
	if strings.Contains(message, MessageOfSetup) {
		return "See what setup wrote with 'k8s-cli jobs logs', correct it and submit the task again."
	}
	return "See its last lines here or all of them with 'k8s-cli jobs logs'."
}
