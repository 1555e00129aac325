package objects

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/bucket"
)

// TestBucketsInTheHomeDirectory runs the entrypoint of a task with buckets below ~.
func TestBucketsInTheHomeDirectory(t *testing.T) {
	r := &task.Record{Submit: task.Submit{Task: task.Spec{Run: "x", Buckets: bucket.Mounts{"~/of/data": {URL: "s3://data"}, "~/of/a b": {URL: "s3://data"}}}}}
	for _, tt := range []struct{ name, before, run, said string }{
		{"a new path", "", "cat ~/of/data/file", "data\n"},
		{"an empty directory", "mkdir -p ~/of/data", "cat ~/of/data/file", "data\n"},
		{"a link of an earlier pod", "mkdir ~/of && ln -s $DIR/1 ~/of/data && ln -s $DIR/gone ~/of/'a b'", "cat ~/of/data/file", "data\n"},
		{"a path with a blank", "", "cd ~/of && echo new >data/new && cat 'a b/file' && [ -z \"${K8S_CLI_BUCKETS-}\" ]", "blank\n"},
		{"a directory with files", "mkdir -p ~/of/data/x", "echo ran", "k8s-cli: cannot put a bucket at ~/of/data"},
		{"a file above", "touch ~/of", "echo ran", "k8s-cli: cannot put a bucket at ~/of/a b"},
	} {
		for shell, path := range shells(t) {
			t.Run(tt.name+" in "+shell, func(t *testing.T) {
				dir := t.TempDir()
				for n, text := range map[string]string{"0": "blank\n", "1": "data\n"} {
					if err := os.MkdirAll(filepath.Join(dir, n), 0o755); err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(filepath.Join(dir, n, "file"), []byte(text), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				if err := os.WriteFile(filepath.Join(dir, "run"), []byte(tt.run), 0o600); err != nil {
					t.Fatal(err)
				}
				script := strings.NewReplacer(bucket.Dir, dir, task.ScriptDir, dir, "/dev/termination-log", dir+"/why").Replace(entrypoint(r, nil))
				env := []string{"HOME=" + t.TempDir(), "DIR=" + dir, bucketsEnv + "=" + bucketLinks(r.Submit.Task)}
				if tt.before != "" {
					before := exec.CommandContext(t.Context(), "/bin/sh", "-c", tt.before)
					before.Env = append(env, "PATH="+os.Getenv("PATH"))
					if out, err := before.CombinedOutput(); err != nil {
						t.Fatalf("%v: %s", err, out)
					}
				}
				c := exec.CommandContext(t.Context(), "/bin/sh", "-c", startIn(path), script, "")
				c.Env = append(env, "PATH="+path)
				out, err := c.CombinedOutput()
				failed := strings.HasPrefix(tt.said, "k8s-cli: ")
				if (code(t, err) != 0) != failed || !failed && string(out) != tt.said || failed && !strings.Contains(string(out), tt.said) {
					t.Errorf("%v: printed %q, want %q", err, out, tt.said)
				}
				if why, _ := os.ReadFile(dir + "/why"); failed && !strings.Contains(string(why), tt.said) {
					t.Errorf("termination message %q", why)
				}
			})
		}
	}
}

// TestNodesWaitForTheirBuckets runs the entrypoint of a task whose sidecar has this result.
func TestNodesWaitForTheirBuckets(t *testing.T) {
	r := &task.Record{Submit: task.Submit{Task: task.Spec{Run: "x", Workdir: "/", Buckets: bucket.Mounts{"/data": {URL: "s3://data", Mode: bucket.Mount}}}}}
	for _, tt := range []struct {
		name, result, run string
		code              int
		why               string
	}{
		{"everything is stored", "stored", "echo ran", 0, ""},
		{"the scripts fail", "stored", "exit 3", 3, ""},
		{"a file is not stored", "the store is full", "echo ran", 1, "k8s-cli: some files were not sent to their buckets: the store is full\n"},
		{"both", "the store is full", "exit 3", 3, ""},
		{"the sidecar is gone", "", "echo ran", 1, "k8s-cli: some files were not sent to their buckets: the container bucket-sender has not responded for 2 s\n"},
	} {
		for shell, path := range shells(t) {
			t.Run(tt.name+" in "+shell, func(t *testing.T) {
				dir := t.TempDir()
				if err := os.WriteFile(filepath.Join(dir, "run"), []byte(tt.run), 0o600); err != nil {
					t.Fatal(err)
				}
				script := strings.NewReplacer(controlDir, dir, task.ScriptDir, dir, "/dev/termination-log", dir+"/why", "left="+senderTimeout, "left=2", "for "+senderTimeout, "for 2").Replace(entrypoint(r, nil))
				c := exec.CommandContext(t.Context(), "/bin/sh", "-c", startIn(path), script, "/")
				c.Env = []string{"PATH=" + path}
				if err := c.Start(); err != nil {
					t.Fatal(err)
				}
				for done := false; !done; { // the sidecar
					_, err := os.Stat(filepath.Join(dir, "done"))
					done = err == nil
				}
				if tt.result != "" {
					if err := os.WriteFile(filepath.Join(dir, "result"), []byte(tt.result), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				if got := code(t, c.Wait()); got != tt.code {
					t.Errorf("exit code %d, want %d", got, tt.code)
				}
				if why, _ := os.ReadFile(dir + "/why"); string(why) != tt.why {
					t.Errorf("termination message %q, want %q", why, tt.why)
				}
			})
		}
	}
}

// TestOnlyTransfersGetCredentials checks which containers get which variables, and that the plan
// contains no value of a variable.
func TestOnlyTransfersGetCredentials(t *testing.T) {
	r := given{Submit: task.Submit{ID: "abc12345", User: "ann", Image: "python", Transfer: bucket.Transfer{Image: "mover", Max: 7}, Task: task.Spec{
		Run:     "true",
		Envs:    map[string]string{"AWS_REGION": "of-envs", "AWS_ACCESS_KEY_ID": "of-envs", "OTHER": "x"},
		Secrets: map[string]string{"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "GOOGLE_CREDENTIALS": ""},
		Buckets: bucket.Mounts{"/data": {URL: "s3://data/x"}},
	}}}.record()
	spec := Jobs(r, "default")[0].Spec.Template.Spec
	names := func(c corev1.Container) (all []string) {
		for _, v := range c.Env {
			all = append(all, v.Name)
		}
		return all
	}
	mover := spec.InitContainers[0]
	if got := names(mover); !slices.Equal(got, []string{transferEnv, "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION"}) {
		t.Errorf("variables of the transfer: %q", got)
	}
	if from := mover.Env[1].ValueFrom; from == nil || from.SecretKeyRef.Key != "AWS_ACCESS_KEY_ID" {
		t.Errorf("the key is not that of the secret: %+v", mover.Env[1])
	}
	own := spec.Containers[0]
	for name, wanted := range map[string]bool{"AWS_REGION": true, "OTHER": true, "GOOGLE_CREDENTIALS": true, "AWS_ACCESS_KEY_ID": false, "AWS_SECRET_ACCESS_KEY": false} {
		if slices.Contains(names(own), name) != wanted {
			t.Errorf("%s: in the container of the task: %t", name, !wanted)
		}
	}
	for _, v := range own.Env {
		if v.Name == variablesEnv && v.Value != "AWS_REGION GOOGLE_CREDENTIALS OTHER" {
			t.Errorf("the scripts set %s", v.Value)
		}
	}
	var p plan
	if err := json.Unmarshal([]byte(mover.Env[0].Value), &p); err != nil || p.Max != 7 || len(p.Buckets) != 1 || p.Buckets[0].Root != "data/x" || p.Buckets[0].Dir != "/k8s-cli-buckets/0" {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestUsersOfTransfers(t *testing.T) {
	root := int64(0)
	for _, tt := range []struct {
		name string
		pod  *corev1.PodSecurityContext
		of   corev1.SecurityContext
		want *int64
	}{
		{"as most images", nil, corev1.SecurityContext{}, &root},
		{"the user of the pod", &corev1.PodSecurityContext{RunAsUser: new(int64(7))}, corev1.SecurityContext{}, nil},
		{"the user of the container", nil, corev1.SecurityContext{RunAsUser: new(int64(8))}, new(int64(8))},
		{"never root", &corev1.PodSecurityContext{RunAsNonRoot: new(true)}, corev1.SecurityContext{}, nil},
		{"never root in the container", nil, corev1.SecurityContext{RunAsNonRoot: new(true)}, nil},
	} {
		got := transferSecurity(tt.pod, &tt.of).RunAsUser
		if (got == nil) != (tt.want == nil) || got != nil && *got != *tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}
