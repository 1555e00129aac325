// Package task defines the types that all parts share. It has task specifications, the log,
// the objects in the cluster, the responses of the server, and all names. Package task
// performs no I/O.
package task

import (
	"encoding/json"

	"k8s-cli/pkg/task/bucket"
)

// A Spec is a submitted task: the fields of a SkyPilot task file. Scalars keep the text of
// the file.
type Spec struct {
	Name     string `json:"name,omitempty"`      // empty means task-{id}
	NumNodes int    `json:"num_nodes,omitempty"` // number of nodes, which run at the same time; 0 means 1
	// Directory in which both scripts start. In a task file, a local directory to upload or
	// a directory of the image; in a submission, always a directory of the image.
	Workdir string `json:"workdir,omitempty"`
	// In a task file, the repository to check out and upload in place of Workdir; never in
	// a submission.
	Git       Git       `json:"git,omitzero"`
	Resources Resources `json:"resources,omitzero"`
	// environment variables; the container gets the values unchanged, with `$`
	Envs map[string]string `json:"envs,omitempty"`
	// Like Envs, but encrypted in the log, and in a Kubernetes Secret in the cluster.
	// Secrets override Envs.
	Secrets map[string]string `json:"secrets,omitempty"`
	// In a task file, the local paths to upload, by destination; never in a submission.
	FileMounts map[string]string `json:"file_mounts,omitempty"`
	Buckets    bucket.Mounts     `json:"buckets,omitempty"`
	// SHA-256 of archives, by the path at which they are unpacked: /path or ~/path
	Uploads map[string]string `json:"uploads,omitempty"`
	Volumes map[string]string `json:"volumes,omitempty"` // names of volumes or claims, by mount path
	// directories within the volumes, by mount path, if not the whole volume is mounted
	SubPaths  map[string]string `json:"sub_paths,omitempty"`
	Ephemeral Ephemerals        `json:"ephemeral_volumes,omitempty"` // per-node volumes, by mount path
	Config    Config            `json:"config,omitzero"`
	// Longest time from the first start of a container to the end of the task: "90s", "2h",
	// "1d". Empty means no limit.
	MaxDuration string `json:"max_duration,omitempty"`
	// URL that gets the phase changes of the task; see package callback
	EventCallback string `json:"event_callback,omitempty"`
	// Files and directories of each node to store after its scripts: /path, ~/path, or below Workdir
	Outputs []string `json:"outputs,omitempty"`
	// The user's own metadata, which the server stores, shows and filters by, and does not interpret
	Annotations map[string]string `json:"annotations,omitempty"`

	Setup string `json:"setup,omitempty"` // runs first; run starts only if setup succeeds
	Run   string `json:"run,omitempty"`
}

// Git names a commit of a repository.
type Git struct {
	URL string `json:"url"`
	Ref string `json:"ref,omitempty"` // branch, tag or commit; empty means the default branch
}

// Nodes returns the number of nodes, at least 1.
func (s Spec) Nodes() int { return max(s.NumNodes, 1) }

// Ephemerals contains per-node volumes by mount path.
type Ephemerals map[string]Ephemeral

// An Ephemeral is a volume of one node. The volume is empty when the node starts and is
// deleted with the node.
type Ephemeral struct {
	Size         string            `json:"size"`                    // Kubernetes quantity with a unit: "100Gi"
	StorageClass *string           `json:"storage_class,omitempty"` // as in Volume
	AccessMode   string            `json:"access_mode,omitempty"`   // empty means ReadWriteOnce
	Labels       map[string]string `json:"labels,omitempty"`        // labels of the claim
}

// Resources are the requests of every node of a task. An empty field means no request. If
// there are alternatives, a Submit names the chosen one.
type Resources struct {
	CPUs         string   `json:"cpus,omitempty"`          // cores: "4", "4+", "0.5", "500m"
	Memory       string   `json:"memory,omitempty"`        // GiB without a unit: "16", "16+", "64GB", "512Mi"
	Accelerators string   `json:"accelerators,omitempty"`  // "V100:2", "V100", "2"; fractions round up
	InstanceType string   `json:"instance_type,omitempty"` // accepted, not honoured
	UseSpot      bool     `json:"use_spot,omitempty"`      // only machines that the cloud may take away, if the cluster has any
	DiskSize     int      `json:"disk_size,omitempty"`     // GB; accepted, not honoured
	Ports        []string `json:"ports,omitempty"`         // on which the task listens: "8080", "10052-10100"
	ImageID      string   `json:"image_id,omitempty"`      // container image, with or without the prefix docker:

	EphemeralStorage int               `json:"ephemeral_storage,omitempty"` // GB of the machine's disk
	Labels           map[string]string `json:"labels,omitempty"`            // labels of the Jobs and pods
	// -1000 to 1000. Among the waiting tasks of a user, tasks with a higher priority are
	// created first.
	Priority      int      `json:"priority,omitempty"`
	PriorityClass string   `json:"priority_class,omitempty"` // name of a PriorityClass of the cluster
	JobRecovery   Recovery `json:"job_recovery,omitzero"`

	// The alternatives, in the order of the file. The items of AnyOf are equivalent;
	// earlier items of Ordered are preferred. If there are alternatives, each is complete
	// and no other field is set.
	AnyOf   []Resources `json:"any_of,omitempty"`
	Ordered []Resources `json:"ordered,omitempty"`
}

// Alternatives returns the alternatives, at least one.
func (r Resources) Alternatives() []Resources {
	switch {
	case len(r.AnyOf) > 0:
		return r.AnyOf
	case len(r.Ordered) > 0:
		return r.Ordered
	}
	return []Resources{r}
}

// A Recovery says when a node of a task is restarted. The zero Recovery means never.
type Recovery struct {
	Strategy string `json:"strategy,omitempty"`               // NoStrategy, or a strategy of SkyPilot: restart after an eviction
	Restarts int    `json:"max_restarts_on_errors,omitempty"` // largest number of restarts after failures
	// exit codes after which to restart without a limit; 1 to 255, ascending
	ExitCodes []int `json:"recover_on_exit_codes,omitempty"`
}

// NoStrategy is the strategy of a task that is not restarted after an eviction. The task
// may still be restarted after a failure.
const NoStrategy = "NONE"

// RestartsOnEviction reports whether a node is restarted after an eviction.
func (r Recovery) RestartsOnEviction() bool { return r.Strategy != "" && r.Strategy != NoStrategy }

// MayRestart reports whether a node may be restarted at all.
func (r Recovery) MayRestart() bool {
	return r.RestartsOnEviction() || r.Restarts > 0 || len(r.ExitCodes) > 0
}

// Config contains the settings of SkyPilot that a task may override.
type Config struct {
	Kubernetes Kubernetes `json:"kubernetes,omitzero"`
}

// Kubernetes contains the settings that shape the Jobs of a task.
type Kubernetes struct {
	// Part of a pod that is merged into the generated pod. Package taskfile defines which
	// fields are allowed.
	PodConfig      json.RawMessage `json:"pod_config,omitempty"`
	CustomMetadata CustomMetadata  `json:"custom_metadata,omitzero"`
	Kueue          Kueue           `json:"kueue,omitzero"`
}

// CustomMetadata is added to the Jobs and pods of a task.
type CustomMetadata struct {
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// Kueue names the queue that admits the Jobs of a task.
type Kueue struct {
	LocalQueue string `json:"local_queue_name,omitempty"`
}

// A Volume is the specification of a volume.
type Volume struct {
	Name string `json:"name"` // a DNS-1123 label
	Size string `json:"size"` // Kubernetes quantity with a unit: "10Gi"
	// nil means the default of the cluster; empty means a claim without a class
	StorageClass *string  `json:"storage_class,omitempty"`
	AccessModes  []string `json:"access_modes,omitempty"` // empty means ReadWriteOnce
}

// Modes returns the access modes of the volume, at least one.
func (v Volume) Modes() []string {
	if len(v.AccessModes) == 0 {
		return []string{"ReadWriteOnce"}
	}
	return v.AccessModes
}

// A Phase is the state of a task in one word.
type Phase string

// The phases of a task. The last three are final.
const (
	Pending   Phase = "pending"   // no container of any node has started
	Running   Phase = "running"   // a container of at least one node has started
	Completed Phase = "completed" // every node succeeded
	Failed    Phase = "failed"    // a node failed, or Kubernetes rejected the task permanently
	Stopped   Phase = "stopped"   // a user stopped the task before it was over
)

// Over reports whether p is final.
func (p Phase) Over() bool { return p == Completed || p == Failed || p == Stopped }

// The phases of a volume: the phases of a Kubernetes claim, and Failed for a volume that
// Kubernetes rejected.
const (
	VolumePending = "Pending"
	VolumeBound   = "Bound"
	VolumeLost    = "Lost"
	VolumeFailed  = "Failed"
)
