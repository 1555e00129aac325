// Package task is the vocabulary of the launcher: what a user writes, what the
// log holds, what the cluster shows, what the server answers, and how all of it
// is named. It talks to nothing.
package task

import "encoding/json"

// A Spec is what a user submits: the fields of a SkyPilot task file, scalars
// kept as the text that was written.
type Spec struct {
	Name       string            `json:"name,omitempty"`              // empty means task-{id}
	NumNodes   int               `json:"num_nodes,omitempty"`         // Jobs that run at once; 0 means 1
	Workdir    string            `json:"workdir,omitempty"`           // directory in which both scripts start: in a task file one to upload, or else of the image; in a submission of the image
	Git        Git               `json:"git,omitzero"`                // in a task file, in place of Workdir: what to check out and upload; never in a submission
	Resources  Resources         `json:"resources,omitzero"`          //
	Envs       map[string]string `json:"envs,omitempty"`              // reaches the container unchanged, `$` included
	Secrets    map[string]string `json:"secrets,omitempty"`           // as Envs, but sealed in the log and in a Secret of its own in the cluster; wins over Envs
	FileMounts map[string]string `json:"file_mounts,omitempty"`       // in a task file: what to upload, by where it goes; never in a submission
	Uploads    map[string]string `json:"uploads,omitempty"`           // SHA-256 of archives, by where they are unpacked: /path or ~/path
	Volumes    map[string]string `json:"volumes,omitempty"`           // mount path to volume or claim name
	SubPaths   map[string]string `json:"sub_paths,omitempty"`         // mount path to the directory of its volume that is mounted, where it is not all of it
	Ephemeral  Ephemerals        `json:"ephemeral_volumes,omitempty"` // mount path to a volume of each node's own
	Config     Config            `json:"config,omitzero"`             //
	Setup      string            `json:"setup,omitempty"`             // runs first; run starts only if it succeeds
	Run        string            `json:"run,omitempty"`
}

// Git names a commit of a repository.
type Git struct {
	URL string `json:"url"`
	Ref string `json:"ref,omitempty"` // branch, tag or commit; empty means the repository's default
}

// Nodes returns the number of nodes, at least 1.
func (t Spec) Nodes() int { return max(t.NumNodes, 1) }

// Ephemerals are volumes by the paths at which they are mounted.
type Ephemerals map[string]Ephemeral

// An Ephemeral is a volume that every node of a task has for itself, empty when
// the node begins, and that goes with it.
type Ephemeral struct {
	Size         string            `json:"size"`                    // a Kubernetes quantity with its unit: "100Gi"
	StorageClass *string           `json:"storage_class,omitempty"` // as of a Volume
	AccessMode   string            `json:"access_mode,omitempty"`   // empty means ReadWriteOnce
	Labels       map[string]string `json:"labels,omitempty"`        // of its claim
}

// Resources are what every node of a task needs. Empty means no request.
// There may be alternatives: a Submit says which one was chosen.
type Resources struct {
	CPUs         string   `json:"cpus,omitempty"`          // cores: "4", "4+", "0.5", "500m"
	Memory       string   `json:"memory,omitempty"`        // GiB without a unit: "16", "16+", "64GB", "512Mi"
	Accelerators string   `json:"accelerators,omitempty"`  // "V100:2", "V100", "2"; fractions round up
	InstanceType string   `json:"instance_type,omitempty"` // accepted, not honoured
	UseSpot      bool     `json:"use_spot,omitempty"`      // accepted, not honoured
	DiskSize     int      `json:"disk_size,omitempty"`     // GB; accepted, not honoured
	Ports        []string `json:"ports,omitempty"`         // "8080", "10052-10100"; accepted, not honoured
	ImageID      string   `json:"image_id,omitempty"`      // container image, with or without docker:

	EphemeralStorage int               `json:"ephemeral_storage,omitempty"` // GB of the node's disk
	Labels           map[string]string `json:"labels,omitempty"`            // of the Jobs and pods
	Priority         int               `json:"priority,omitempty"`          // -1000 to 1000: of a user's tasks that wait, the highest is created first
	PriorityClass    string            `json:"priority_class,omitempty"`    // a PriorityClass of the cluster
	JobRecovery      Recovery          `json:"job_recovery,omitzero"`       //

	// Alternatives, in the order of the file: any will do, or the earlier the
	// better. If there are any, they are complete and nothing else is set.
	AnyOf   []Resources `json:"any_of,omitempty"`
	Ordered []Resources `json:"ordered,omitempty"`
}

// Alternatives returns the resources that would do, at least one.
func (r Resources) Alternatives() []Resources {
	switch {
	case len(r.AnyOf) > 0:
		return r.AnyOf
	case len(r.Ordered) > 0:
		return r.Ordered
	}
	return []Resources{r}
}

// A Recovery says when a node of a task is started again. The zero Recovery
// means never.
type Recovery struct {
	Strategy  string `json:"strategy,omitempty"`               // NoStrategy, or one of SkyPilot's: again after an eviction
	Restarts  int    `json:"max_restarts_on_errors,omitempty"` // so often at most after a failure of its own
	ExitCodes []int  `json:"recover_on_exit_codes,omitempty"`  // after these always; 1 to 255, ascending
}

// NoStrategy is the strategy of a task that is not started again after an
// eviction, and yet may be after a failure of its own.
const NoStrategy = "NONE"

// Evicted reports whether a node starts again that was not itself to blame.
func (r Recovery) Evicted() bool { return r.Strategy != "" && r.Strategy != NoStrategy }

// Again reports whether a node may start again at all.
func (r Recovery) Again() bool { return r.Evicted() || r.Restarts > 0 || len(r.ExitCodes) > 0 }

// Config holds those of SkyPilot's settings that a task may override.
type Config struct {
	Kubernetes Kubernetes `json:"kubernetes,omitzero"`
}

// Kubernetes holds the settings that shape the Jobs of a task.
type Kubernetes struct {
	PodConfig      json.RawMessage `json:"pod_config,omitempty"` // part of a pod, merged into the launcher's; package taskfile says what may be in it
	CustomMetadata CustomMetadata  `json:"custom_metadata,omitzero"`
	Kueue          Kueue           `json:"kueue,omitzero"`
}

// CustomMetadata is put on the Jobs and pods of a task.
type CustomMetadata struct {
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// Kueue names the queue that admits the Jobs of a task.
type Kueue struct {
	LocalQueue string `json:"local_queue_name,omitempty"`
}

// A Volume is what a user asks for when creating one.
type Volume struct {
	Name         string   `json:"name"`                    // a DNS-1123 label
	Size         string   `json:"size"`                    // a Kubernetes quantity with its unit: "10Gi"
	StorageClass *string  `json:"storage_class,omitempty"` // nil means the cluster's default, empty a claim without a class
	AccessModes  []string `json:"access_modes,omitempty"`  // empty means ReadWriteOnce
}

// Modes returns the access modes of the volume, at least one.
func (v Volume) Modes() []string {
	if len(v.AccessModes) == 0 {
		return []string{"ReadWriteOnce"}
	}
	return v.AccessModes
}

// A Phase says in one word where a task stands.
type Phase string

// The phases of a task. The last three are final.
const (
	Pending   Phase = "pending"   // no container of any node has started
	Running   Phase = "running"   // a container of at least one node has started
	Completed Phase = "completed" // every node succeeded
	Failed    Phase = "failed"    // a node failed, or Kubernetes refused the task for good
	Stopped   Phase = "stopped"   // a user stopped it before it was over
)

// Over reports whether p is final.
func (p Phase) Over() bool { return p == Completed || p == Failed || p == Stopped }

// Phases of a volume: those of a Kubernetes claim, and Failed for one that
// Kubernetes refused.
const (
	VolumePending = "Pending"
	VolumeBound   = "Bound"
	VolumeLost    = "Lost"
	VolumeFailed  = "Failed"
)
