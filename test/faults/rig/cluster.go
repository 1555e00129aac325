package rig

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"

	"k8s-cli/pkg/task"
	"k8s-cli/test/faults/history"
	"k8s-cli/test/testkit"
)

// A Cluster is a direct client of the real cluster, without a proxy, and one namespace, with
// the rights of an administrator.
type Cluster struct {
	*testkit.Cluster

	auditDir string // directory of the API server's audit log, optional
	recorder *history.Recorder
	stop     context.CancelFunc // stops the watches
}

const agent = "k8s-cli-faults"

// joinCluster creates a namespace and watches it.
func joinCluster(ctx context.Context, kubeconfig string, recorder *history.Recorder) (*Cluster, error) {
	c, err := connect(kubeconfig, recorder)
	if err != nil {
		return nil, err
	}
	if err := c.Join(ctx, "faults-", nil); err != nil {
		return nil, err
	}
	c.auditDir = filepath.Join(filepath.Dir(kubeconfig), "log")
	if err := c.begin(ctx); err != nil {
		c.leave()
		return nil, err
	}
	return c, nil
}

// Observe watches an existing namespace until Close.
func Observe(ctx context.Context, kubeconfig, namespace string, recorder *history.Recorder) (*Cluster, error) {
	c, err := connect(kubeconfig, recorder)
	if err != nil {
		return nil, err
	}
	c.Namespace = namespace
	return c, c.begin(ctx)
}

// Close stops the watch of an observed namespace.
func (c *Cluster) Close() { c.stop() }

func connect(kubeconfig string, recorder *history.Recorder) (*Cluster, error) {
	c, err := testkit.Connect(kubeconfig, agent)
	if err != nil {
		return nil, err
	}
	return &Cluster{Cluster: c, recorder: recorder, stop: func() {}}, nil
}

// begin starts the watches.
func (c *Cluster) begin(ctx context.Context) error {
	watching, stop := context.WithCancel(context.WithoutCancel(ctx))
	c.stop = stop
	return c.watch(watching)
}

// leave stops the watches and deletes the namespace, without waiting.
func (c *Cluster) leave() {
	c.stop()
	c.Leave()
}

// watch records every creation and deletion of a Job or claim, and the end of every Job.
func (c *Cluster) watch(ctx context.Context) error {
	jobs, claims := c.BatchV1().Jobs(c.Namespace), c.CoreV1().PersistentVolumeClaims(c.Namespace)
	first, err := jobs.List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("watch the cluster: %w", err)
	}
	for _, follow := range []toolscache.WatchFuncWithContext{jobs.Watch, claims.Watch} {
		// The retry watcher continues a broken watch at the last resourceVersion.
		w, err := watchtools.NewRetryWatcherWithContext(ctx, first.ResourceVersion, &toolscache.ListWatch{WatchFuncWithContext: follow})
		if err != nil {
			return fmt.Errorf("watch the cluster: %w", err)
		}
		go c.record(w.ResultChan())
	}
	return nil
}

func (c *Cluster) record(events <-chan watch.Event) {
	ended := map[string]bool{}
	for e := range events {
		o := history.Object{At: c.recorder.Now(), Type: string(e.Type)}
		switch x := e.Object.(type) {
		case *batchv1.Job:
			describe(&o, x, "Job", task.LabelTaskID)
			o.Rank = x.Labels[task.LabelNode]
			for _, v := range x.Spec.Template.Spec.Volumes {
				if v.PersistentVolumeClaim != nil {
					o.Mounts = append(o.Mounts, v.PersistentVolumeClaim.ClaimName)
				}
			}
			o.Phase = outcome(x)
		case *corev1.PersistentVolumeClaim:
			describe(&o, x, "Claim", task.LabelVolumeID)
		default:
			continue
		}
		if e.Type == watch.Modified {
			if o.Phase == "" || ended[o.UID] {
				continue
			}
			ended[o.UID] = true
			o.Type = "ENDED"
		}
		c.recorder.Object(o)
	}
}

func describe(o *history.Object, x metav1.Object, kind, label string) {
	o.Kind, o.Name, o.UID = kind, x.GetName(), string(x.GetUID())
	o.ID, o.User = x.GetLabels()[label], x.GetAnnotations()[task.AnnotationUser]
	o.Ours = x.GetAnnotations()[task.AnnotationSubmission] != ""
	o.Version, _ = strconv.ParseUint(x.GetResourceVersion(), 10, 64)
}

func outcome(job *batchv1.Job) string {
	for _, c := range job.Status.Conditions {
		if (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue {
			return string(c.Type)
		}
	}
	return ""
}

// Left returns the objects that the namespace contains now.
func (c *Cluster) Left(ctx context.Context) (all []history.Left, err error) {
	jobs, err := c.BatchV1().Jobs(c.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list what is left: %w", err)
	}
	for i := range jobs.Items {
		j := &jobs.Items[i]
		l := left("Job", j, task.LabelTaskID)
		l.Ended = outcome(j) != ""
		all = append(all, l)
	}
	claims, err := c.CoreV1().PersistentVolumeClaims(c.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list what is left: %w", err)
	}
	for i := range claims.Items {
		all = append(all, left("Claim", &claims.Items[i], task.LabelVolumeID))
	}
	pods, err := c.CoreV1().Pods(c.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list what is left: %w", err)
	}
	for i := range pods.Items {
		p := &pods.Items[i]
		l := left("Pod", p, task.LabelTaskID)
		if owner := metav1.GetControllerOf(p); owner != nil {
			l.Owner = string(owner.UID)
		}
		all = append(all, l)
	}
	return all, nil
}

func left(kind string, x metav1.Object, label string) history.Left {
	return history.Left{
		Kind: kind, Name: x.GetName(), UID: string(x.GetUID()), Going: x.GetDeletionTimestamp() != nil,
		ID: x.GetLabels()[label], Rank: x.GetLabels()[task.LabelNode],
	}
}

// Audit records the creations and deletions of Jobs and claims of the namespace in the audit
// log. Without an audit log, Audit records nothing.
func (c *Cluster) Audit() error {
	return testkit.ReadAudits(c.auditDir, c.Namespace, func(e testkit.AuditEvent) {
		o := e.Object
		if o.Namespace != c.Namespace || o.Subresource != "" || e.Status.Code > 299 ||
			e.Verb != "create" && e.Verb != "delete" || o.Resource != "jobs" && o.Resource != "persistentvolumeclaims" {
			return
		}
		c.recorder.Audit(history.Audit{
			Verb: e.Verb, Resource: o.Resource, Name: o.Name, UID: e.Status.Details.UID, Agent: e.UserAgent, At: c.recorder.Since(e.Received),
		})
	})
}
