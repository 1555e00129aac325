package features

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"k8s-cli/pkg/task"
)

// These tests compare the bodies with the specification, field by field, as any HTTP client
// gets them.

// object is a JSON object.
type object = map[string]any

// body decodes a successful answer, which must be JSON and have the Content-Type of JSON.
func body(t *testing.T, a answer) object {
	t.Helper()
	if kind := a.header.Get("Content-Type"); !strings.HasPrefix(kind, "application/json") {
		t.Errorf("the answer is of type %q", kind)
	}
	return decode[object](t, a)
}

// wants compares an answer with the documented answer.
func wants(t *testing.T, what string, a answer, want object) {
	t.Helper()
	if diff := cmp.Diff(want, body(t, a)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// idIn returns the id in an answer and checks that it has 8 characters, all allowed.
func idIn(t *testing.T, a answer, field, allowed string) string {
	t.Helper()
	id, _ := body(t, a)[field].(string)
	if len(id) != 8 || strings.Trim(id, allowed) != "" {
		t.Fatalf("%s is %q, want 8 characters of %s", field, id, allowed)
	}
	return id
}

const (
	digits  = "0123456789"
	letters = "abcdefghijklmnopqrstuvwxyz"
)

// moments checks the fields that contain a time, and removes them.
func moments(t *testing.T, o object, fields ...string) {
	t.Helper()
	for _, field := range fields {
		text, _ := o[field].(string)
		at, err := time.Parse(time.RFC3339Nano, text)
		if err != nil || !strings.HasSuffix(text, "Z") || time.Since(at) > time.Hour || time.Since(at) < -time.Minute {
			t.Errorf("%s is %v, want a time of now in RFC 3339 and UTC", field, o[field])
		}
		delete(o, field)
	}
}

// without removes fields from an object: fields that the project adds to the specification
// and that are not always present.
func without(o object, added ...string) {
	for _, field := range added {
		delete(o, field)
	}
}

func TestTaskResponseBodies(t *testing.T) {
	t.Parallel()
	s := start(t)
	const ann, bob = "ann@example.com", "bob"
	if got := s.get(t, ann, "/tasks"); string(got.body) != `{"tasks":[]}` {
		t.Errorf("the empty list is %s", got.body)
	}

	submitted := s.post(t, ann, "/tasks/submit", `{"name":"my-task","num_nodes":2,"run":"true","resources":{"image_id":"registry.invalid/none"}}`)
	first := idIn(t, submitted, "task_id", letters+digits)
	wants(t, "submit", submitted, object{
		"task_id": first,
		"status":  "submitted",
		"message": "Task submitted successfully with ID: " + first,
	})
	second := idIn(t, s.post(t, ann, "/tasks/submit", `{"run":"true","volumes":{"/data":"nowhere"}}`), "task_id", letters+digits)
	third := idIn(t, s.post(t, bob, "/tasks/submit", `{"run":"true","volumes":{"/data":"nowhere"}}`), "task_id", letters+digits)

	want := object{
		"task_id":  first,
		"name":     "my-task",
		"status":   "pending",
		"username": "ann-example.com",
		"metadata": object{
			"job_name":        "my-task-" + first,
			"namespace":       s.namespace,
			"num_nodes":       2.0,
			"node_jobs":       []any{"my-task-" + first + "-node-0", "my-task-" + first + "-node-1"},
			"succeeded_nodes": 0.0,
			"failed_nodes":    0.0,
			"running_nodes":   0.0,
			"pending_nodes":   2.0,
			"user":            ann,
		},
	}
	trim := func(status object) object {
		moments(t, status, "created_at", "updated_at")
		metadata, _ := status["metadata"].(object)
		without(metadata, "reason", "message", "hint", "position", "nodes")
		return status
	}
	if diff := cmp.Diff(want, trim(body(t, s.get(t, ann, "/tasks/"+first)))); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	list := body(t, s.get(t, ann, "/tasks"))
	tasks, _ := list["tasks"].([]any)
	if len(list) != 1 || len(tasks) != 2 {
		t.Fatalf("the list is %v, want two tasks", list)
	}
	if got := tasks[0].(object)["task_id"]; got != second {
		t.Errorf("the list begins with %v, want the newest, %s", got, second)
	}
	if diff := cmp.Diff(want, trim(tasks[1].(object))); diff != "" {
		t.Errorf("the status in the list (-want +got):\n%s", diff)
	}

	for range 2 {
		wants(t, "stop", s.post(t, ann, "/tasks/"+first+"/stop", ""), object{
			"task_id": first, "status": "stopped", "message": "Task " + first + " stopped successfully",
		})
	}
	if got := body(t, s.get(t, ann, "/tasks/"+first))["status"]; got != "stopped" {
		t.Errorf("after the stop the status is %v", got)
	}
	stopAll := func(path string, count int, message string) {
		t.Helper()
		wants(t, path, s.post(t, ann, path, ""), object{"count": float64(count), "status": "stopped", "message": message})
	}
	stopAll("/tasks/stop", 1, "Stopped 1 tasks")
	stopAll("/tasks/stop", 0, "Stopped 0 tasks")
	stopAll("/tasks/stop?all_users=true", 1, "Stopped 1 tasks for all users")
	stopAll("/tasks/stop?all_users=false", 0, "Stopped 0 tasks")
	s.get(t, ann, "/tasks/"+third).wants(t, 404, "Task "+third+" not found")
	s.get(t, ann, "/tasks/none").wants(t, 404, "Task none not found")
	s.post(t, ann, "/tasks/none/stop", "").wants(t, 404, "Task none not found")
}

func TestVolumeResponseBodies(t *testing.T) {
	t.Parallel()
	s := start(t)
	const ann = "ann@example.com"
	if got := s.get(t, ann, "/volumes"); string(got.body) != `{"volumes":[]}` {
		t.Errorf("the empty list is %s", got.body)
	}
	created := s.post(t, ann, "/volumes/create", `{"name":"my-volume","size":"10Gi","storage_class":"nobody-provides","access_modes":["ReadWriteOnce"]}`)
	first := idIn(t, created, "volume_id", "abcdef"+digits)
	wants(t, "create", created, object{
		"volume_id": first,
		"status":    "created",
		"message":   "Volume created successfully with ID: " + first,
	})
	second := idIn(t, s.post(t, ann, "/volumes/create", `{"name":"other","size":"1Ti"}`), "volume_id", "abcdef"+digits)
	want := object{
		"volume_id":     first,
		"name":          "my-volume",
		"size":          "10Gi",
		"storage_class": "nobody-provides",
		"access_modes":  []any{"ReadWriteOnce"},
		"status":        "Pending",
		"username":      "ann-example.com",
		"metadata":      object{"pvc_name": "my-volume-" + first, "namespace": s.namespace, "user": ann},
	}
	trim := func(status object) object {
		moments(t, status, "created_at")
		without(status["metadata"].(object), "reason", "message", "hint")
		return status
	}
	if diff := cmp.Diff(want, trim(body(t, s.get(t, ann, "/volumes/"+first)))); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	list := body(t, s.get(t, ann, "/volumes"))
	volumes, _ := list["volumes"].([]any)
	if len(list) != 1 || len(volumes) != 2 || volumes[0].(object)["volume_id"] != second {
		t.Fatalf("the list is %v, want two volumes, %s first", list, second)
	}
	if diff := cmp.Diff(want, trim(volumes[1].(object))); diff != "" {
		t.Errorf("the status in the list (-want +got):\n%s", diff)
	}
	wants(t, "delete", s.delete(t, ann, "/volumes/"+first), object{
		"volume_id": first, "status": "deleted", "message": "Volume " + first + " deleted successfully",
	})
	s.get(t, ann, "/volumes/"+first).wants(t, 404, "Volume "+first+" not found")
	s.delete(t, ann, "/volumes/"+first).wants(t, 404, "Volume "+first+" not found")
	s.get(t, ann, "/volumes/none").wants(t, 404, "Volume none not found")
}

func TestHealthNeedsNoUser(t *testing.T) {
	t.Parallel()
	ann := newUser(t)
	wants(t, "health", ann.get(t, "", "/"), object{"status": "ok", "service": "k8s-cli-api"})
	if got := ann.get(t, "", "/healthz"); got.code != http.StatusOK {
		t.Errorf("/healthz: %d %s", got.code, got.body)
	}
	eventually(t, "the server leads and lacks nothing", func() (string, bool) {
		got := ann.get(t, "", "/readyz")
		var health struct {
			Ready, Leading bool
			Degraded       []string
		}
		err := json.Unmarshal(got.body, &health)
		return string(got.body), err == nil && got.code == http.StatusOK && health.Ready && health.Leading && len(health.Degraded) == 0
	})
}

// A task may be sent as its file. Integers may be strings, and unset fields may be null.
func TestAcceptedRequestBodies(t *testing.T) {
	t.Parallel()
	ann := newUser(t)
	for name, tt := range map[string]struct{ kind, body string }{
		"the task file":             {"application/yaml", "name: x\nnum_nodes: 2\nvolumes: {/data: nowhere}\nrun: |\n  true\n"},
		"JSON of another type":      {"application/problem+json", `{"name":"x","num_nodes":2,"volumes":{"/data":"nowhere"},"run":"true"}`},
		"JSON with a character set": {"application/json; charset=utf-8", `{"name":"x","num_nodes":"2","volumes":{"/data":"nowhere"},"run":"true"}`},
		"null for what is not set": {"application/json", `{"name":"x","workdir":null,"num_nodes":2,"resources":null,"envs":null,"file_mounts":null,
			"volumes":{"/data":"nowhere"},"setup":null,"run":"true"}`},
		"all documented fields": {"application/json", `{"name":"x","num_nodes":2,"workdir":"/","resources":{"cpus":"2","memory":"4Gi","accelerators":"1",
			"instance_type":"m5","use_spot":true,"disk_size":100,"ports":[8080],"image_id":"python:3.11"},"envs":{"A":"b"},
			"file_mounts":{},"volumes":{"/data":"nowhere"},"setup":"true","run":"true"}`},
	} {
		t.Run(name, func(t *testing.T) {
			got := ann.post(t, ann.name, "/tasks/submit", tt.body, "Content-Type", tt.kind)
			status := decode[task.Status](t, ann.get(t, ann.name, "/tasks/"+decode[task.Submitted](t, got).ID))
			if status.Name != "x" || status.Metadata.NumNodes != 2 {
				t.Errorf("the task is %q with %d nodes", status.Name, status.Metadata.NumNodes)
			}
		})
	}
	warned := decode[task.Submitted](t, ann.post(t, ann.name, "/tasks/submit", `{"run":"true","service":{"replicas":2},"resources":{"zone":"b","disk_size":100},"volumes":{"/data":"nowhere"}}`))
	if text := strings.Join(warned.Warnings, " "); !strings.Contains(text, "service: ignored") || !strings.Contains(text, "resources.zone") || !strings.Contains(text, "disk_size") {
		t.Errorf("the warnings are %q, want one for each field that is not honoured", warned.Warnings)
	}
}
