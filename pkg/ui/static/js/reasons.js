// Short sentences for the reasons in lists, and hints. The page of a task shows the message of the server.
import { html } from "./html.js";

/** @type {Record<string, string>} */
const sentences = {
  InBacklog: "Waits in the queue",
  MaxActiveJobs: "The limit of Jobs of the server is reached",
  MaxActiveJobsPerUser: "Your limit of Jobs is reached",
  MaxUnschedulablePods: "Too many of your pods are unschedulable",
  WaitsForTask: "Waits for other tasks",
  MaxParallelTasks: "Waits for other tasks of its group",
  GroupFailed: "A task of the group failed",
  WaitsForJobGroup: "Starts together with its job group",
  JobGroupFailed: "Another task of the job group ended first",
  PrimaryTasksCompleted: "The primary tasks of the job group have completed",
  DependencyFailed: "A task that had to complete first did not complete",
  VolumeNotFound: "A volume does not exist",
  QuotaExceeded: "A quota of the namespace is used up",
  FailedCreate: "The cluster rejects the pods",
  JobSuspended: "A queue has suspended the Job",
  FetchingFiles: "Downloads the files of the task",
  FetchingBuckets: "Copies the buckets of the task",
  Unschedulable: "No machine accepts the pod",
  NotScheduled: "The scheduler has not answered yet",
  SchedulingGated: "A webhook holds the pod back",
  FailedBinding: "The claim of a volume is not bound",
  ProvisioningFailed: "The claim of a volume is not bound",
  VolumeNotBound: "The claim of a volume is not bound",
  VolumeDeleting: "A volume is being deleted",
  VolumeGone: "The claim of a volume is gone",
  FailedMount: "The machine cannot mount a volume",
  FailedAttachVolume: "The machine cannot attach a volume",
  FailedCreatePodSandBox: "The machine cannot set up the pod",
  ContainerCreating: "The machine pulls the image or sets up volumes",
  ErrImagePull: "The image cannot be pulled",
  ImagePullBackOff: "The image cannot be pulled",
  InvalidImageName: "The name of the image is invalid",
  ErrImageNeverPull: "The machine may not pull the image",
  CreateContainerConfigError: "The container cannot be created",
  CreateContainerError: "The container cannot be created",
  RunContainerError: "The container cannot be started",
  BackOff: "An attempt failed; starts again",
  NodeNotReady: "The machine does not respond",
  APIServerUnavailable: "The Kubernetes API server does not respond",
  NamespaceTerminating: "The namespace is being deleted",
  Terminating: "The pod is being deleted",
  SecretsUnreadable: "The server cannot read the secrets",
  Error: "A script failed",
  OOMKilled: "Exceeded its memory limit",
  Evicted: "The machine ran out of memory or disk space",
  TerminationByKubelet: "The machine ended the pod",
  Terminated: "The machine was shut down",
  UnexpectedAdmissionError: "The machine rejected the pod",
  NodeShutdown: "The machine was shutting down",
  Preempting: "A system component needed the resources",
  PreemptionByScheduler: "A task with a higher priority took the resources",
  EvictionByEvictionAPI: "The machine was drained",
  DeletionByTaintManager: "The machine was lost",
  DeletionByPodGC: "The machine was lost",
  NodeLost: "The machine was lost",
  DeadlineExceeded: "Exceeded its deadline",
  FilesNotFetched: "The files could not be downloaded",
  BucketsNotFetched: "The buckets could not be copied",
  BucketsNotStored: "Files were not sent to their buckets",
  StartError: "The container could not start",
  ContainerCannotRun: "The container could not start",
  BackoffLimitExceeded: "Kubernetes marked the Job as failed",
  TaskTooLarge: "Has more nodes than the limit of Jobs",
  VolumeNotShareable: "The nodes cannot share a volume",
  SiblingFailed: "Another node of the task failed",
  JobDeleted: "The Job was deleted from the cluster",
  Invalid: "Kubernetes rejects the task",
  Forbidden: "Kubernetes rejects the task",
  NameTaken: "The name of an object is taken",
};

/** @param {string} reason @returns {string} */
export function sentence(reason) {
  return sentences[reason] || "";
}

/** The pages that do what a command in a hint does. @type {Record<string, [label: string, address: (id: string) => string]>} */
const pages = {
  "jobs logs": ["Log", (id) => `/ui/tasks/${id}/logs`],
  "jobs logs --attempt": ["Log", (id) => `/ui/tasks/${id}/logs`],
  "jobs stop": ["Stop", (id) => `/ui/tasks/${id}`],
  "volumes create": ["New volume", () => "/ui/volumes"],
  "volumes status": ["Volumes", () => "/ui/volumes"],
};

/** What to do about a reason, with links to pages in place of commands. @param {{text: string, id: string}} p id is that of the task */
export function Hint({ text, id }) {
  return text.split(/'k8s-cli ([^']+)'/).map((part, i) => {
    if (i % 2 === 0) return part;
    const [label, address] = pages[part] || [];
    return address ? html`<a key=${i} href=${address(id)}>${label}</a>` : html`<code key=${i}>k8s-cli ${part}</code>`;
  });
}

/** The reasons of tasks that wait for their turn, and not for the cluster. */
export const queueReasons = ["InBacklog", "MaxActiveJobs", "MaxActiveJobsPerUser", "MaxUnschedulablePods"];

/** The reasons of tasks that wait for other tasks. */
export const taskReasons = ["WaitsForTask", "MaxParallelTasks"];
