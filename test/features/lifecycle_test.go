package features

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"k8s-cli/pkg/task"
	"k8s-cli/test/testkit/must"
)

// The workflows of the specification, literally. The test cluster has neither their images
// nor GPUs, so the tasks stay pending.

const trainingJob = `name: training-job
num_nodes: 2
resources:
  cpus: "4"
  memory: "8Gi"
  accelerators: "1"
  image_id: "python:3.11"
volumes:
  /data: data-vol
envs:
  EPOCHS: "100"
setup: |
  pip install torch numpy
run: |
  python train.py --data /data --epochs $EPOCHS
`

func TestCompleteTaskLifecycle(t *testing.T) {
	t.Parallel()
	myuser := start(t).as(t, "myuser")
	login := myuser.prepare(t, "auth", "login", "myuser")
	login.start(t)
	if got := login.end(t).ok(t); got != "✓ Logged in as: myuser\n" {
		t.Errorf("login printed %q", got)
	}

	created := myuser.cli(t, "volumes", "create", "data-vol", "10Gi").ok(t)
	m := regexp.MustCompile(`^✓ Volume created successfully\n  Volume ID: ([0-9a-f]{8})\n  Status: created\n$`).FindStringSubmatch(created)
	if m == nil {
		t.Fatalf("volumes create printed %q", created)
	}
	volume := m[1]

	file := filepath.Join(myuser.home, "task.yaml")
	must.Write(t, file, trainingJob)
	attached := myuser.begin(t, "jobs", "submit", file)
	attached.out.awaitText(t, "Status: submitted\n")
	id := myuser.tasks(t)[0]

	jobs := myuser.awaitJobs(t, id, 2)
	for rank, job := range jobs {
		claim := job.Spec.Template.Spec.Volumes[1].PersistentVolumeClaim
		if claim == nil || claim.ClaimName != "data-vol-"+volume {
			t.Errorf("node %d mounts %+v, want the claim of the volume", rank, job.Spec.Template.Spec.Volumes)
		}
	}
	s := myuser.awaitWhere(t, id, "pending with a reason", func(s task.Status) bool {
		return s.Phase == task.Pending && s.Metadata.Reason == "Unschedulable" && strings.Contains(s.Metadata.Message, "Insufficient cpu")
	})
	if s.Metadata.Pending != 2 {
		t.Errorf("the task is %s, want two pending nodes", sketch(s))
	}
	listed := myuser.cli(t, "jobs", "list").ok(t)
	if want := regexp.MustCompile(id + ` +training-job +pending +20\d\d-`); !want.MatchString(listed) {
		t.Errorf("jobs list printed\n%s\nwant a line like %s", listed, want)
	}
	shown := myuser.cli(t, "jobs", "status", id).ok(t)
	for _, want := range []string{
		"  Status: pending\n", "  num_nodes: 2\n", "  pending_nodes: 2\n", "  reason: Unschedulable\n",
		"  node_jobs: training-job-" + id + "-node-0, training-job-" + id + "-node-1\n",
	} {
		if !strings.Contains(shown, want) {
			t.Errorf("jobs status printed\n%s\nwant %q in it", shown, want)
		}
	}
	logs := myuser.begin(t, "jobs", "logs", id)

	stopped := myuser.cli(t, "jobs", "stop", id).ok(t)
	if want := "✓ Task stopped successfully\n  Task ID: " + id + "\n  Name: training-job\n  Status: stopped\n"; stopped != want {
		t.Errorf("jobs stop printed %q, want %q", stopped, want)
	}
	attached.end(t).fails(t, 103)
	logs.end(t).fails(t, 103)
	myuser.awaitNothing(t, id)

	deleted := myuser.cli(t, "volumes", "delete", volume, "--force").ok(t)
	if want := "✓ Volume deleted successfully\n  Volume ID: " + volume + "\n  Name: data-vol\n  Status: deleted\n"; deleted != want {
		t.Errorf("volumes delete printed %q, want %q", deleted, want)
	}
	myuser.awaitNoClaim(t, "data-vol-"+volume)
}

const distributedTraining = `name: distributed-training
num_nodes: 4
resources:
  cpus: "8"
  memory: "16Gi"
  accelerators: "2"
  image_id: "nvcr.io/nvidia/pytorch:23.10-py3"
envs:
  MASTER_ADDR: "master-service"
  MASTER_PORT: "29500"
setup: |
  pip install transformers datasets
run: |
  python -m torch.distributed.launch \
    --nproc_per_node=2 \
    --nnodes=$NUM_NODES \
    --node_rank=$NODE_RANK \
    --master_addr=$MASTER_ADDR \
    --master_port=$MASTER_PORT \
    train_distributed.py
`

func TestMultiNodeDistributedTraining(t *testing.T) {
	t.Parallel()
	ann := newUser(t)
	id := ann.submit(t, distributedTraining)
	s := ann.awaitWhere(t, id, "pending with a reason", func(s task.Status) bool {
		return s.Phase == task.Pending && s.Metadata.Reason == "Unschedulable"
	})
	if s.Metadata.NumNodes != 4 || s.Metadata.Pending != 4 || len(s.Metadata.Nodes) != 4 {
		t.Errorf("the task is %s with %d nodes, want 4 pending ones", sketch(s), len(s.Metadata.Nodes))
	}
	if got := len(ann.jobs(t, id)); got != 4 {
		t.Errorf("the cluster has %d Jobs, want 4", got)
	}
	ann.stop(t, id)
	ann.wantPhase(t, id, task.Stopped, "right after the stop")
	ann.awaitNothing(t, id)
}
