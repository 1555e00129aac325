package main

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"k8s-cli/cmd/k8s-cli/internal/show"
	"k8s-cli/pkg/client"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/callback"
	"k8s-cli/pkg/task/logpos"
	"k8s-cli/pkg/task/overview"
	"k8s-cli/pkg/task/query"
	"k8s-cli/test/testkit/issuer"
)

// A fakeServer implements the documented API for one script. A task is over as soon as it
// is submitted. Variables of the task set its behaviour:
//
//	PHASE   phase of the task, completed by default
//	LOG     log of the task
//	REASON, MESSAGE, WARNING   texts in the status and in the answer to the submission
//	BREAK   ends the connection after the log
//	PROBLEM why there are no samples of what the nodes use
//	THEN    phase after a client has subscribed to the events of the task
type fakeServer struct {
	mu      sync.Mutex
	tasks   []task.Status // oldest first
	specs   map[string]task.Spec
	volumes []task.VolumeStatus
	uploads map[string]bool // by user and SHA-256 sum
	forgot  bool            // the upload of the task "unlucky" was deleted once
	log     []string        // of uploads; a script can read it as the log of a task
	issuer  *issuer.Issuer
	*http.ServeMux
}

// newFakeServer returns a server whose issuer redirects to elsewhere. The caller closes the
// issuer.
func newFakeServer(elsewhere string) *fakeServer {
	f := &fakeServer{specs: map[string]task.Spec{}, uploads: map[string]bool{}, issuer: newFakeIssuer(elsewhere), ServeMux: http.NewServeMux()}
	for pattern, handle := range map[string]func(r *http.Request) (any, error){
		"POST /tasks/submit":    f.submit,
		"POST /tasks/preview":   f.preview,
		"POST /tasks/batch":     f.batch,
		"GET /tasks/{id}":       f.status,
		"GET /tasks/{id}/spec":  f.spec,
		"GET /tasks/{id}/top":   f.top,
		"POST /tasks/{id}/stop": f.stop,
		"POST /tasks/stop":      f.stopAll,
		"POST /volumes/create":  f.create,
		"GET /volumes":          f.listVolumes,
		"GET /volumes/{id}":     f.volume,
		"DELETE /volumes/{id}":  f.delete,
		"GET /capacity":         f.capacity,
		"GET /notify/secret":    func(*http.Request) (any, error) { return callback.Secret{Secret: "whsec_c2VjcmV0"}, nil },
		"GET /groups":           f.listGroups,
		"GET /groups/{group}":   f.group,
	} {
		f.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { f.answer(w, r, handle) })
	}
	f.HandleFunc("GET /tasks", f.list)
	f.doors()
	f.HandleFunc("GET /tasks/{id}/logs", f.logs)
	f.HandleFunc("GET /uploads", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"max_bytes": 100000}`) })
	f.HandleFunc("GET /uploads/{sum}", f.upload)
	f.HandleFunc("PUT /uploads/{sum}", f.upload)
	f.HandleFunc("GET /tasks/{id}/events", f.events)
	f.HandleFunc("GET /volumes/{id}/events", f.events)
	f.HandleFunc("GET /tasks/{id}/port-forward", forbidden)
	f.HandleFunc("GET /events", f.groupEvents)
	return f
}

func (f *fakeServer) answer(w http.ResponseWriter, r *http.Request, handle func(r *http.Request) (any, error)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	body, err := handle(r)
	if err != nil {
		code := http.StatusNotFound
		if errors.Is(err, errMissing) {
			code = http.StatusConflict
		}
		w.WriteHeader(code)
		body = task.Detail{Detail: err.Error()}
	}
	_ = json.NewEncoder(w).Encode(body)
}

func sees(r *http.Request, user string) bool {
	return user == r.Header.Get("X-User") || r.FormValue("all_users") == "true"
}

// at returns the creation time of object n. Objects are created one minute apart.
func at(n int) time.Time { return time.Date(2026, 1, 2, 3, n, 0, 0, time.UTC) }

func (f *fakeServer) submit(r *http.Request) (any, error) {
	var t task.Spec
	if err := json.NewDecoder(r.Body).Decode(&t); err != nil {
		return nil, err
	}
	return f.take(r, t, r.FormValue("group"))
}

func (f *fakeServer) preview(r *http.Request) (any, error) {
	var t task.Spec
	if err := json.NewDecoder(r.Body).Decode(&t); err != nil {
		return nil, err
	}
	if t.Name == "refused" {
		return nil, fmt.Errorf("this server takes no task of that name")
	}
	object := fmt.Sprintf(`{"kind":"Job","metadata":{"name":%q},"spec":{"suspend":false}}`, task.DisplayName(t.Name, "task0000"))
	return task.NewPreview([]json.RawMessage{[]byte(object)}, nil), nil
}

func (f *fakeServer) batch(r *http.Request) (any, error) {
	var all []client.Item
	if err := json.NewDecoder(r.Body).Decode(&all); err != nil {
		return nil, err
	}
	var b task.Batch
	before := len(f.tasks)
	for _, t := range all {
		got, err := f.take(r, t.Spec, t.Group)
		switch {
		case err != nil && r.FormValue("atomic") == "true":
			f.tasks = f.tasks[:before]
			return nil, err
		case errors.Is(err, errMissing):
			b.Results = append(b.Results, task.BatchResult{Code: http.StatusConflict, Detail: err.Error()})
		case err != nil:
			b.Results = append(b.Results, task.BatchResult{Code: http.StatusUnprocessableEntity, Detail: err.Error()})
		default:
			b.Results = append(b.Results, task.BatchResult{ID: got.ID, Status: got.Status, Warnings: got.Warnings})
		}
	}
	return b, nil
}

func (f *fakeServer) take(r *http.Request, t task.Spec, group string) (none task.Submitted, err error) {
	if t.Name == "refused" {
		return none, fmt.Errorf("this server takes no task of that name")
	}
	if t.Name == "forgetful" { // deletes all uploads, as after their retention
		clear(f.uploads)
	}
	n, user := len(f.tasks)+1, r.Header.Get("X-User")
	for _, sum := range t.Sums() {
		if key := user + " " + sum; !f.uploads[key] || t.Name == "unlucky" && !f.forgot {
			delete(f.uploads, key)
			f.forgot = true
			return none, errMissing
		}
	}
	id := fmt.Sprintf("task%04d", n)
	s := task.Status{
		ID: id, Name: task.DisplayName(t.Name, id), Phase: task.Completed,
		CreatedAt: at(n), UpdatedAt: at(n), Username: task.Sanitized(user),
		Metadata: task.Metadata{
			JobName: task.JobName(t.Name, id, 0, 1), Namespace: "default", NumNodes: t.Nodes(),
			NodeJobs: task.JobNames(t.Name, id, t.Nodes()), User: user, Group: group,
			Reason: t.Envs["REASON"], Message: t.Envs["MESSAGE"], Nodes: []task.Node{}, Annotations: t.Annotations,
		},
	}
	if phase := t.Envs["PHASE"]; phase != "" {
		s.Phase = task.Phase(phase)
	}
	for rank, job := range s.Metadata.NodeJobs {
		s.Metadata.Nodes = append(s.Metadata.Nodes, task.Node{Rank: rank, Phase: s.Phase, Job: job, Pod: job + "-x", Host: "node-a", ExitCode: new(0)})
	}
	f.tasks, f.specs[id] = append(f.tasks, s), t
	var warnings []string
	if w := t.Envs["WARNING"]; w != "" {
		warnings = []string{w}
	}
	if t.Resources.DiskSize > 0 {
		warnings = append(warnings, "resources.disk_size: not used; put large data on a volume")
	}
	return task.NewSubmitted(id, warnings), nil
}

var errMissing = errors.New("uploads: it is not here")

// upload accepts an archive and logs the names of its files.
func (f *fakeServer) upload(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	key := r.Header.Get("X-User") + " " + r.PathValue("sum")
	if r.Method != http.MethodPut {
		if !f.uploads[key] {
			w.WriteHeader(http.StatusNotFound)
		}
		return
	}
	names, err := namesIn(r.Body)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	f.uploads[key] = true
	f.log = append(f.log, r.Header.Get("X-User")+": "+names)
}

// namesIn returns the names of the files in an archive.
func namesIn(archive io.Reader) (string, error) {
	zip, err := gzip.NewReader(archive)
	if err != nil {
		return "", err
	}
	var names []string
	for files := tar.NewReader(zip); ; {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			return strings.Join(names, " "), nil
		}
		if err != nil {
			return "", err
		}
		names = append(names, h.Name)
	}
}

// list returns the tasks that the parameters select, newest first.
func (f *fakeServer) list(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	q, err := query.Parse(r.URL.Query())
	if err != nil {
		w.WriteHeader(http.StatusUnprocessableEntity)
		_ = json.NewEncoder(w).Encode(task.Detail{Detail: err.Error()})
		return
	}
	writeList(w, q, slices.DeleteFunc(slices.Clone(f.tasks), func(s task.Status) bool { return !sees(r, s.Metadata.User) }))
}

// writeList writes the tasks, oldest first, that q selects.
func writeList(w http.ResponseWriter, q query.Tasks, tasks []task.Status) {
	tasks = slices.DeleteFunc(slices.Clone(tasks), func(s task.Status) bool {
		return !selects(q, s) || q.User != "" && q.User != s.Metadata.User
	})
	slices.Reverse(tasks)
	if q.Sort == query.ByName {
		slices.SortStableFunc(tasks, func(a, b task.Status) int { return strings.Compare(a.Name, b.Name) })
	}
	w.Header().Set("X-Total-Count", strconv.Itoa(len(tasks)))
	if q.Limit > 0 && q.Limit < len(tasks) {
		tasks = tasks[:q.Limit]
	}
	if q.View == query.Full {
		_ = json.NewEncoder(w).Encode(task.List{Tasks: append([]task.Status{}, tasks...)})
		return
	}
	rows := overview.Rows{Tasks: []overview.Row{}}
	for _, r := range show.RowsOf(tasks) {
		r.GPUs = "H100:8"
		rows.Tasks = append(rows.Tasks, r.Row)
	}
	_ = json.NewEncoder(w).Encode(rows)
}

// selects reports whether a task matches the filters that the fake server knows.
func selects(q query.Tasks, s task.Status) bool {
	return (len(q.Phases) == 0 || slices.Contains(q.Phases, s.Phase)) && (q.Name == "" || q.Name == s.Name) &&
		(q.Group == "" || q.Group == s.Metadata.Group) && strings.HasPrefix(s.Name, q.NamePrefix)
}

func (f *fakeServer) find(r *http.Request) (*task.Status, error) {
	for i := range f.tasks {
		if f.tasks[i].ID == r.PathValue("id") && sees(r, f.tasks[i].Metadata.User) {
			return &f.tasks[i], nil
		}
	}
	return nil, fmt.Errorf("Task %s not found", r.PathValue("id"))
}

func (f *fakeServer) spec(r *http.Request) (any, error) {
	if _, err := f.status(r); err != nil {
		return nil, err
	}
	t := f.specs[r.PathValue("id")]
	t.Secrets = maps.Clone(t.Secrets)
	for name := range t.Secrets {
		t.Secrets[name] = task.Redacted
	}
	return t, nil
}

func (f *fakeServer) status(r *http.Request) (any, error) { return f.find(r) }

// top returns samples of all nodes of a task. Each node after the first used more at its maximum.
func (f *fakeServer) top(r *http.Request) (any, error) {
	s, err := f.find(r)
	if err != nil {
		return nil, err
	}
	spec := f.specs[s.ID]
	t := task.TopTask{ID: s.ID, Name: s.Name, Phase: s.Phase, Requested: spec.Resources.Amounts(), Problem: spec.Envs["PROBLEM"]}
	for _, n := range s.Metadata.Nodes {
		sample := task.TopNode{Rank: n.Rank, Phase: n.Phase}
		if t.Problem == "" {
			t.SampledAt = new(time.Now().Add(-90 * time.Minute))
			sample.Used, sample.MaxUsed = &task.Amounts{CPUs: 0.1, Memory: 600 << 20}, &task.Amounts{CPUs: float64(n.Rank) + 0.25, Memory: 700 << 20}
		}
		t.Nodes = append(t.Nodes, sample)
	}
	return t, nil
}

func (f *fakeServer) stop(r *http.Request) (any, error) {
	s, err := f.find(r)
	if err != nil {
		return nil, err
	}
	if !s.Phase.Over() {
		s.Phase = task.Stopped
	}
	return task.NewStopResponse(s.ID), nil
}

func (f *fakeServer) stopAll(r *http.Request) (any, error) {
	count := 0
	q, err := query.ParseStop(r.URL.Query())
	if err != nil {
		return nil, err
	}
	for i := range f.tasks {
		if s := &f.tasks[i]; sees(r, s.Metadata.User) && !s.Phase.Over() && selects(q, *s) {
			s.Phase = task.Stopped
			count++
		}
	}
	return task.NewStopAllResponse(count, r.FormValue("all_users") == "true"), nil
}

// logs returns the LOG of a task. If the request has a query, the query precedes the LOG.
func (f *fakeServer) logs(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s, err := f.find(r)
	if err != nil {
		w.WriteHeader(http.StatusNotFound)
		_ = json.NewEncoder(w).Encode(task.Detail{Detail: err.Error()})
		return
	}
	if numbers := r.FormValue("lines"); numbers != "" {
		numberedLines(w, numbers)
		return
	}
	if r.URL.RawQuery != "" {
		fmt.Fprintln(w, r.URL.RawQuery)
	}
	spec := f.specs[s.ID]
	if spec.Envs["LOG"] == "uploads" {
		raw, _ := json.Marshal(slices.Sorted(maps.Keys(spec.Uploads)))
		fmt.Fprintf(w, "workdir %s, uploads %s\n%s\n", spec.Workdir, raw, strings.Join(f.log, "\n"))
		return
	}
	_, _ = io.WriteString(w, spec.Envs["LOG"])
	if spec.Envs["BREAK"] != "" {
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

// forbidden rejects a session as a server does without --allow-exec.
func forbidden(w http.ResponseWriter, _ *http.Request) {
	w.WriteHeader(http.StatusForbidden)
	_ = json.NewEncoder(w).Encode(task.Detail{Detail: "sessions in tasks are disabled"})
}

// numberedLines returns lines of a log of 25,000 lines.
func numberedLines(w http.ResponseWriter, numbers string) {
	const total = 25_000
	lines, err := logpos.ParseRange(numbers)
	if err != nil {
		w.WriteHeader(http.StatusUnprocessableEntity)
		return
	}
	if lines = lines.Page(); lines.First == 0 {
		lines = logpos.Range{First: total - lines.Tail + 1, Last: total}
	}
	part := logpos.Part{Total: total}
	if lines.First <= total {
		part.First, part.Last = lines.First, min(lines.Last, total)
	}
	w.Header().Set(logpos.Header, part.String())
	for n := part.First; n > 0 && n <= part.Last; n++ {
		fmt.Fprintln(w, "line", n)
	}
}

// events returns the events of a task or a volume.
func (f *fakeServer) events(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if strings.HasPrefix(r.URL.Path, "/volumes/") {
		_ = json.NewEncoder(w).Encode(task.EventList{Events: []task.Event{{
			ID: task.EventID{Seq: 2, N: 1}, Time: at(1), Type: task.EventPhase, Kind: task.KindVolume, VolumeID: r.PathValue("id"), Status: task.VolumePending,
		}}})
		return
	}
	s, err := f.find(r)
	if err != nil {
		w.WriteHeader(http.StatusNotFound)
		_ = json.NewEncoder(w).Encode(task.Detail{Detail: err.Error()})
		return
	}
	var l task.EventList
	happened := func(t task.EventType, p task.Phase, reason, message string) {
		n := len(l.Events) + 1
		l.Events = append(l.Events, task.Event{
			ID: task.EventID{Seq: 2, N: n}, Time: at(n), Type: t, Kind: task.KindTask, TaskID: s.ID, Name: s.Name,
			User: s.Metadata.User, Status: string(p), Reason: reason, Message: message,
		})
	}
	happened(task.EventPhase, task.Pending, "", "")
	happened(task.EventProgress, task.Pending, "QuotaExceeded", "no room")
	if then := task.Phase(f.specs[s.ID].Envs["THEN"]); then != "" {
		s.Phase = then
	}
	happened(task.EventPhase, s.Phase, s.Metadata.Reason, s.Metadata.Message)
	if r.Header.Get("Accept") != "text/event-stream" {
		_ = json.NewEncoder(w).Encode(l)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for _, e := range l.Events {
		raw, _ := json.Marshal(e)
		fmt.Fprintf(w, "id: %s\ndata: %s\n\n", e.ID, raw)
	}
}

func (f *fakeServer) create(r *http.Request) (any, error) {
	var v task.Volume
	if err := json.NewDecoder(r.Body).Decode(&v); err != nil {
		return nil, err
	}
	n, user := len(f.volumes)+1, r.Header.Get("X-User")
	id := fmt.Sprintf("%08x", n)
	s := task.VolumeStatus{
		ID: id, Name: v.Name, Size: v.Size, AccessModes: v.AccessModes, Phase: task.VolumeBound,
		CreatedAt: at(n), Username: task.Sanitized(user),
		Metadata: task.VolumeMetadata{ClaimName: task.ClaimName(v.Name, id), Namespace: "default", User: user},
	}
	s.StorageClass = v.StorageClass
	f.volumes = append(f.volumes, s)
	return task.NewCreated(id, nil), nil
}

func (f *fakeServer) listVolumes(r *http.Request) (any, error) {
	answer := task.VolumeList{Volumes: []task.VolumeStatus{}}
	for _, v := range f.volumes {
		if sees(r, v.Metadata.User) && !strings.HasPrefix(v.Name, "deleted-") {
			answer.Volumes = append([]task.VolumeStatus{v}, answer.Volumes...)
		}
	}
	return answer, nil
}

func (f *fakeServer) findVolume(r *http.Request) (*task.VolumeStatus, error) {
	for i, v := range f.volumes {
		if v.ID == r.PathValue("id") && sees(r, v.Metadata.User) && !strings.HasPrefix(v.Name, "deleted-") {
			return &f.volumes[i], nil
		}
	}
	return nil, fmt.Errorf("Volume %s not found", r.PathValue("id"))
}

func (f *fakeServer) volume(r *http.Request) (any, error) { return f.findVolume(r) }

func (f *fakeServer) delete(r *http.Request) (any, error) {
	v, err := f.findVolume(r)
	if err != nil {
		return nil, err
	}
	v.Name = "deleted-" + v.Name
	return task.NewDeleted(v.ID), nil
}

// capacity returns the capacity of a cluster with two machines. To the user blind, the server
// cannot see the machines.
func (f *fakeServer) capacity(r *http.Request) (any, error) {
	amounts := func(cpus float64, gib, gpus int64) overview.Amounts {
		return overview.Amounts{CPUs: cpus, Memory: gib << 30, GPUs: gpus, Pods: 110}
	}
	if r.Header.Get("X-User") == "blind" {
		return overview.Capacity{}, nil
	}
	return overview.Capacity{
		Known: true, Waiting: overview.Amounts{CPUs: 4.5, Memory: 2 << 30, GPUs: 8, Pods: 1},
		GPUs: []overview.GPUModel{{Model: "H100", Nodes: 1, Largest: 8, Allocatable: 8, Requested: 6, Free: 2, LargestFree: 2}},
		Nodes: []overview.Node{
			{Name: "gpu-1", GPU: "H100", Ready: true, Schedulable: true, Resources: overview.Resources{Allocatable: amounts(64, 512, 8), Free: amounts(31.5, 256, 2)}},
			{Name: "old", Taint: "node.kubernetes.io/unschedulable:NoSchedule", Ready: true, Resources: overview.Resources{Allocatable: amounts(8, 16, 0), Free: amounts(8, 16, 0)}},
		},
	}, nil
}
