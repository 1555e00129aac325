package crash

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s-cli/pkg/crash"
	"k8s-cli/pkg/submit/objects"
	"k8s-cli/pkg/task"
	"k8s-cli/test/testkit"
)

const user = "ann@example.com"

// A scenario runs all commands and facts on tasks and volumes, with a first server that does
// not survive the scenario.
type scenario struct {
	*cluster
	t       *testing.T
	step    crash.Step     // the step at which the first server ends
	now     *server        // the current server
	next    func() *server // starts the next server
	rival   bool           // another server leads if the first server loses its Lease
	regrets bool           // the user stops the current task after its server has ended

	ids      map[string]string // by name
	nodes    map[string]int
	end      map[string]task.Phase // the phase in which a task must end
	current  string                // name of the current task
	volumes  map[string]string
	replaced bool
}

// newStory returns a scenario that has not begun.
func newStory(t *testing.T, c *cluster, step crash.Step) *scenario {
	t.Helper()
	return &scenario{
		cluster: c, t: t, step: step,
		ids: map[string]string{}, nodes: map[string]int{}, volumes: map[string]string{},
		end: map[string]task.Phase{},
	}
}

// flags returns the flags of all servers of the scenario. These flags make the server reach
// all points of the step.
func (s *scenario) flags(more ...string) []string {
	flags := []string{"--listen", "127.0.0.1:0", "--namespace", s.namespace, "--kubeconfig", os.Getenv(testkit.EnvKubeconfig)}
	if s.step == crash.AppendExpireHistory {
		flags = append(flags, "--history-tasks", "4") // for the tasks that are stopped at the end
	}
	if s.uploads() || s.step == crash.AppendOutputsStored {
		flags = append(flags, "--advertise-url", "http://127.0.0.1", "--keep-uploads", "1s")
	}
	return append(flags, more...)
}

// grows reports whether the scenario fills the log until the leader compacts the log.
func (s *scenario) grows() bool {
	return s.step == crash.AppendSnapshotMarker || s.step == crash.AppendSnapshotStored
}

// uploads reports whether the scenario uploads files that are deleted later.
func (s *scenario) uploads() bool {
	return s.step == crash.AppendUpload || s.step == crash.AppendDeleteUploads
}

// upload stores files that no task needs, and waits until they are deleted.
func (s *scenario) upload() {
	s.t.Helper()
	const content = "files"
	sum := sha256.Sum256([]byte(`"` + content + `"`)) // in JSON
	path := "/uploads/" + hex.EncodeToString(sum[:])
	s.do(http.MethodPut, path, "", content, http.StatusOK)
	s.eventually("the upload is gone", func() (string, bool) {
		return "", strings.Contains(string(s.do(http.MethodGet, path, "", nil, http.StatusOK, http.StatusNotFound)), "not found")
	})
}

// leaveOutputs sends the outputs of a node, as its pod does.
func (s *scenario) leaveOutputs() {
	s.t.Helper()
	const name = "outputs"
	s.accept(name, 1, task.Spec{Name: name, Run: "true", Outputs: []string{"results"}, Resources: task.Resources{CPUs: "1000000"}})
	s.runs(name)
	path := "/tasks/" + s.ids[name] + "/outputs/0"
	s.eventually("the outputs are stored", func() (string, bool) {
		secret, err := s.CoreV1().Secrets(s.namespace).Get(s.t.Context(), task.ServiceName(name, s.ids[name]), metav1.GetOptions{})
		if err != nil {
			return err.Error(), false
		}
		if !testkit.Closed(s.now.ready.Found()) {
			return "it is not ready", false
		}
		got, err := s.now.ask(s.t.Context(), http.MethodPut, path, "", "outputs", "Authorization", "Bearer "+string(secret.Data["outputs.token-0"]))
		return fmt.Sprint(string(got.Body), err), err == nil && got.Code == http.StatusOK
	})
	if got := s.do(http.MethodGet, path, "", nil, http.StatusOK); strings.TrimSpace(string(got)) != `"outputs"` {
		s.t.Errorf("the outputs are %q", got)
	}
	s.current = ""
}

// logOut begins a session of a browser and ends it. After a crash, the session is valid or has
// ended, and it ends at the next attempt.
func (s *scenario) logOut() {
	s.t.Helper()
	var cookie string
	var begun struct {
		Key string `json:"session_key"`
	}
	s.eventually("the session has ended", func() (string, bool) {
		method, want := http.MethodDelete, http.StatusUnauthorized
		if cookie == "" {
			method, want = http.MethodPost, 0
		}
		if !testkit.Closed(s.now.ready.Found()) {
			return "it is not ready", false
		}
		got, err := s.now.ask(s.t.Context(), method, "/session", "", map[string]string{"user": user}, "X-Requested-With", "k8s-cli-ui", "Cookie", cookie, "X-Session-Key", begun.Key)
		if err == nil && method == http.MethodPost && got.Code == http.StatusOK {
			cookie, _, _ = strings.Cut(got.Header.Get("Set-Cookie"), ";")
			if err := json.Unmarshal(got.Body, &begun); err != nil {
				s.t.Fatal(err)
			}
		}
		return fmt.Sprint(string(got.Body), err), err == nil && got.Code == want
	})
}

// restart makes the node of a task fail and start again, which the log contains once.
func (s *scenario) restart() {
	s.t.Helper()
	const name = "again"
	s.accept(name, 1, task.Spec{Name: name, Run: "true", Resources: task.Resources{CPUs: "1000000", JobRecovery: task.Recovery{Restarts: 1}}})
	if s.runs(name); !s.stopped(name) {
		s.play(s.t, s.jobs(name)[0], corev1.PodRunning)
		s.play(s.t, s.jobs(name)[0], corev1.PodFailed)
	}
	s.eventually("the restart of task "+name, func() (string, bool) {
		got := string(s.do(http.MethodGet, "/tasks/"+s.ids[name]+"/events", "", nil, http.StatusOK))
		if n := strings.Count(got, `"type":"restart"`); n > 1 {
			s.t.Fatalf("%d restarts: %s", n, got)
		}
		return got, strings.Contains(got, `"type":"restart"`)
	})
	s.current = ""
}

const bigScript = 100 << 10 // bytes

// grow submits large tasks that get no Jobs, so that the log grows.
func (s *scenario) grow() {
	s.t.Helper()
	for _, name := range []string{"big", "bigger"} {
		t := task.Spec{Name: name, Run: strings.Repeat("#", bigScript), Volumes: map[string]string{"/data": "nowhere"}}
		s.accept(name, 1, t)
		s.current = ""
	}
}

const starts = 5 // at most, until a server is ready

// awaitReady waits until a server is ready or has reached its crash point. A server that ends
// earlier, because it waited too long for what it needs, is started again, as a cluster would do.
func (s *scenario) awaitReady(one *server) *server {
	s.t.Helper()
	for n := 1; ; n++ {
		testkit.Wait(s.t, patience, "a server to be ready", one.ready.Found(), one.reached.Found(), one.Ended())
		switch {
		case testkit.Closed(one.ready.Found()) || one.isReached():
			return one
		case n == starts:
			s.t.Fatalf("the server ended before it was ready: %s", one.Said())
		}
		one = one.again()
	}
}

// replace starts the next server in place of one that has ended.
func (s *scenario) replace() {
	s.t.Helper()
	testkit.Wait(s.t, patience, "the crash point", s.now.reached.Found(), s.now.Ended())
	if s.replaced {
		s.t.Fatalf("another server is gone: %s", s.now.Said())
	}
	s.replaced = true
	s.now = s.next()
	if s.regrets && s.current != "" {
		s.regret(s.current)
	}
}

// regret stops the current task, which may be over.
func (s *scenario) regret(name string) {
	s.t.Helper()
	s.stop(name)
	var got task.Status
	s.decode(s.do(http.MethodGet, "/tasks/"+s.ids[name], "", nil, http.StatusOK), &got)
	s.end[name] = got.Phase
}

// do sends a request until a server answers with one of these codes, and returns the answer.
func (s *scenario) do(method, path, key string, body any, codes ...int) []byte {
	s.t.Helper()
	var answered []byte
	s.eventually(method+" "+path, func() (string, bool) {
		if !testkit.Closed(s.now.ready.Found()) {
			return "it is not ready", false
		}
		a, err := s.now.ask(s.t.Context(), method, path, key, body)
		switch {
		case errors.Is(err, errGone):
			s.replace()
		case err != nil:
			s.t.Fatal(err)
		case slices.Contains(codes, a.Code):
			answered = a.Body
			return "", true
		case a.Code != http.StatusServiceUnavailable:
			s.t.Fatalf("%s %s answers %d: %s", method, path, a.Code, a.Body)
		}
		return string(a.Body), false
	})
	return answered
}

// eventually waits for a condition and replaces a server that has ended.
func (s *scenario) eventually(what string, check func() (string, bool)) {
	s.t.Helper()
	eventually(s.t, what, func() (string, bool) {
		if s.now.isReached() || !s.now.Running() {
			s.replace()
		}
		return check()
	})
}

func (s *scenario) decode(raw []byte, into any) {
	s.t.Helper()
	if err := json.Unmarshal(raw, into); err != nil {
		s.t.Fatalf("%v: %s", err, raw)
	}
}

// submit submits a task that fits no node. A task with volumes also has secrets.
func (s *scenario) submit(name string, nodes int, volumes map[string]string) {
	s.t.Helper()
	t := task.Spec{Name: name, NumNodes: nodes, Run: "true", Resources: task.Resources{CPUs: "1000000"}, Volumes: volumes}
	if len(volumes) > 0 {
		t.Secrets = map[string]string{"TOKEN": "hidden"}
	}
	s.accept(name, nodes, t)
}

func (s *scenario) accept(name string, nodes int, t task.Spec) {
	s.t.Helper()
	s.current = ""
	var got task.Submitted
	s.decode(s.do(http.MethodPost, "/tasks/submit", "key-"+name, t, http.StatusOK), &got)
	s.ids[name], s.nodes[name], s.current = got.ID, nodes, name
}

func (s *scenario) jobs(name string) []string { return task.JobNames(name, s.ids[name], s.nodes[name]) }

// runs waits until the Jobs of a task exist and are not suspended.
func (s *scenario) runs(name string) {
	s.t.Helper()
	s.eventually("the Jobs of "+name+" may run", func() (string, bool) {
		return sprint(s.there()), s.stopped(name) || s.cluster.runs(s.jobs(name))
	})
}

func (s *scenario) stopped(name string) bool { return s.end[name] == task.Stopped }

func (s *scenario) stop(name string) {
	s.t.Helper()
	s.do(http.MethodPost, "/tasks/"+s.ids[name]+"/stop", "", nil, http.StatusOK)
	s.end[name] = task.Stopped
}

// await waits until the status of a task satisfies ok.
func (s *scenario) await(name, what string, ok func(task.Status) bool) {
	s.t.Helper()
	s.eventually("task "+name+" is "+what, func() (string, bool) {
		if s.stopped(name) {
			return "", true
		}
		var got task.Status
		s.decode(s.do(http.MethodGet, "/tasks/"+s.ids[name], "", nil, http.StatusOK), &got)
		return fmt.Sprintf("%s (%s: %s)", got.Phase, got.Metadata.Reason, got.Metadata.Message), ok(got)
	})
}

// ends waits until a task is in its final phase.
func (s *scenario) ends(name string, phase task.Phase) {
	s.t.Helper()
	s.await(name, string(phase), func(t task.Status) bool { return t.Phase == phase })
	if !s.stopped(name) {
		s.end[name] = phase
	}
}

func (s *scenario) create(name string) {
	s.t.Helper()
	s.current = ""
	var got task.Created
	body := task.Volume{Name: name, Size: "1Gi", StorageClass: new("")}
	s.decode(s.do(http.MethodPost, "/volumes/create", "key-"+name, body, http.StatusOK), &got)
	s.volumes[name] = got.ID
}

func (s *scenario) claim(name string) string { return "claim " + task.ClaimName(name, s.volumes[name]) }

// awaitClaim waits until the claim of a volume exists.
func (s *scenario) awaitClaim(name string) {
	s.t.Helper()
	s.eventually("claim of volume "+name, func() (string, bool) {
		return sprint(s.there()), slices.Contains(s.there(), s.claim(name))
	})
}

// loseClaim deletes the claim of a volume by hand and waits until the log contains the loss.
// The status of the volume shows the loss earlier. A server that has not yet recorded the
// claim when the claim is deleted creates the claim again; loseClaim deletes that claim too.
func (s *scenario) loseClaim(name string) {
	s.t.Helper()
	s.eventually("volume "+name+" is lost", func() (string, bool) {
		got := s.do(http.MethodGet, "/volumes/"+s.volumes[name]+"/events", "", nil, http.StatusOK)
		if strings.Contains(string(got), `"status":"`+task.VolumeLost+`"`) {
			return "", true
		}
		claim := task.ClaimName(name, s.volumes[name])
		s.expectAgain("claim " + claim) // the log may not contain the claim yet
		err := s.CoreV1().PersistentVolumeClaims(s.namespace).Delete(s.t.Context(), claim, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			s.t.Fatal(err)
		}
		return string(got), false
	})
}

// place creates the objects of a task and a volume without a record in the log.
func (s *scenario) place() {
	s.t.Helper()
	submitted := task.Submit{ID: "adopted0", User: user, Image: "image", Task: task.Spec{
		Name: "adopted", NumNodes: 2, Run: "true", Resources: task.Resources{CPUs: "1000000"},
	}}
	record := &task.Record{Submit: submitted, Hash: submitted.Hash(), CreatedAt: time.Now().UTC()}
	for _, job := range objects.Jobs(record, s.namespace) {
		if _, err := s.BatchV1().Jobs(s.namespace).Create(s.t.Context(), job, metav1.CreateOptions{}); err != nil {
			s.t.Fatalf("place job %s: %v", job.Name, err)
		}
	}
	created := task.Create{ID: "ad09ed00", User: user, Volume: task.Volume{Name: "adopted", Size: "1Gi", StorageClass: new("")}}
	volume := &task.VolumeRecord{Create: created, Hash: created.Hash(), CreatedAt: time.Now().UTC()}
	if _, err := s.CoreV1().PersistentVolumeClaims(s.namespace).Create(s.t.Context(), objects.Claim(volume, s.namespace), metav1.CreateOptions{}); err != nil {
		s.t.Fatalf("place a claim: %v", err)
	}
	s.ids["adopted"], s.nodes["adopted"], s.volumes["adopted"] = submitted.ID, 2, created.ID
}

// asleep waits until a server has stopped itself at its crash point.
func (s *scenario) asleep(one *server) {
	s.t.Helper()
	eventually(s.t, "the server sleeps", one.isStopped)
}

// awaitLeading waits until a server leads: a server that is continued before another one leads
// remains the leader.
func (s *scenario) awaitLeading(one *server) {
	s.t.Helper()
	testkit.Wait(s.t, patience, "the other server to lead", one.Line(leadingLine).Found())
}

// wake continues a stopped server and waits until the server has noticed that it no longer
// leads, so that what it had begun is finished.
func (s *scenario) wake(one *server) {
	s.t.Helper()
	one.Signal(syscall.SIGCONT)
	testkit.Wait(s.t, patience, "the server that slept to stop leading", one.Line(stoppedLine).Found(), one.Ended())
}
