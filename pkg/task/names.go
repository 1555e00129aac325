package task

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// The labels and annotations of the objects that k8s-cli creates. The names of labels
// without the prefix skypilot- are specified. Isolation between users relies on the exact
// user in AnnotationUser, never on a label.
const (
	LabelTask       = "skypilot-task" // "true" on Jobs and their pods
	LabelTaskID     = "task-id"
	LabelTaskName   = "task-name"       // name of the task as a valid label value
	LabelUser       = "username"        // sanitised user name, which two users may share
	LabelNode       = "node-idx"        // rank of the node, from 0
	LabelOwner      = "skypilot-owner"  // hash of the exact user name
	LabelGroup      = "skypilot-group"  // name of the group of the task, if it has one
	LabelPeers      = "skypilot-peers"  // "true" if the task has several nodes or belongs to a job group, so that its pods reach others
	LabelVolume     = "skypilot-volume" // "true" on claims
	LabelVolumeID   = "volume-id"
	LabelVolumeName = "volume-name"
	// "true" on claims that k8s-cli did not create; set by an operator so that tasks may
	// mount the claims by name
	LabelShared = "skypilot-shared"

	AnnotationCreated     = "created-at" // RFC 3339, UTC: when the command was stored
	AnnotationNodes       = "num-nodes"
	AnnotationUser        = "skypilot-user"         // exact user name
	AnnotationName        = "skypilot-name"         // exact name of the task
	AnnotationSubmission  = "skypilot-submission"   // hash of the command that requested the object
	AnnotationMaxDuration = "skypilot-max-duration" // on Jobs: max_duration of the task, if it has one
	AnnotationJobGroup    = "skypilot-job-group"    // on Jobs: the membership of the task in a job group as JSON, if it belongs to one
	AnnotationOwn         = "skypilot-annotations"  // on Jobs: annotations of the task as JSON, if it has any
	AnnotationTrace       = "skypilot-trace"        // on Jobs: id of the OpenTelemetry trace of the submission, if it is traced
	AnnotationResumed     = "skypilot-resumed"      // "true" on a Job that was created suspended and resumed later

	AnnotationSetup = "skypilot-setup" // on pods: the script as written
	AnnotationRun   = "skypilot-run"   // on pods: the script as written
	// on pods of several nodes, once all have an address: the addresses, one per line, by
	// rank
	AnnotationAddresses = "skypilot-node-ips"
	// on pods of a job group, once all pods of the job group have an address: lines of /etc/hosts
	AnnotationGroupHosts = "skypilot-jobgroup-hosts"
	// on pods that copy buckets: the last line that the copying container has written
	AnnotationBucketProgress = "skypilot-bucket-progress"
)

// LabelQueue is the label that names the Kueue queue of a Job.
const LabelQueue = "kueue.x-k8s.io/queue-name"

// Variables returns the names of the environment variables that k8s-cli sets in the
// containers of a task. These variables override the variables of the user.
func Variables() []string {
	return []string{
		"NODE_RANK", "NUM_NODES",
		"SKYPILOT_NODE_RANK", "SKYPILOT_NUM_NODES", "SKYPILOT_NUM_GPUS_PER_NODE",
		"SKYPILOT_SETUP_NODE_RANK", "SKYPILOT_SETUP_NUM_GPUS_PER_NODE",
		"SKYPILOT_TASK_ID", "SKYPILOT_CLUSTER_INFO", "SKYPILOT_USER",
		"SKYPILOT_NODE_IPS", "SKYPILOT_SETUP_NODE_IPS",
	}
}

// What the entrypoint of a container uses and makes. A session in the container uses the same.
const (
	// ScriptDir is where the scripts of a task are mounted in its containers.
	ScriptDir = "/k8s-cli"

	// NodeIPs is the file in ScriptDir with the addresses of several nodes, by rank.
	NodeIPs = "node-ips"

	// VariablesEnv has the names of the variables that the task sets, separated by spaces.
	VariablesEnv = "K8S_CLI_VARIABLES"

	// BucketsEnv says which buckets are in the home directory.
	BucketsEnv = "K8S_CLI_BUCKETS"

	// OtherHomes lists directories, separated by spaces. A user who cannot write to the home directory
	// of the image gets the first writable one as the home directory.
	OtherHomes = FilesDir + "/home /tmp/k8s-cli-home /dev/shm/k8s-cli-home"
)

// The containers that move the data of the buckets of a task.
const (
	BucketsContainer = "buckets"       // the init container that copies the buckets to the node
	SenderContainer  = "bucket-sender" // the sidecar that sends changed files to the buckets
)

// RanksText says which ranks the nodes of a task have.
func RanksText(nodes int) string {
	if nodes < 2 {
		return "the task has only node 0"
	}
	return fmt.Sprintf("the task has the nodes 0 to %d", nodes-1)
}

const idLength = 8

// NewID returns a random task id: 8 characters of a-z0-9.
func NewID() string {
	const letters = "abcdefghijklmnopqrstuvwxyz0123456789"
	id := make([]byte, 0, idLength)
	for len(id) < idLength {
		var b [16]byte
		_, _ = rand.Read(b[:]) // Read of crypto/rand never returns an error
		for _, x := range b {
			if x < 252 && len(id) < idLength { // 252 is a multiple of 36, so all letters are equally likely
				id = append(id, letters[x%36])
			}
		}
	}
	return string(id)
}

// NewVolumeID returns a random volume id: 8 hexadecimal characters.
func NewVolumeID() string {
	var b [idLength / 2]byte
	_, _ = rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// Owner returns a hash of the user name that is a valid label value, NATS token and file
// name: 26 characters of a-z2-7, the first 128 bits of a SHA-256.
func Owner(user string) string {
	sum := sha256.Sum256([]byte(user))
	return strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:16]))
}

// Sanitized returns the user name in the specified form: @ becomes -.
func Sanitized(user string) string { return strings.ReplaceAll(user, "@", "-") }

// DisplayName returns the name of a task: the given name, or task-{id}.
func DisplayName(name, id string) string {
	if name == "" {
		return "task-" + id
	}
	return name
}

// JobName returns the name of the Job of one node: {name}-{id}, with the suffix
// -node-{rank} if there are several nodes. JobName shortens the name and never the id, so
// that the result is a DNS-1123 label of at most 63 characters.
func JobName(name, id string, rank, nodes int) string {
	suffix := "-" + id
	if nodes > 1 {
		suffix += "-node-" + strconv.Itoa(rank)
	}
	label := dnsLabel(DisplayName(name, id), maxLabel-len(suffix))
	return cmp.Or(label, "task") + suffix // a name from the cluster may contain no valid character
}

// JobNames returns the names of the Jobs of all nodes, by rank.
func JobNames(name, id string, nodes int) []string {
	names := make([]string, nodes)
	for rank := range names {
		names[rank] = JobName(name, id, rank, nodes)
	}
	return names
}

// ServiceName returns the name of the Service of a task of several nodes, which is also
// their DNS subdomain: {name}-{id}, like JobName without a rank. The name begins with a
// letter, as Kubernetes requires for Services and not for Jobs.
func ServiceName(name, id string) string {
	if first := dnsLabel(DisplayName(name, id), 1); first < "a" {
		name = "task-" + name
	}
	return JobName(name, id, 0, 1)
}

// HostName returns the host name of one of several nodes: node-{rank}. The other nodes
// resolve the name node-{rank}.{ServiceName}.
func HostName(rank int) string { return "node-" + strconv.Itoa(rank) }

// ClaimName returns the name of a volume's claim: {name}-{id}.
func ClaimName(name, id string) string { return name + "-" + id }

// JobLabels returns the labels of the Job and the pod of one node.
func JobLabels(user, name, id string, rank int) map[string]string {
	return map[string]string{
		LabelTask:     "true",
		LabelTaskID:   id,
		LabelTaskName: labelValue(DisplayName(name, id)),
		LabelUser:     labelValue(Sanitized(user)),
		LabelOwner:    Owner(user),
		LabelNode:     strconv.Itoa(rank),
	}
}

// ClaimLabels returns the labels of a volume's claim.
func ClaimLabels(user, name, id string) map[string]string {
	return map[string]string{
		LabelVolume:     "true",
		LabelVolumeID:   id,
		LabelVolumeName: labelValue(name),
		LabelUser:       labelValue(Sanitized(user)),
		LabelOwner:      Owner(user),
	}
}

// dnsLabel returns the beginning of a DNS-1123 label that resembles name, at most limit
// characters long.
func dnsLabel(name string, limit int) string {
	label := strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', '0' <= r && r <= '9', r == '-':
			return r
		case 'A' <= r && r <= 'Z':
			return r - 'A' + 'a'
		}
		return '-'
	}, name)
	return strings.Trim(label[:min(len(label), limit)], "-")
}

// labelValue returns a valid label value that resembles s: other characters become -, both
// ends are letters or digits, at most 63 characters.
func labelValue(s string) string {
	value := strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', strings.ContainsRune("-_.", r):
			return r
		}
		return '-'
	}, s)
	return strings.Trim(value[:min(len(value), maxLabel)], "-_.")
}

// A Key identifies a task or a volume.
type Key struct {
	Kind Kind
	ID   string
}

func (k Key) String() string { return fmt.Sprintf("%s/%s", k.Kind, k.ID) }

// A Kind is the kind of an object: task or volume.
type Kind string

// The kinds of objects.
const (
	KindTask   Kind = "task"
	KindVolume Kind = "volume"
)
