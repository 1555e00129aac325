package features

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"k8s-cli/pkg/task"
	"k8s-cli/test/testkit"
	"k8s-cli/test/testkit/must"
)

// An exception is a command of a page that does not run, or that needs more than the shell.
type exception struct {
	elsewhere string   // why the command does not run in TestPages, and what runs it instead
	until     string   // the command does not end; the text after which the test interrupts it
	code      int      // exit code
	absent    []string // keys of the JSON on the page that the output may lack
}

const (
	reasonDeploy   = "installs the chart on a cluster of its own: make deploy-test, and test/chart for the rendered objects"
	reasonRegistry = "needs a registry: the tests of deploy/image push to one"
	reasonCluster  = "starts or stops a cluster: make test does so before the tests"
	reasonTest     = "compiles and runs other tests or measurements: TestExceptionsOfPages checks their names"
	reasonIssuer   = "needs an OpenID Connect issuer: cmd/k8s-cli/testdata/script/login.txtar and login-terminal.txtar"
	reasonModule   = "needs a program in a module of its own: TestGoPrograms writes such programs"
	reasonBuckets  = "needs credentials for a store: the tests of --bucket-secrets have a store of their own"
	reasonAccount  = "needs an account of a cloud service, and its program: nothing runs it"
	reasonChart    = "needs the Deployment of the chart: the scene of the page stops and starts the server instead"
)

// exceptions has the key of each command (see shown.key).
var exceptions = map[string]exception{
	"make run": {until: "The server runs at http://"},

	// README.md
	"k8s-cli jobs logs mqp6bsu4 --node 1 --tail 100 --grep 'ERROR|Traceback'":                      {code: 100},
	"k8s-cli jobs wait mqp6bsu4 nw9gsjt7":                                                          {code: 100},
	"k8s-cli jobs rerun mqp6bsu4 --env EPOCHS=5":                                                   {code: 100},
	"k8s-cli jobs shell mqp6bsu4":                                                                  {elsewhere: "needs a terminal and a running task: TestSessionsInTasks and the scene of docs/exec.md"},
	"k8s-cli jobs list --watch":                                                                    {until: "Multi_Node.x"},
	"bin/k8s-cli-server --kubeconfig ~/.kube/config --namespace tasks --data-dir /var/lib/k8s-cli": {until: "msg=ready"},
	"bin/k8s-cli-server --nats-url nats://nats-0:4222,nats://nats-1:4222 --nats-replicas 3":        {elsewhere: "needs three NATS nodes: test/faults starts servers with these flags"},
	"make deploy": {elsewhere: reasonDeploy},
	"make push IMAGE=registry.example.com/team/k8s-cli-server:v1":                                              {elsewhere: reasonRegistry},
	"KUBECONFIG=~/.kube/config make deploy IMAGE=registry.example.com/team/k8s-cli-server:v1 AUTH=tokenreview": {elsewhere: reasonDeploy},

	// docs/api.md
	"curl -iH 'X-User: ann@example.com' 'localhost:8000/tasks?status=failed,stopped&since=2d&sort=-ended&limit=50&view=row'": {absent: []string{"reason", "started", "gpus"}},
	"curl -H 'X-User: ann@example.com' localhost:8000/summary":                                                               {absent: []string{"InBacklog", "oldest", "tasks_per_second"}},

	// docs/auth.md
	"k8s-cli auth login":              {elsewhere: reasonIssuer},
	"k8s-cli auth login --no-browser": {elsewhere: reasonIssuer},
	"k8s-cli auth login --device":     {elsewhere: reasonIssuer},

	// docs/exec.md
	"k8s-cli jobs port-forward mqp6bsu4 8888": {until: "Forwarding "},

	// docs/notifications.md
	"k8s-cli jobs notify-secret": {elsewhere: "prints a secret of its own for each server: cmd/k8s-cli/testdata/script/notify.txtar"},

	// docs/buckets.md
	"make push PROGRAM=k8s-cli-bucket IMAGE=registry.example.com/team/k8s-cli-bucket:v1":                                                                                   {elsewhere: reasonRegistry},
	"kubectl -n tasks create secret generic bucket-users --from-env-file=credentials.env":                                                                                  {elsewhere: reasonBuckets},
	"k8s-cli-server --bucket-secrets='s3://team-data/{user}/=bucket-users,s3://public-data=bucket-readers'":                                                                {elsewhere: reasonBuckets},
	"k8s-cli jobs submit train.yaml --secret-file credentials.env":                                                                                                         {elsewhere: reasonBuckets},
	"aws iam create-user --user-name k8s-cli-team":                                                                                                                         {elsewhere: reasonAccount},
	"aws iam put-user-policy --user-name k8s-cli-team --policy-name buckets --policy-document file://policy.json":                                                          {elsewhere: reasonAccount},
	"aws iam create-access-key --user-name k8s-cli-team":                                                                                                                   {elsewhere: reasonAccount},
	"gcloud iam service-accounts create k8s-cli-team":                                                                                                                      {elsewhere: reasonAccount},
	"gcloud storage buckets add-iam-policy-binding gs://team-data --role=roles/storage.objectUser --member=serviceAccount:k8s-cli-team@my-project.iam.gserviceaccount.com": {elsewhere: reasonAccount},
	"gcloud iam service-accounts keys create key.json --iam-account=k8s-cli-team@my-project.iam.gserviceaccount.com":                                                       {elsewhere: reasonAccount},
	"az storage container generate-sas --account-name myaccount --name team-data --permissions racwl --expiry 2027-12-31 --https-only --output tsv":                        {elsewhere: reasonAccount},

	// docs/development.md
	"go test ./pkg/cache/state -run 'TestKeys$'":                       {elsewhere: reasonTest},
	"go test -race -count=10 ./pkg/queue -run TestAppendReturns":       {elsewhere: reasonTest},
	"go test ./pkg/cache/state -run '^$' -fuzz FuzzFold -fuzztime 30s": {elsewhere: reasonTest},
	"make test-features RUN=TestStopWins":                              {elsewhere: reasonTest},
	"make faults SCENARIO=kills ROUNDS=20 SEED=7":                      {elsewhere: reasonTest},
	"make attack ONLY='^names/'":                                       {elsewhere: reasonTest},
	"make bench ONLY='status|list' ROUNDS=3":                           {elsewhere: reasonTest},
	"go test ./pkg/cache -run '^$' -bench Fold":                        {elsewhere: reasonTest},

	// docs/events.md
	"curl -N -H 'X-User: ann@example.com' -H 'Accept: text/event-stream' localhost:8000/tasks/zt9bk0y5/events": {absent: []string{"cpus"}},
	"nats sub 'event.>'":                                      {until: `"task_id"`},
	"nats sub 'event.*.ann=40example=2Ecom.>'":                {until: `"task_id"`},
	"nats --token $TOKEN sub 'event.*.ann=40example=2Ecom.>'": {until: `"task_id"`},

	// docs/go.md
	"go mod edit -require k8s-cli@v0.0.0 -replace k8s-cli=../k8s-cli": {elsewhere: reasonModule},
	"go mod tidy": {elsewhere: reasonModule},

	// docs/operations.md
	"kubectl -n k8s-cli port-forward k8s-cli-nats-0 4222 &": {elsewhere: reasonChart},
	"export K8S_CLI_NATS_URL=nats://server:$(kubectl -n k8s-cli get secret k8s-cli-nats -o jsonpath='{.data.password}' | base64 -d)@127.0.0.1": {elsewhere: reasonChart},
	"kubectl -n k8s-cli get secret k8s-cli-key -o yaml > key.yaml":                                                                             {elsewhere: reasonChart},
	"kubectl -n k8s-cli scale deployment k8s-cli --replicas 0":                                                                                 {elsewhere: reasonChart},
	"kubectl -n k8s-cli scale deployment k8s-cli --replicas 1":                                                                                 {elsewhere: reasonChart},
	"kubectl -n k8s-cli scale deployment k8s-cli --replicas 3":                                                                                 {elsewhere: reasonChart},

	// docs/metrics.md
	"OTEL_EXPORTER_OTLP_ENDPOINT=http://collector:4318 bin/k8s-cli-server": {until: "msg=ready"},
}

// scenes has the scene of each page with commands that run.
var scenes = map[string]func(t *testing.T) scene{
	"README.md":          readmeScene,
	"docs/api.md":        apiScene,
	"docs/auth.md":       authScene,
	"docs/events.md":     eventsScene,
	"docs/exec.md":       execScene,
	"docs/metrics.md":    tracingScene,
	"docs/operations.md": backupScene,
	"docs/taskfile.md":   filesScene,
}

// newScene returns a scene with a user of s, whose home has the examples and the programs.
func newScene(t *testing.T, s *server) scene {
	t.Helper()
	u := s.as(t, "ann@example.com")
	u.login(t)
	must.Succeed(t, os.CopyFS(filepath.Join(u.home, "examples"), os.DirFS(examples)))
	must.Succeed(t, os.Symlink(os.Getenv(testkit.EnvPrograms), filepath.Join(u.home, "bin")))
	changeKubeconfig(t, filepath.Join(u.home, ".kube", "config"), func(c *clientcmdapi.Config) {
		c.Contexts[c.CurrentContext].Namespace = u.namespace // the namespace of the server
	})
	return scene{user: u, replace: []string{"localhost:8000", strings.TrimPrefix(s.url, "http://")}}
}

// changeKubeconfig writes a changed copy of the kubeconfig of the cluster.
func changeKubeconfig(t *testing.T, path string, change func(*clientcmdapi.Config)) {
	t.Helper()
	config, err := clientcmd.LoadFromFile(os.Getenv(envKubeconfig))
	must.Succeed(t, err)
	must.Succeed(t, clientcmd.ResolveLocalPaths(config))
	change(config)
	must.Succeed(t, clientcmd.WriteToFile(*config, path))
}

const (
	failsOnTwo = "name: Multi_Node.x\nnum_nodes: 2\nrun: |\n  echo ERROR: rank $NODE_RANK >&2\n  exit 7\n"
	train      = "name: train\nenvs: {EPOCHS: 1, LR: 1}\nrun: echo $EPOCHS epochs with a rate of $LR\n"
)

func readmeScene(t *testing.T) scene {
	s := newScene(t, startForFiles(t))
	u, other := s.user, join(t)
	hello, failed := u.submit(t, "name: hello\nrun: true"), u.submit(t, failsOnTwo) // the page lists the newest task first
	u.await(t, hello, task.Completed)
	u.await(t, failed, task.Failed)
	volume, err := u.CreateVolume(t.Context(), task.Volume{Name: "old", Size: "1Gi"})
	must.Succeed(t, err)
	for name, text := range map[string]string{"train.yaml": train, "a.yaml": "run: true\n", "b.yaml": "run: true\n"} {
		must.Write(t, filepath.Join(u.home, name), text)
	}
	directory, err := filepath.Abs(checkout)
	must.Succeed(t, err)
	address, kubeconfig := testkit.ClosedPort(t), filepath.Join(u.home, ".kube", "config")
	s.env = append(goEnvironment(t), "KUBECONFIG="+kubeconfig, "K8S_CLI_LISTEN="+address, "K8S_CLI_NAMESPACE="+other.namespace)
	s.replace = append(s.replace, "mqp6bsu4", failed, "mqp6", failed[:4], "nw9gsjt7", hello, "1b3c5d7f", volume.ID, "H100:1", "-",
		"make ", "make -C "+directory+" ", "--namespace tasks", "--namespace "+other.namespace, "/var/lib/k8s-cli", "~/log")
	s.after = func(t *testing.T) { // make run stores the log of a cluster under a checksum of its kubeconfig
		remove := `rm -rf ".local/data-$(cksum <<<"$KUBECONFIG" | cut -d" " -f1)"`
		c := exec.CommandContext(t.Context(), "bash", "-c", remove)
		c.Dir, c.Env = directory, append(os.Environ(), "KUBECONFIG="+kubeconfig)
		if out, err := c.CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	}
	return s
}

// goEnvironment returns the variables with which Go finds its caches from another home.
func goEnvironment(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOPATH", "GOFLAGS", "GOPROXY", "GOTOOLCHAIN"} {
		value, err := exec.CommandContext(t.Context(), "go", "env", name).Output()
		must.Succeed(t, err)
		all = append(all, name+"="+strings.TrimSpace(string(value)))
	}
	return all
}

func apiScene(t *testing.T) scene {
	s := newScene(t, start(t))
	for range 51 { // a page and one task
		s.user.submit(t, idle)
	}
	s.user.cli(t, "jobs", "stop", "--all").ok(t)
	return s
}

// execScene has a running task of two nodes.
func execScene(t *testing.T) scene {
	s := newScene(t, start(t, "--allow-exec"))
	id := s.user.submit(t, "num_nodes: 2\n"+yaml("run", endless))
	s.user.awaitWhere(t, id, "runs on both nodes", func(s task.Status) bool { return s.Metadata.Running == 2 })
	must.Write(t, filepath.Join(s.user.home, "config.json"), "{}")
	s.replace = append(s.replace, "mqp6bsu4", id, " 8888", " :8888")
	return s
}

// authScene has one server for each way to log in.
func authScene(t *testing.T) scene {
	s := newScene(t, start(t))
	c := s.user.cluster
	tokens := filepath.Join(s.user.home, "tokens")
	must.Write(t, tokens, fmt.Sprintf("%x bob\n", sha256.Sum256([]byte("the token of bob"))))
	byToken := c.serve(t, "--auth", "token", "--tokens-file", tokens)
	reviewed, audience := c.serve(t, "--auth", "tokenreview"), c.serve(t, "--auth", "tokenreview", "--token-audience", "k8s-cli")
	with := filepath.Join(s.user.home, "with-token")
	changeKubeconfig(t, with, func(config *clientcmdapi.Config) {
		config.AuthInfos[config.Contexts[config.CurrentContext].AuthInfo] = &clientcmdapi.AuthInfo{Token: c.token(t, "ann")}
	})
	s.env = []string{"KUBECONFIG=" + filepath.Join(s.user.home, ".kube", "config"), "PATH=" + os.Getenv(testkit.EnvPrograms) + ":" + kubectl(t) + ":" + os.Getenv("PATH")}
	const login = "k8s-cli auth login "
	s.replace = append(s.replace,
		// The server reads the file of tokens within a second.
		login+"--token-stdin < token", "printf %s \"$token\" > token; until K8S_CLI_API_URL="+byToken.url+" "+login+"--token-stdin < token; do sleep 0.1; done",
		login+"--from-kubeconfig", "KUBECONFIG="+with+" K8S_CLI_API_URL="+reviewed.url+" "+login+"--from-kubeconfig",
		"| "+login+"--token-stdin", "| K8S_CLI_API_URL="+audience.url+" "+login+"--token-stdin")
	return s
}

// kubectl returns the directory of the kubectl of the local cluster. The first call of this
// kubectl builds it.
func kubectl(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(filepath.Dir(os.Getenv(envKubeconfig)), "bin")
	if _, err := os.Stat(dir + "/kubectl"); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), dir+"/kubectl", "version", "--client").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return dir
}

func eventsScene(t *testing.T) scene {
	c, open, closed := join(t), testkit.ClosedPort(t), testkit.ClosedPort(t)
	s := newScene(t, c.serve(t, "--nats-listen", open, "--data-dir", t.TempDir()))
	tokens := file(t, "tokens", fmt.Sprintf("%x ann@example.com\n", sha256.Sum256([]byte("token-of-ann"))))
	other := join(t).serve(t, "--nats-listen", closed, "--data-dir", t.TempDir(), "--auth", "token", "--tokens-file", tokens)
	id := s.user.submit(t, "run: true")
	s.user.await(t, id, task.Completed)
	keepStopping(t, s.user, other.with(t, "token-of-ann"))
	s.env = []string{"NATS_URL=nats://" + open, "TOKEN=token-of-ann"}
	s.replace = append(s.replace, "zt9bk0y5", id, "nats --token", "nats --server nats://"+closed+" --token")
	return s
}

// keepStopping submits and stops tasks until the test ends, so that subscribers receive
// events.
func keepStopping(t *testing.T, users ...*user) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	t.Cleanup(func() { cancel(); <-done })
	go func() {
		defer close(done)
		waits := task.Spec{Run: "true", Volumes: map[string]string{"/data": "nowhere"}}
		for every := time.NewTicker(200 * time.Millisecond); ; {
			select {
			case <-ctx.Done():
				return
			case <-every.C:
			}
			for _, u := range users {
				got, err := u.Submit(ctx, waits)
				if err == nil {
					_, err = u.Stop(ctx, got.ID)
				}
				if err != nil && ctx.Err() == nil {
					t.Error(err)
					return
				}
			}
		}
	}()
}

// backupScene restores a backup into the NATS from which the backup was made, and checks that
// the server has the same tasks as before.
func backupScene(t *testing.T) scene {
	nats := external(t)
	s := newScene(t, start(t, "--nats-url", nats))
	u := s.user
	id := u.submit(t, "run: true")
	u.await(t, id, task.Completed)
	for range 20 {
		u.submit(t, idle)
	}
	u.cli(t, "jobs", "stop", "--all").ok(t)
	before := u.tasks(t)
	s.env = []string{"K8S_CLI_NATS_URL=" + nats}
	s.before = map[string]func(*testing.T){
		"k8s-cli-server restore --replace backup": func(t *testing.T) {
			u.submit(t, idle) // after the backup
			u.process.terminate(t)
		},
	}
	s.after = func(t *testing.T) {
		restored := u.again(t).as(t, u.name)
		if diff := cmp.Diff(before, restored.tasks(t)); diff != "" {
			t.Errorf("tasks (-before +restored):\n%s", diff)
		}
		restored.stop(t, restored.submit(t, idle)) // the log accepts commands
	}
	return s
}

func filesScene(t *testing.T) scene {
	s := newScene(t, startForFiles(t))
	must.Write(t, filepath.Join(s.user.home, "examples", "index.html"), "<p>hello\n")
	must.Succeed(t, os.Symlink("examples", filepath.Join(s.user.home, "site")))
	return s
}

func tracingScene(t *testing.T) scene {
	s, to, other := newScene(t, start(t)), collect(t), join(t)
	must.Write(t, filepath.Join(s.user.home, "train.yaml"), train)
	s.env = []string{"K8S_CLI_LISTEN=127.0.0.1:0", "K8S_CLI_NATS_LISTEN=off", "K8S_CLI_NAMESPACE=" + other.namespace}
	s.replace = append(s.replace, "http://collector:4318", to.URL)
	s.after = func(t *testing.T) {
		if !to.has("k8s-cli", "k8s-cli jobs submit") {
			t.Error("the collector has no span of the command")
		}
	}
	return s
}
