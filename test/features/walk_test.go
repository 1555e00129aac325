package features

import (
	"bufio"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"k8s-cli/pkg/client"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
	"k8s-cli/test/testkit/must"
)

// An operation is an operation of openapi.json, so that these tests cover every route that
// is added.
type operation struct {
	id, method, template string
	public               bool // needs no authentication
	ofPods               bool // needs an upload token
	streams              bool // its answer may be a stream
	flags                []string
	inGroup              bool // has a parameter that selects a group of tasks
	body                 bool
}

func operations(t *testing.T) (all []operation) {
	t.Helper()
	for _, template := range slices.Sorted(maps.Keys(description().paths)) {
		item, _ := description().paths[template].(map[string]any)
		for _, method := range slices.Sorted(maps.Keys(item)) {
			if method == "parameters" {
				continue
			}
			o := item[method]
			one := strings.ReplaceAll(template, "{file}", "start.js") // a file of the documentation has no owner
			found := operation{method: strings.ToUpper(method), template: one, body: at(o, "requestBody") != nil}
			found.id, _ = at(o, "operationId").(string)
			found.streams = at(o, "responses", "200", "content", "text/event-stream") != nil
			if by, said := at(o, "security").([]any); said {
				found.public = len(by) == 0
				found.ofPods = len(by) > 0 && at(by[0], "pod") != nil
			}
			parameters, _ := at(o, "parameters").([]any)
			for _, p := range parameters {
				if ref, ok := at(p, "$ref").(string); ok {
					p = at(description().root, strings.Split(strings.TrimPrefix(ref, "#/"), "/")...)
				}
				if at(p, "in") == "query" && at(p, "schema", "type") == "boolean" {
					name, _ := at(p, "name").(string)
					found.flags = append(found.flags, name)
				}
				found.inGroup = found.inGroup || at(p, "in") == "query" && at(p, "name") == "group"
			}
			all = append(all, found)
		}
	}
	return all
}

// withHeads returns the operations and a HEAD operation for each GET.
func withHeads(all []operation) []operation {
	for _, o := range all {
		if o.method == http.MethodGet {
			o.method = http.MethodHead
			all = append(all, o)
		}
	}
	return all
}

// paths returns the paths of an operation with these ids and hashes.
func (o operation) paths(t *testing.T, ids, sums []string) []string {
	t.Helper()
	paths := []string{o.template}
	for name, values := range map[string][]string{"{id}": ids, "{sum}": sums, "{rank}": {"0"}, "{group}": {map[bool]string{true: nobodysGroup, false: groupOfHers}[ids[0] == nobodysID]}} {
		var next []string
		for _, path := range paths {
			if !strings.Contains(path, name) {
				next = append(next, path)
				continue
			}
			for _, v := range values {
				next = append(next, strings.ReplaceAll(path, name, v))
			}
		}
		paths = next
	}
	if strings.Contains(paths[0], "{") {
		t.Fatalf("%s %s names something by %s: say here what of another user's could stand there", o.method, o.template, paths[0])
	}
	return paths
}

// An id and a hash that do not exist.
const (
	nobodysID    = "00000000"
	nobodysGroup = "group-of-nobody"
	nobodysSum   = "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"
)

// groupOfHers is the group of the task of an estate.
const groupOfHers = "group-of-hers"

// An estate is the objects of one user, and words that occur only in them.
type estate struct {
	task, volume, sum string
	words             []string
}

// settle creates an estate for the user: a running task with an archive, a name, a variable
// and a secret, and a volume.
func (u *user) settle(t *testing.T, name string) estate {
	t.Helper()
	u.put(t, map[string]string{"site/file": "contents-of-hers\n", "task.yaml": "name: task-of-hers\nworkdir: site\nenvs: {HERS: variable-of-hers}\nsecrets: {PASS: secret-of-hers}\n" + yaml("run", "echo line-of-hers\n"+endless)})
	has := estate{task: u.submitFile(t, "task.yaml", "--group", groupOfHers)}
	volume, err := u.CreateVolume(t.Context(), task.Volume{Name: "volume-of-hers", Size: "1Gi"})
	must.Succeed(t, err)
	has.volume = volume.ID
	u.await(t, has.task, task.Running)
	job := u.jobs(t, has.task)[0]
	has.sum = job.Spec.Template.Spec.InitContainers[0].Args[2]
	has.words = []string{
		name, task.Token(name), task.Owner(name), task.JobLabels(name, "", has.task, 0)[task.LabelUser], job.Name, string(job.UID), has.task, has.volume, has.sum,
		"contents-of-hers", "task-of-hers", "variable-of-hers", "secret-of-hers", "line-of-hers", "volume-of-hers", groupOfHers,
	}
	return has
}

// bodies are requests by which another user might reach an estate. SUM is the hash of the
// archive. Other operations get the body {}.
var bodies = map[string]string{
	"submitTask":   `{"name": "mine", "run": "true", "workdir": "~/sky_workdir", "uploads": {"~/sky_workdir": "SUM"}}`,
	"submitBatch":  `[{"name": "mine", "run": "true", "workdir": "~/sky_workdir", "uploads": {"~/sky_workdir": "SUM"}}]`,
	"createVolume": `{"name": "mine", "size": "1Gi"}`,
	"putUpload":    "not what it is the sum of",
}

// No operation of the API gives a user access to the objects of another user. The answer is
// the same as for an object that does not exist, and no answer contains a word of the
// estate.
func TestNoOperationCrossesUsers(t *testing.T) {
	t.Parallel()
	const name = "ann.hers@example.com"
	s := startForFiles(t, "--auth", "token", "--admins", "root",
		"--tokens-file", file(t, "tokens", fmt.Sprintf("%x %s\n%x bob\n", sha256.Sum256([]byte("anns")), name, sha256.Sum256([]byte("bobs")))))
	ann, bob := s.with(t, "anns"), s.with(t, "bobs")
	login := ann.prepare(t, "auth", "login", "--token-stdin")
	login.Stdin = strings.NewReader("anns\n")
	login.start(t)
	login.end(t).ok(t)
	hers := ann.settle(t, name)
	bobs := []string{"Authorization", "Bearer bobs", "Idempotency-Key", "k"}
	first := s.post(t, "", "/tasks/submit", `{"run": "true"}`, "Authorization", "Bearer anns", "Idempotency-Key", "k")
	if again := s.post(t, "", "/tasks/submit", `{"run": "true"}`, bobs...); again.code != http.StatusOK || string(again.body) == string(first.body) {
		t.Errorf("under a key of hers: %d %s", again.code, again.body)
	}

	for _, o := range withHeads(operations(t)) {
		t.Run(o.method+" "+o.id, func(t *testing.T) {
			at := o.paths(t, []string{hers.task, hers.volume}, []string{hers.sum})
			nowhere := o.paths(t, []string{nobodysID, nobodysID}, []string{nobodysSum})
			for i, path := range at {
				for _, query := range append([]string{""}, o.queries()...) {
					sent := o.request(hers.sum)
					got := s.send(t, o.method, "", path+query, sent, bobs...)
					hers.isUnheard(t, o, path+query, sent, got)
					if path == o.template {
						if query == "?all_users=true" && got.code != http.StatusForbidden {
							t.Errorf("%s %s: %d", o.method, path+query, got.code)
						}
						continue
					}
					none := s.send(t, o.method, "", nowhere[i]+query, o.request(nobodysSum), bobs...)
					if a, b := hers.anonymous(got), hers.anonymous(none); a != b || got.code < 400 {
						t.Errorf("%s %s: %s\nwhile of what nobody has: %s", o.method, path+query, a, b)
					}
				}
			}
		})
	}
	for path, live := range map[string]bool{"/events?last_event_id=0": true, "/events": false} {
		id := bob.submit(t, "name: mine\nrun: 'true'")
		if text := s.heard(t, path, id, live, "bobs"); hers.word(text) != "" {
			t.Errorf("GET %s as a stream of %v has %q: %s", path, live, hers.word(text), text)
		}
	}

	if got := ann.task(t, hers.task); got.Phase != task.Running {
		t.Errorf("after all this her task is %s", sketch(got))
	}
	if _, err := ann.Volume(t.Context(), hers.volume); err != nil {
		t.Errorf("after all this her volume: %v", err)
	}
	if has, err := ann.HasUpload(t.Context(), hers.sum); err != nil || !has {
		t.Errorf("after all this her archive: %v, %v", has, err)
	}
	log := ann.follow(t, hers.task, client.LogOptions{})
	log.awaitText(t, "line-of-hers\n")
	ann.stop(t, hers.task)
	if _, err := bob.Task(t.Context(), hers.task); !errors.Is(err, problem.NotFound) {
		t.Errorf("when it is over: %v", err)
	}
}

// queries returns query strings that request more than the default.
func (o operation) queries() (all []string) {
	for _, name := range o.flags {
		all = append(all, "?"+name+"=true")
	}
	if o.inGroup && !strings.HasPrefix(o.id, "submit") { // a submission makes a group of the caller's own
		all = append(all, "?group="+groupOfHers)
	}
	return all
}

func (o operation) request(sum string) []byte {
	body, said := bodies[o.id]
	switch {
	case !o.body:
		return nil
	case !said:
		return []byte("{}")
	}
	return []byte(strings.ReplaceAll(body, "SUM", sum))
}

// word returns the first word of the estate that text contains, or "".
func (e estate) word(text string) string {
	for _, w := range e.words {
		if strings.Contains(text, w) {
			return w
		}
	}
	return ""
}

// isUnheard checks that an answer contains no word of the estate, except words that were
// sent.
func (e estate) isUnheard(t *testing.T, o operation, path string, sent []byte, a answer) {
	t.Helper()
	text := fmt.Sprint(a.header) + string(a.body)
	for _, w := range e.words {
		if strings.Contains(path+string(sent), w) {
			text = strings.ReplaceAll(text, w, "")
		}
	}
	if w := e.word(text); w != "" {
		t.Errorf("%s %s: the answer %d has %q: %s", o.method, path, a.code, w, text)
	}
}

// anonymous returns an answer without what differs between any two answers, and without the
// ids that were requested.
func (e estate) anonymous(a answer) string {
	header := a.header.Clone()
	for _, name := range []string{"Date", "X-Request-Id", "Content-Length"} { // a word of the estate may be longer
		header.Del(name)
	}
	text := fmt.Sprint(a.code, header, string(a.body))
	return strings.NewReplacer(e.task, "ID", e.volume, "ID", nobodysID, "ID", e.sum, "SUM", nobodysSum, "SUM", groupOfHers, "GROUP", nobodysGroup, "GROUP").Replace(text)
}

// heard returns a list of events, or a stream of events up to the one that names a task.
func (s *server) heard(t *testing.T, path, id string, live bool, token string) string {
	t.Helper()
	if !live {
		return string(s.get(t, "", path, "Authorization", "Bearer "+token).body)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+path, nil)
	must.Succeed(t, err)
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Accept", "text/event-stream")
	response, err := http.DefaultClient.Do(r)
	must.Succeed(t, err)
	defer response.Body.Close()
	var text strings.Builder
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		text.WriteString(lines.Text() + "\n")
		if strings.Contains(lines.Text(), id) {
			return text.String()
		}
	}
	t.Fatalf("the stream ended without %s: %s", id, text.String())
	return ""
}
