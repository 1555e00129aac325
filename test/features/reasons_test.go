package features

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"k8s-cli/pkg/task"
	"k8s-cli/test/testkit/must"
)

// An explanation is the expected reason of a task, or several reasons separated by |, and
// patterns of its message and hint.
type explanation struct{ reason, message, hint string }

func (e explanation) of(m task.Metadata) bool {
	return m.Reason != "" && strings.Contains("|"+e.reason+"|", "|"+m.Reason+"|") &&
		regexp.MustCompile(e.message).MatchString(m.Message) && regexp.MustCompile(e.hint).MatchString(m.Hint) && m.Hint != ""
}

// awaitExplained waits until a task is in a phase and has an explanation.
func (u *user) awaitExplained(t *testing.T, id string, phase task.Phase, e explanation) task.Status {
	t.Helper()
	return u.awaitWhere(t, id, string(phase)+" for "+e.reason+": "+e.message+" with the hint "+e.hint, func(s task.Status) bool {
		if s.Phase.Over() && (s.Phase != phase || !e.of(s.Metadata)) {
			t.Fatalf("the task is %s, with the hint %q", sketch(s), s.Metadata.Hint)
		}
		return s.Phase == phase && e.of(s.Metadata)
	})
}

func TestPendingReasons(t *testing.T) {
	t.Parallel()
	ann := newUser(t)
	ann.create(t, task.Volume{Name: "classless", Size: "1Gi", StorageClass: new("")})
	ann.create(t, task.Volume{Name: "unknown-class", Size: "1Gi", StorageClass: new("nobody-provides")})
	for _, tt := range []struct {
		name, file string
		want       explanation
	}{
		{
			"a registry that is not there", "run: true\nresources: {image_id: registry.invalid/none}",
			explanation{"ErrImagePull|ImagePullBackOff", "registry.invalid/none", "cannot reach the registry"},
		},
		{
			"more processors than any node has", "run: true\nresources: {cpus: 1000}",
			explanation{"Unschedulable", `^no machine has 1000 CPUs: the largest is \S+ with \S+ CPUs?; the scheduler says: 0/`, "^Request at most .* CPUs? in resources.cpus"},
		},
		{
			"more memory than any node has", "run: true\nresources: {memory: 50000}",
			explanation{"Unschedulable", `^no machine has 50000 GiB of memory: the largest is \S+ with \S+ GiB of memory;`, "in resources.memory"},
		},
		{
			"GPUs where there are none", "run: true\nresources: {accelerators: 'H100:8'}",
			explanation{"Unschedulable", "^no machine of the cluster has GPUs of the type H100", "^No machine of this cluster offers GPUs"},
		},
		{
			"a label that no node has", "run: true\nconfig: {kubernetes: {pod_config: {spec: {nodeSelector: {disk: fast}}}}}",
			explanation{"Unschedulable", "the labels that the task requires: disk=fast", "^Change the node selector"},
		},
		{"a volume that is not there", "run: true\nvolumes: {/data: nowhere}", explanation{task.ReasonVolume, "volume nowhere", "^Create the volume with"}},
		{
			"a volume without a class", "run: true\nvolumes: {/data: classless}",
			explanation{"FailedBinding", `^volume classless \(claim classless-\w+\) is not bound: no persistent volumes available`, "^Name a storage class"},
		},
		{
			"a volume of a class that is none", "run: true\nvolumes: {/data: unknown-class}",
			explanation{"ProvisioningFailed", `^volume unknown-class .*"nobody-provides" not found`, "storage class of this cluster"},
		},
		{
			"an image that may not run so", "run: true\nconfig: {kubernetes: {pod_config: {spec: {securityContext: {runAsNonRoot: true}}}}}",
			explanation{"CreateContainerConfigError", "runAsNonRoot", "."},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			id := ann.submit(t, tt.file)
			s := ann.awaitExplained(t, id, task.Pending, tt.want)
			if n := s.Metadata.Nodes[0]; tt.want.reason != task.ReasonVolume && (n.Reason != s.Metadata.Reason || n.Hint != s.Metadata.Hint) {
				t.Errorf("the node has the reason %s and the hint %q, the task %s and %q", n.Reason, n.Hint, s.Metadata.Reason, s.Metadata.Hint)
			}
			ann.stop(t, id)
		})
	}
}

// The API server rejects the pod, which only an Event shows.
func TestPodCreationErrors(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		setup func(*testing.T, *cluster)
		want  explanation
	}{
		{
			"a quota on pods", func(t *testing.T, c *cluster) { c.limit(t, "pods") },
			explanation{"QuotaExceeded", "^the pod cannot be created: .*exceeded quota: .*pods=0", "raise the quota"},
		},
		{
			"a range of limits", func(t *testing.T, c *cluster) {
				item := corev1.LimitRangeItem{Type: corev1.LimitTypeContainer, Min: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}}
				_, err := c.CoreV1().LimitRanges(c.namespace).Create(t.Context(), &corev1.LimitRange{
					ObjectMeta: metav1.ObjectMeta{Name: "range"}, Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{item}},
				}, metav1.CreateOptions{})
				must.Succeed(t, err)
			},
			explanation{"FailedCreate", "minimum cpu usage per Container is 1", "A policy of the cluster"},
		},
		{
			"a standard of security", func(t *testing.T, c *cluster) {
				patch := []byte(`{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"restricted"}}}`)
				if _, err := c.CoreV1().Namespaces().Patch(t.Context(), c.namespace, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
					t.Fatal(err)
				}
			},
			explanation{"FailedCreate", "violates PodSecurity", "A policy of the cluster"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ann := start(t).as(t, "ann")
			tt.setup(t, ann.cluster)
			id := ann.submit(t, "run: true\nresources: {cpus: 500m}")
			ann.awaitExplained(t, id, task.Pending, tt.want)
			ann.stop(t, id)
		})
	}
}

func TestMountErrors(t *testing.T) {
	t.Parallel()
	ann := newUser(t)
	class := "broken-" + ann.namespace
	ann.provide(t, volumeOf(class, corev1.PersistentVolumeSource{
		HostPath: &corev1.HostPathVolumeSource{Path: t.TempDir() + "/nowhere", Type: new(corev1.HostPathDirectory)},
	}))
	ann.create(t, task.Volume{Name: "data", Size: "1Gi", StorageClass: new(class)})
	id := ann.submit(t, "run: true\nvolumes: {/data: data}")
	ann.awaitExplained(t, id, task.Pending, explanation{"FailedMount", "hostPath type check failed", "^Kubernetes keeps trying"})
	ann.stop(t, id)
}

func TestTaskSuspendedByQueue(t *testing.T) {
	t.Parallel()
	ann := newUser(t)
	id := ann.submit(t, "config: {kubernetes: {kueue: {local_queue_name: night}}}\n"+yaml("run", endless))
	ann.await(t, id, task.Running)
	job := ann.jobs(t, id)[0].Name
	ann.patchJob(t, job, `{"spec":{"suspend":true}}`)
	ann.awaitExplained(t, id, task.Running, explanation{"JobSuspended", "^waiting in the queue night", "^The queue starts the task"})
	ann.patchJob(t, job, `{"spec":{"suspend":false}}`)
	ann.awaitWhere(t, id, "running again, for no reason", func(s task.Status) bool { return s.Metadata.Running == 1 && s.Metadata.Reason == "" })
	ann.stop(t, id)
}

func TestTerminationReasons(t *testing.T) {
	t.Parallel()
	ann := newUser(t)
	for _, tt := range []struct {
		name, file string
		want       explanation
		output     string // the last lines of the log, if they are shown
	}{
		{"by its own exit code", "run: |\n  echo out\n  exit 3", explanation{"Error", "^exit code 3$", "last lines"}, "out"},
		{"with many lines", "run: |\n  seq 1000\n  exit 3", explanation{"Error", "^exit code 3$", "last lines"}, "991\n992\n993\n994\n995\n996\n997\n998\n999\n1000"},
		{"in setup", "setup: |\n  echo begun\n  echo no such thing\n  exit 4\nrun: true", explanation{"Error", "^exit code 4 of setup, so run did not start$", "^Read the output of setup"}, "begun\nno such thing"},
		{"by a command that is not there", "run: nosuchcommand", explanation{"Error", "^exit code 127$", "The image does not have a command"}, "nosuchcommand"},
		{"by a file that does not run", "run: |\n  touch /tmp/x\n  /tmp/x", explanation{"Error", "^exit code 126$", "not executable"}, "ermission denied"},
		{"killed by itself", "run: kill -KILL $$", explanation{"Error", "^exit code 137$", `^Killed \(SIGKILL\)`}, "Killed"},
		{"told to end by itself", "run: kill -TERM $$", explanation{"Error", "^exit code 143$", `^Terminated \(SIGTERM\)`}, ""},
		{"for want of memory", "resources: {memory: 64Mi}\nrun: |\n  x=0123456789abcdef\n  while :; do x=$x$x; done", explanation{"OOMKilled", "^it used more than its memory limit of 64Mi", "resources.memory"}, "Killed"},
		{
			"after its time", "config: {kubernetes: {pod_config: {spec: {activeDeadlineSeconds: 2}}}}\nrun: sleep 3600",
			explanation{"DeadlineExceeded", "deadline", "^Allow more time"},
			"",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			id := ann.submit(t, tt.file)
			s := ann.awaitExplained(t, id, task.Failed, tt.want)
			n := s.Metadata.Nodes[0]
			if !strings.Contains(n.LastLines, tt.output) || tt.output == "" && n.LastLines != "" {
				t.Errorf("the last lines are %q, want %q", n.LastLines, tt.output)
			}
			if n.Hint != s.Metadata.Hint {
				t.Errorf("the node has the hint %q", n.Hint)
			}
		})
	}
}

// The server did not see how the pod of a task ended: the pod failed and was deleted while
// no server ran.
func TestTerminationReasonOfUnseenPod(t *testing.T) {
	t.Parallel()
	s := start(t)
	gate := newGate(t, s.cluster)
	ann := s.as(t, "ann")
	id := ann.submit(t, "envs: {GATE: "+gate.url+"}\nrun: wget -qO- $GATE; exit 3")
	ann.await(t, id, task.Running)
	s.process.terminate(t)
	gate.opens()
	eventually(t, "its Job has failed", func() (string, bool) {
		conditions := ann.jobs(t, id)[0].Status.Conditions
		return fmt.Sprintf("%+v", conditions), slices.ContainsFunc(conditions, func(c batchv1.JobCondition) bool { return c.Type == batchv1.JobFailed })
	})
	must.Succeed(t, ann.CoreV1().Pods(ann.namespace).Delete(t.Context(), ann.pods(t, id)[0].Name, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}))
	s.again(t).as(t, "ann").awaitExplained(t, id, task.Failed, explanation{"BackoffLimitExceeded", "^Job has reached the specified backoff limit$", "^Read the log"})
}

// The access mode of the volume allows only one pod, but the task has two nodes.
func TestVolumeNotShareableAcrossNodes(t *testing.T) {
	t.Parallel()
	ann := newUser(t)
	ann.create(t, task.Volume{Name: "data", Size: "1Gi", AccessModes: []string{"ReadWriteOncePod"}})
	id := ann.submit(t, "num_nodes: 2\nrun: true\nvolumes: {/data: data}")
	ann.awaitExplained(t, id, task.Failed, explanation{task.ReasonUnshared, "^volume data is ReadWriteOncePod: only one pod can mount the volume, but the task has 2 nodes", "^Create a volume with the access mode ReadWriteMany"})
}

func TestVolumeProvisioningErrors(t *testing.T) {
	t.Parallel()
	ann := newUser(t)
	id := ann.create(t, task.Volume{Name: "data", Size: "1Gi", StorageClass: new("nobody-provides")})
	eventually(t, "the volume says why it is not bound", func() (string, bool) {
		m := ann.volume(t, id).Metadata
		return fmt.Sprintf("%+v", m), m.Reason == "ProvisioningFailed" && strings.Contains(m.Message, `"nobody-provides" not found`) && m.Hint != ""
	})
}

// A task with a higher priority class preempts another task, whose pod is deleted before its
// Job reports the failure.
func TestPreemptedTask(t *testing.T) {
	t.Parallel()
	c := join(t)
	low := "low-" + c.namespace
	ann := c.serve(t, "--allowed-priority-classes", low).as(t, "ann")
	_, err := ann.SchedulingV1().PriorityClasses().Create(t.Context(), &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: low}, Value: -10}, metav1.CreateOptions{})
	must.Succeed(t, err)
	t.Cleanup(func() { ann.forgetPriority(low) })
	victim := ann.submit(t, "resources: {cpus: 1.1, priority_class: "+low+"}\n"+yaml("run", endless)) // the cluster's node has 2
	ann.await(t, victim, task.Running)
	id := ann.submit(t, "resources: {cpus: 1.1}\n"+yaml("run", endless))
	ann.awaitExplained(t, victim, task.Failed, explanation{"PreemptionByScheduler", "preempt", "^A pod of a higher priority class"})
	ann.await(t, id, task.Running)
	ann.stop(t, id)
}

// The reason of a task survives a restart of the server and the deletion of the Job.
func TestEvictedTask(t *testing.T) {
	t.Parallel()
	s := start(t)
	ann := s.as(t, "ann")
	id := ann.submit(t, yaml("run", endless))
	ann.await(t, id, task.Running)
	err := ann.PolicyV1().Evictions(ann.namespace).Evict(t.Context(), &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: ann.pods(t, id)[0].Name, Namespace: ann.namespace}})
	must.Succeed(t, err)
	want := explanation{"EvictionByEvictionAPI", "^Eviction API: evicting$", "^An administrator drained the machine"}
	ann.awaitExplained(t, id, task.Failed, want)
	background := metav1.DeletePropagationBackground
	must.Succeed(t, ann.BatchV1().Jobs(ann.namespace).Delete(t.Context(), ann.jobs(t, id)[0].Name, metav1.DeleteOptions{PropagationPolicy: &background}))
	ann.awaitNothing(t, id)
	s.process.terminate(t)
	if got := s.again(t).as(t, "ann").task(t, id); !want.of(got.Metadata) {
		t.Errorf("after a restart the task is %s, with the hint %q", sketch(got), got.Metadata.Hint)
	}
}
