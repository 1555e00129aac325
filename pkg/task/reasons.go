package task

// The reasons that k8s-cli itself finds, where Kubernetes has none.
const (
	ReasonBacklog       = "InBacklog"             // the Jobs of the task are not created yet
	ReasonMaxJobs       = "MaxActiveJobs"         // the Jobs of all users have reached the limit
	ReasonMaxUserJobs   = "MaxActiveJobsPerUser"  // the Jobs of the user have reached the limit
	ReasonMaxUnplaced   = "MaxUnschedulablePods"  // the unschedulable pods of the user have reached the limit
	ReasonWaitsForTask  = "WaitsForTask"          // tasks that the task comes after are not over
	ReasonGroupLimit    = "MaxParallelTasks"      // the group has as many active tasks as the max_parallel of the task
	ReasonGroupFailed   = "GroupFailed"           // a task of the group failed, and the group fails fast
	ReasonDependency    = "DependencyFailed"      // a task that the task comes after did not complete
	ReasonJobGroup      = "WaitsForJobGroup"      // the task starts together with the other tasks of its job group
	ReasonJobGroupOver  = "JobGroupFailed"        // a task of the job group failed or was stopped, which ends the others
	ReasonPrimariesDone = "PrimaryTasksCompleted" // the primary tasks of the job group completed, which ends the auxiliary tasks
	ReasonTooLarge      = "TaskTooLarge"          // the task has more nodes than the limit of Jobs
	ReasonNotBound      = "VolumeNotBound"        // a claim that the task mounts is not bound yet
	ReasonClaimGone     = "VolumeGone"            // a claim that the task mounts does not exist any more
	ReasonClaimDeleting = "VolumeDeleting"        // a claim that the task mounts is being deleted
	ReasonNodeNotReady  = "NodeNotReady"          // the machine does not respond
	ReasonNotScheduled  = "NotScheduled"          // the scheduler that the task names has not handled the pod
	ReasonDeadline      = "DeadlineExceeded"      // the task ran for its max_duration, or a pod for its activeDeadlineSeconds
	ReasonBackOff       = "BackOff"               // a node has failed and starts again
)

// NotSent begins the termination message of a node that could not send all files to their buckets. It
// follows LauncherSays.
const NotSent = "some files were not sent to their buckets: "

// SetupFailedSuffix ends the message of a node whose setup failed. It follows the exit code.
const SetupFailedSuffix = " of setup, so run did not start"

// SetupFailed is the termination message of a node whose setup failed.
const SetupFailed = LauncherSays + "setup failed"

// LauncherSays is the prefix of the termination messages that the entrypoint writes.
const LauncherSays = "k8s-cli: "
