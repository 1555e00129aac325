package objects

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"k8s-cli/pkg/task"
	"k8s-cli/test/testkit/must"
)

// FuzzJobs takes any task that the log may contain, including an unchecked pod_config. The
// Jobs of a valid task have valid names and confine their container. The feature tests submit
// such Jobs to an API server.
func FuzzJobs(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.yaml")
	for _, file := range files {
		if !strings.HasSuffix(file, ".golden.yaml") {
			f.Add(seedOf(f, file), "ann@example.com", int16(0))
		}
	}
	f.Add([]byte(`{"run":"x","config":{"kubernetes":{"pod_config":{"spec":{"containers":null,"volumes":[null],"securityContext":null}}}}}`), "", int16(1))
	f.Add([]byte(`{"run":"x","config":{"kubernetes":{"pod_config":{"spec":{"containers":[{"$patch":"delete"}]}}}}}`), "$(A)", int16(1))
	f.Add([]byte(`{"run":"x","config":{"kubernetes":{"pod_config":{"spec":{"$patch":"replace"},"metadata":{"$patch":"delete"}}}}}`), "a", int16(1))
	f.Fuzz(func(t *testing.T, raw []byte, user string, nodes int16) {
		var s task.Submit
		if json.Unmarshal(raw, &s.Task) != nil {
			t.Skip()
		}
		s.Task.NumNodes = int(nodes) % 4
		if s.Task.Validate() != nil {
			t.Skip()
		}
		s.ID, s.User, s.Image, s.Transfer.Image = "abc12345", user, "image", "transfer"
		r := &task.Record{Submit: s, Hash: s.Hash(), CreatedAt: noon, Claims: map[string]string{}}
		for _, name := range s.Task.Volumes {
			r.Claims[name] = name
		}
		jobs := Jobs(r, "default")
		if len(jobs) != r.NumNodes() {
			t.Fatalf("%d Jobs for %d nodes", len(jobs), r.NumNodes())
		}
		for _, job := range jobs {
			checkNames(t, job)
			spec := job.Spec.Template.Spec
			for _, does := range []string{"send", "fetch"} {
				if does == "send" && !s.Task.Buckets.Send() || len(s.Task.Buckets) == 0 {
					continue
				}
				last := len(spec.InitContainers) - 1
				checkTransfer(t, does, spec.InitContainers[last], spec.Containers[0], serviceName(r))
				spec.InitContainers = spec.InitContainers[:last]
			}
			if len(s.Task.Uploads) > 0 {
				checkFetcher(t, spec, serviceName(r))
				spec.InitContainers, spec.Containers[0].Args = nil, spec.Containers[0].Args[:min(3, len(spec.Containers[0].Args))]
			}
			checkBox(t, spec, serviceName(r))
			checkAffinity(t, spec, job.Labels[task.LabelOwner])
			checkScripts(t, s.Task, job)
		}
	})
}

func seedOf(f *testing.F, file string) []byte {
	var g given
	must.Succeed(f, decodeYAML(must.Read(f, file), &g))
	return must.Encode(f, g.Task)
}

func checkNames(t *testing.T, job *batchv1.Job) {
	t.Helper()
	template := job.Spec.Template
	if wrong := validation.IsDNS1123Label(job.Name); len(wrong) > 0 {
		t.Errorf("name %s: %v", job.Name, wrong)
	}
	if wrong := metavalidation.ValidateLabels(job.Labels, field.NewPath("labels")); len(wrong) > 0 {
		t.Error(wrong)
	}
	for key, value := range task.JobLabels(job.Annotations[task.AnnotationUser], job.Annotations[task.AnnotationName], job.Labels[task.LabelTaskID], 0) {
		if key != task.LabelNode && template.Labels[key] != value {
			t.Errorf("label %s of the pod is %q, want %q", key, template.Labels[key], value)
		}
	}
	for _, v := range template.Spec.Volumes {
		if v.Ephemeral == nil {
			continue
		}
		claim := v.Ephemeral.VolumeClaimTemplate
		if claim.Annotations[task.AnnotationUser] != job.Annotations[task.AnnotationUser] || claim.Labels[task.LabelOwner] != job.Labels[task.LabelOwner] {
			t.Errorf("the claim of %s does not say whose it is: %v %v", v.Name, claim.Labels, claim.Annotations)
		}
	}
	if wrong := apivalidation.ValidateAnnotations(job.Annotations, field.NewPath("annotations")); len(wrong) > 0 {
		t.Error(wrong)
	}
}

// checkFetcher checks that the only init container is ours; checkBox checks its confinement.
func checkFetcher(t *testing.T, s corev1.PodSpec, secret string) {
	t.Helper()
	if len(s.InitContainers) != 1 || len(s.Containers) != 1 {
		t.Fatalf("containers %v %v", s.Containers, s.InitContainers)
	}
	c := s.InitContainers[0]
	short(t, c.Command, fetchFiles, "(fetcher)")
	if !cmp.Equal(c.SecurityContext, s.Containers[0].SecurityContext) || c.Image != s.Containers[0].Image {
		t.Errorf("it has other rights than its task: %+v", c)
	}
	if len(c.Env) != 1 || c.Env[0].ValueFrom.SecretKeyRef.Name != secret || len(c.EnvFrom)+len(c.VolumeDevices) > 0 || len(c.VolumeMounts) != 1 {
		t.Errorf("it has more than its token and its directory: %+v", c)
	}
}

// checkTransfer checks that a container that moves the data of buckets has our program, no more rights
// than the container of the task, and only the Secret of the task.
func checkTransfer(t *testing.T, does string, c, of corev1.Container, secret string) {
	t.Helper()
	if c.Image != "transfer" || len(c.Command) > 0 || !slices.Equal(c.Args, []string{does}) || len(c.EnvFrom)+len(c.VolumeDevices) > 0 {
		t.Errorf("it runs something else: %+v", c)
	}
	own, rights := c.SecurityContext.DeepCopy(), of.SecurityContext.DeepCopy()
	own.RunAsUser, own.RunAsGroup, rights.RunAsUser, rights.RunAsGroup = nil, nil, nil, nil
	if !cmp.Equal(own, rights) {
		t.Errorf("it has other rights than its task: %+v", c)
	}
	for _, v := range c.Env {
		if v.ValueFrom != nil && (v.ValueFrom.SecretKeyRef == nil || v.ValueFrom.SecretKeyRef.Name != secret) {
			t.Errorf("it reads what is somebody's: %+v", v)
		}
	}
}

// checkBox checks the confinement of a pod, which no pod_config may weaken.
func checkBox(t *testing.T, s corev1.PodSpec, secret string) {
	t.Helper()
	if len(s.Containers) != 1 || len(s.InitContainers)+len(s.EphemeralContainers) > 0 {
		t.Fatalf("containers %v %v", s.Containers, s.InitContainers)
	}
	c := s.Containers[0]
	switch {
	case s.HostNetwork || s.HostPID || s.HostIPC || s.HostUsers != nil && *s.HostUsers || s.NodeName != "":
		t.Error("it uses what is the node's")
	case s.ServiceAccountName != "" || *s.AutomountServiceAccountToken || *s.EnableServiceLinks:
		t.Error("it has credentials")
	case s.RestartPolicy != corev1.RestartPolicyNever:
		t.Error("it restarts")
	case s.SecurityContext.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault || len(s.SecurityContext.Sysctls) > 0:
		t.Error("it is unconfined")
	case *c.SecurityContext.AllowPrivilegeEscalation || c.SecurityContext.Privileged != nil || c.SecurityContext.SeccompProfile != nil:
		t.Error("it has privileges")
	case c.SecurityContext.Capabilities != nil && len(c.SecurityContext.Capabilities.Add) > 0:
		t.Error("it has capabilities")
	case c.Image != "image" || len(c.Command) != 4 || len(c.Args) != 1 && len(c.Args) != 3:
		t.Error("it runs something else")
	case slices.ContainsFunc(c.Env, func(v corev1.EnvVar) bool {
		return v.ValueFrom != nil && v.ValueFrom.FieldRef == nil && (v.ValueFrom.SecretKeyRef == nil || v.ValueFrom.SecretKeyRef.Name != secret)
	}) || len(c.EnvFrom) > 0:
		t.Error("it reads what is somebody's")
	}
	names := map[string]bool{}
	for _, v := range s.Volumes {
		if v.DownwardAPI == nil && v.EmptyDir == nil && v.PersistentVolumeClaim == nil && v.Ephemeral == nil || names[v.Name] {
			t.Errorf("volume %+v", v)
		}
		names[v.Name] = true
	}
}

// checkAffinity checks that the terms about other pods are about pods of the owner alone.
func checkAffinity(t *testing.T, s corev1.PodSpec, owner string) {
	t.Helper()
	raw := must.Encode(t, s.Affinity)
	all, own := strings.Count(string(raw), `"labelSelector"`), strings.Count(string(raw), `{"key":"skypilot-owner","operator":"In","values":["`+owner+`"]}`)
	if all != own || strings.Contains(string(raw), `"namespaceSelector":`) {
		t.Errorf("affinity to pods of others: %s", raw)
	}
}

// checkScripts checks that the scripts of the user reach the container unchanged.
func checkScripts(t *testing.T, written task.Spec, job *batchv1.Job) {
	t.Helper()
	annotations := job.Spec.Template.Annotations
	if annotations[task.AnnotationSetup] != written.Setup || annotations[task.AnnotationRun] != written.Run {
		t.Error("the scripts are others")
	}
	own := task.Variables()
	seen := map[string]string{}
	for _, v := range job.Spec.Template.Spec.Containers[0].Env {
		seen[v.Name] = strings.ReplaceAll(v.Value, "$$", "$")
	}
	for name, value := range written.Envs {
		if _, secretData := written.Secrets[name]; !secretData && !slices.Contains(own, name) && seen[name] != value {
			t.Errorf("%s is %q, want %q", name, seen[name], value)
		}
	}
}
