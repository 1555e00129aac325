package crash

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"

	"k8s-cli/pkg/task"
	"k8s-cli/test/testkit"
)

// A cluster is a namespace of the real cluster and a record of every Job, Service and claim
// that was ever created in the namespace, in the order of the API server.
type cluster struct {
	kubernetes.Interface
	namespace string

	mu      sync.Mutex
	created map[string][]types.UID // by kind and name
	live    map[string]bool        // by kind and name
	removed map[string]bool        // by kind and name: the test deletes the object, and the server may create it again
	resumed map[string]bool        // resumed Jobs of tasks with several nodes, by name
	nodes   map[string]int         // number of Jobs ever created, by task
	faults  []string
}

// join returns the cluster with a new namespace, which is deleted at the end of the test.
func join(t *testing.T) *cluster {
	t.Helper()
	joined := testkit.Join(t, "crash-", map[string]string{houseLabel: "yes"})
	house.open(t, joined)
	c := &cluster{
		Interface: joined, namespace: joined.Namespace,
		created: map[string][]types.UID{}, live: map[string]bool{}, removed: map[string]bool{}, resumed: map[string]bool{}, nodes: map[string]int{},
	}
	for kind, begin := range map[string]func(context.Context, metav1.ListOptions) (watch.Interface, error){
		"job":     c.BatchV1().Jobs(c.namespace).Watch,
		"claim":   c.CoreV1().PersistentVolumeClaims(c.namespace).Watch,
		"service": c.CoreV1().Services(c.namespace).Watch,
	} {
		w, err := begin(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatalf("watch %ss: %v", kind, err)
		}
		go c.record(kind, w)
	}
	return c
}

// expectAgain allows that the server creates an object again, because the test deletes it.
func (c *cluster) expectAgain(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.removed[name] = true
}

// record records the events of a watch until the test ends.
func (c *cluster) record(kind string, w watch.Interface) {
	for e := range w.ResultChan() {
		c.mu.Lock()
		if o, ok := e.Object.(metav1.Object); ok {
			c.note(e.Type, kind, o)
		} else {
			c.faults = append(c.faults, fmt.Sprintf("the watch of %ss says %+v", kind, e.Object))
		}
		c.mu.Unlock()
	}
}

func (c *cluster) note(event watch.EventType, kind string, o metav1.Object) {
	name := kind + " " + o.GetName()
	id := o.GetLabels()[task.LabelTaskID]
	job, isJob := o.(*batchv1.Job)
	switch event {
	case watch.Added:
		c.created[name] = append(c.created[name], o.GetUID())
		if isJob {
			c.nodes[id]++
		}
		c.live[name] = true
		if n := len(c.created[name]); n > 1 && !c.removed[name] {
			c.faults = append(c.faults, fmt.Sprintf("%s was created %d times", name, n))
		}
	case watch.Deleted:
		delete(c.live, name)
	}
	if !isJob || job.Spec.Suspend == nil || *job.Spec.Suspend {
		return
	}
	c.resumed[job.Name] = true
	if n, _ := strconv.Atoi(job.Annotations[task.AnnotationNodes]); c.nodes[id] < n {
		c.faults = append(c.faults, fmt.Sprintf("%s runs while there are %d of %d Jobs", name, c.nodes[id], n))
	}
}

// there returns the existing objects as sorted "kind/name".
func (c *cluster) there() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Sorted(maps.Keys(c.live))
}

// runs reports whether all these Jobs exist and are not suspended.
func (c *cluster) runs(names []string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !slices.ContainsFunc(names, func(name string) bool { return !c.resumed[name] })
}

// wrong returns the violations that the record shows so far.
func (c *cluster) wrong() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.faults)
}

// pod waits for the pod of a Job.
func (c *cluster) pod(t *testing.T, job string) (pod corev1.Pod) {
	t.Helper()
	eventually(t, "a pod of job "+job, func() (string, bool) {
		list, err := c.CoreV1().Pods(c.namespace).List(t.Context(), metav1.ListOptions{LabelSelector: batchv1.JobNameLabel + "=" + job})
		if err != nil || len(list.Items) == 0 {
			return fmt.Sprint(err), false
		}
		pod = list.Items[0]
		return "", true
	})
	return pod
}

// play sets the phase of the pod of a Job, and its address, as a kubelet would. No node has
// capacity for the pods of these tests, so no kubelet writes their status.
func (c *cluster) play(t *testing.T, job string, phase corev1.PodPhase) {
	t.Helper()
	pod := c.pod(t, job)
	state := corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}}
	if phase != corev1.PodRunning {
		code := int32(0)
		if phase == corev1.PodFailed {
			code = 3
		}
		state = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, FinishedAt: metav1.Now()}}
	}
	pod.Status.Phase, pod.Status.PodIP = phase, "10.0.0.1"+pod.Labels[task.LabelNode]
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: pod.Spec.Containers[0].Name, State: state}}
	eventually(t, "pod "+pod.Name+" is "+string(phase), func() (string, bool) {
		pod.ResourceVersion = "" // another client may write meanwhile
		_, err := c.CoreV1().Pods(c.namespace).UpdateStatus(t.Context(), &pod, metav1.UpdateOptions{})
		return fmt.Sprint(err), err == nil
	})
}

// introduced reports whether the pods of all these Jobs have the addresses of their peers.
func (c *cluster) introduced(t *testing.T, jobs []string) bool {
	t.Helper()
	return !slices.ContainsFunc(jobs, func(job string) bool {
		pod := c.pod(t, job)
		return pod.Annotations[task.AnnotationAddresses] != "10.0.0.10\n10.0.0.11"
	})
}
