package status

import (
	"encoding/json"
	"flag"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"k8s-cli/pkg/task"
	"k8s-cli/test/testkit/must"
)

var update = flag.Bool("update", false, "write the golden files anew")

var noon = time.Date(2025, 10, 5, 12, 34, 56, 789012345, time.UTC)

func second(n int) time.Time { return noon.Add(time.Duration(n) * time.Second) }

// running returns the view of a task of two nodes, of which the first runs and the second
// cannot be scheduled.
func running() task.View {
	return task.View{
		Record: &task.Record{
			Submit:    task.Submit{ID: "abc12345", User: "user@example.com", Task: task.Spec{Name: "my-task", NumNodes: 2, Annotations: map[string]string{"commit": "4f2a91c"}}},
			CreatedAt: noon, UpdatedAt: second(1), UIDs: []string{"u0", "u1"}, Phase: task.Running,
		},
		Jobs: []*task.Job{{Phase: task.Pending}, {Phase: task.Pending}},
		Pods: []*task.Pod{
			{Name: "pod-0", Host: "host-1", Phase: task.Running, StartedAt: second(5)},
			{Name: "pod-1", Phase: task.Pending, Reason: "Unschedulable", Message: "0/3 nodes are available"},
		},
	}
}

func failed() task.View {
	v := running()
	r := *v.Record
	r.Phase, r.Reason, r.Message, r.UpdatedAt = task.Failed, "Error", "node 0: exit code 3", second(9)
	r.Nodes = []task.Node{
		{Rank: 0, Phase: task.Failed, Pod: "pod-0", Host: "host-1", ExitCode: new(3), Reason: "Error", StartedAt: new(second(5)), FinishedAt: new(second(8))},
		{Rank: 1, Phase: task.Failed, ExitCode: new(137), Reason: task.ReasonSibling, Message: "ended because node 0 failed"},
	}
	return task.View{Record: &r, Jobs: make([]*task.Job, 2), Pods: make([]*task.Pod, 2)}
}

func TestTheBodyOfATask(t *testing.T) {
	for name, v := range map[string]task.View{"running": running(), "failed": failed()} {
		t.Run(name, func(t *testing.T) {
			compare(t, "testdata/"+name+".golden.json", encodeTask(renderer{"default"}.task(v)))
		})
	}
}

func TestTheDeadlineOfATask(t *testing.T) {
	for name, v := range map[string]task.View{"running": running(), "failed": failed()} {
		r := *v.Record
		r.Submit.Task.MaxDuration, r.StartedAt, v.Record = "1m", second(5), &r
		m := renderer{}.task(v).Metadata
		if shown := m.Deadline != nil && m.Deadline.Equal(second(65)); m.MaxDuration != "1m" || shown != (name == "running") {
			t.Errorf("a task that is %s has %q and %v", name, m.MaxDuration, m.Deadline)
		}
	}
}

func TestTheBodyOfAVolume(t *testing.T) {
	v := task.VolumeView{
		VolumeRecord: &task.VolumeRecord{
			Create:    task.Create{ID: "1a2b3c4d", User: "user@example.com", Volume: task.Volume{Name: "my-volume", Size: "10Gi", StorageClass: new("standard")}},
			CreatedAt: noon, UID: "u",
		},
		Claim: &task.Claim{Phase: "Bound"},
	}
	compare(t, "testdata/volume.golden.json", encode(renderer{"default"}.volume(v)))
}

// compare compares a body with a file that contains the indented body.
func compare(t *testing.T, file string, body []byte) {
	t.Helper()
	var generic any
	must.Succeed(t, json.Unmarshal(body, &generic))
	got, err := json.MarshalIndent(generic, "", "  ")
	must.Succeed(t, err)
	got = append(got, '\n')
	if *update {
		must.Succeed(t, os.WriteFile(file, got, 0o600))
	}
	want := must.Read(t, file)
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got); go test -update writes it anew:\n%s", file, diff)
	}
}

// The field names of the specification, followed by the names that this project adds.
var (
	taskFields     = []string{"task_id", "name", "status", "created_at", "updated_at", "username", "metadata"}
	metadataFields = []string{"job_name", "namespace", "num_nodes", "node_jobs", "succeeded_nodes", "failed_nodes", "running_nodes", "pending_nodes"}
	volumeFields   = []string{"volume_id", "name", "size", "storage_class", "access_modes", "status", "created_at", "username", "metadata"}
	claimFields    = []string{"pvc_name", "namespace"}
)

func TestTheFieldsOfTheSpecificationAreThere(t *testing.T) {
	pending := running()
	pending.Record = &task.Record{Submit: pending.Submit, CreatedAt: noon, UpdatedAt: noon, Phase: task.Pending}
	for name, body := range map[string][]byte{
		"pending": encodeTask(renderer{}.task(pending)), "running": encodeTask(renderer{}.task(running())), "failed": encodeTask(renderer{}.task(failed())),
	} {
		fields(t, name, body, taskFields, metadataFields)
	}
	volume := task.VolumeView{VolumeRecord: &task.VolumeRecord{Create: task.Create{ID: "v"}}}
	fields(t, "a volume", encode(renderer{}.volume(volume)), volumeFields, claimFields)
}

func fields(t *testing.T, name string, body []byte, top, metadata []string) {
	t.Helper()
	var outer, inner map[string]json.RawMessage
	must.Succeed(t, json.Unmarshal(body, &outer))
	must.Succeed(t, json.Unmarshal(outer["metadata"], &inner))
	for _, f := range top {
		if _, ok := outer[f]; !ok {
			t.Errorf("%s: no field %s in %s", name, f, body)
		}
	}
	if len(outer) != len(top) {
		t.Errorf("%s: %d fields, want just those of the specification: %s", name, len(outer), body)
	}
	for _, f := range metadata {
		if _, ok := inner[f]; !ok {
			t.Errorf("%s: no field metadata.%s in %s", name, f, body)
		}
	}
}

func TestCounts(t *testing.T) {
	for _, tt := range []struct {
		name string
		v    task.View
		want [4]int // succeeded, failed, running, pending
	}{
		{"one runs, one waits", running(), [4]int{0, 0, 1, 1}},
		{"both failed", failed(), [4]int{0, 2, 0, 0}},
		{"one is done", func() task.View { v := running(); v.Jobs[0].Phase = task.Completed; return v }(), [4]int{1, 0, 0, 1}},
		{"both were stopped", func() task.View { v := running(); v.Phase = task.Stopped; return v }(), [4]int{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := renderer{}.task(tt.v).Metadata
			if got := [4]int{m.Succeeded, m.Failed, m.Running, m.Pending}; got != tt.want {
				t.Errorf("succeeded, failed, running, pending: %v, want %v", got, tt.want)
			}
		})
	}
}

func TestTimesAreUTC(t *testing.T) {
	var s struct {
		Created string `json:"created_at"`
		Updated string `json:"updated_at"`
	}
	must.Succeed(t, json.Unmarshal(encodeTask(renderer{}.task(running())), &s))
	if s.Created != "2025-10-05T12:34:56.789012345Z" || s.Updated != "2025-10-05T12:35:01.789012345Z" {
		t.Errorf("created at %s, updated at %s, the last change", s.Created, s.Updated)
	}
}

func TestPhasesOfAVolume(t *testing.T) {
	bound := &task.Claim{Phase: "Bound", StorageClass: new("standard")}
	for _, tt := range []struct {
		name   string
		record task.VolumeRecord
		claim  *task.Claim
		seen   bool
		want   string
		class  string
	}{
		{"nothing was created", task.VolumeRecord{}, nil, false, "Pending", ""},
		{"it was delayed", task.VolumeRecord{Reason: "QuotaExceeded"}, nil, false, "Pending", ""},
		{"the cluster does not show it yet", task.VolumeRecord{UID: "u"}, nil, false, "Pending", ""},
		{"the cluster has it", task.VolumeRecord{UID: "u"}, bound, true, "Bound", "standard"},
		{"it waits for its first pod", task.VolumeRecord{UID: "u"}, &task.Claim{Phase: "Pending"}, true, "Pending", ""},
		{"it lost what it was bound to", task.VolumeRecord{UID: "u"}, &task.Claim{Phase: "Lost"}, true, "Lost", ""},
		{"it was there and is gone", task.VolumeRecord{UID: "u"}, nil, true, "Lost", ""},
		{"Kubernetes refused it", task.VolumeRecord{Rejected: true, Reason: "Invalid"}, nil, false, "Failed", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := renderer{}.volume(task.VolumeView{VolumeRecord: &tt.record, Claim: tt.claim, Seen: tt.seen})
			class := ""
			if s.StorageClass != nil {
				class = *s.StorageClass
			}
			if s.Phase != tt.want || class != tt.class || s.Metadata.Reason != tt.record.Reason {
				t.Errorf("%s of class %q because of %q, want %s", s.Phase, class, s.Metadata.Reason, tt.want)
			}
		})
	}
}

func TestTheClassThatWasAskedForIsShown(t *testing.T) {
	v := task.VolumeView{VolumeRecord: &task.VolumeRecord{}, Claim: &task.Claim{StorageClass: new("standard")}}
	v.Create.Volume.StorageClass = new("fast")
	if got := (renderer{}).volume(v).StorageClass; got == nil || *got != "fast" {
		t.Errorf("class %v", got)
	}
}
