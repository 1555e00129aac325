package submit

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"k8s-cli/pkg/crash"
	"k8s-cli/pkg/task"
)

// Every call that changes the cluster is here, alone in its function, between
// the two points at which a test may have the process end.

const fieldManager = "k8s-cli"

// A readPoint is when the store was known to hold all that the log did.
type readPoint time.Time

// readPointLifetime is how long a read point is acted on. Whoever is paused for longer may
// find on waking up that another pod leads, which has created, ended and removed
// what is wanted no more. It is below what a Lease lasts beyond the last moment
// at which its holder may act.
const readPointLifetime = time.Second

var (
	errNoReadIndex = errors.New("the end of the log is unknown; nothing is created or deleted")
	errStaleRead   = errors.New("this process was paused, and the desired state may have changed")
)

// readBarrier waits until the store holds all that the log does.
func (c *Controller) readBarrier(ctx context.Context) (readPoint, error) {
	now := time.Now()
	if _, ok := c.log.WaitReadIndex(ctx); !ok {
		return readPoint{}, errNoReadIndex
	}
	return readPoint(now), nil
}

func (l readPoint) checkFresh() error {
	if time.Since(time.Time(l)) > readPointLifetime {
		return errStaleRead
	}
	return nil
}

// bind has what is sent under ctx be sent only while the read point is fresh.
func (l readPoint) bind(ctx context.Context) context.Context {
	return context.WithValue(ctx, readPointKey{}, l)
}

type readPointKey struct{}

// StalenessGuard returns a transport that sends a creation only while what it is based on
// is fresh. Between the decision and the request lie its encoding and, if the API
// server asks for them, pauses and repetitions, in any of which a process may be
// held up. HTTP/2 looks at the context once more when it has the wire; what
// remains is that write.
func StalenessGuard(next http.RoundTripper) http.RoundTripper { return stalenessGuard{next} }

type stalenessGuard struct{ http.RoundTripper }

func (t stalenessGuard) RoundTrip(r *http.Request) (*http.Response, error) {
	if l, ok := r.Context().Value(readPointKey{}).(readPoint); ok {
		if err := l.checkFresh(); err != nil {
			return nil, err
		}
		r = r.WithContext(expiringContext{r.Context(), l})
	}
	return t.RoundTripper.RoundTrip(r)
}

// expiringContext is a context that is done, for whoever asks then, as soon as its read point is
// old. It wakes nobody: an answer may take longer than a read point lasts.
type expiringContext struct {
	context.Context //nolint:containedctx // it is one
	point           readPoint
}

func (l expiringContext) Done() <-chan struct{} {
	if l.point.checkFresh() != nil {
		return elapsed
	}
	return l.Context.Done()
}

func (l expiringContext) Err() error {
	if err := l.Context.Err(); err != nil {
		return err
	}
	return l.point.checkFresh()
}

// elapsed is closed.
var elapsed = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// WrappedRoundTripper lets client-go look through, for whoever closes idle
// connections.
func (t stalenessGuard) WrappedRoundTripper() http.RoundTripper { return t.RoundTripper }

// createJob creates a Job, if it is not long ago that it was found wanting. It
// is the one change that a name alone does not make harmless: who comes late
// might find the name free again.
func (c *Controller) createJob(ctx context.Context, job *batchv1.Job, seen readPoint) (*batchv1.Job, error) {
	crash.Before(crash.CreateJob)
	defer crash.After(crash.CreateJob)
	if err := seen.checkFresh(); err != nil {
		return nil, err
	}
	return c.jobs.Create(seen.bind(ctx), job, metav1.CreateOptions{FieldManager: fieldManager})
}

// resumeJob lets a Job run that was created suspended, and notes on it that it
// did.
func (c *Controller) resumeJob(ctx context.Context, name, uid string) error {
	crash.Before(crash.ResumeJob)
	defer crash.After(crash.ResumeJob)
	patch := fmt.Sprintf(`{"metadata":{"uid":%q,"annotations":{%q:"true"}},"spec":{"suspend":false}}`, uid, task.AnnotationResumed)
	_, err := c.jobs.Patch(ctx, name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: fieldManager})
	return err
}

// createService creates a Service, as createJob does a Job.
func (c *Controller) createService(ctx context.Context, service *corev1.Service, seen readPoint) (*corev1.Service, error) {
	crash.Before(crash.CreateService)
	defer crash.After(crash.CreateService)
	if err := seen.checkFresh(); err != nil {
		return nil, err
	}
	return c.services.Create(seen.bind(ctx), service, metav1.CreateOptions{FieldManager: fieldManager})
}

// createSecret creates a Secret, as createJob does a Job.
func (c *Controller) createSecret(ctx context.Context, secret *corev1.Secret, seen readPoint) (*corev1.Secret, error) {
	crash.Before(crash.CreateSecret)
	defer crash.After(crash.CreateSecret)
	if err := seen.checkFresh(); err != nil {
		return nil, err
	}
	return c.secrets.Create(seen.bind(ctx), secret, metav1.CreateOptions{FieldManager: fieldManager})
}

// publishPeersToPod tells a pod the addresses of all nodes of its task. The patch is
// of lines of addresses, which JSON quotes as Go does.
func (c *Controller) publishPeersToPod(ctx context.Context, name, uid, addresses string) error {
	crash.Before(crash.PublishPeers)
	defer crash.After(crash.PublishPeers)
	patch := fmt.Sprintf(`{"metadata":{"uid":%q,"annotations":{%q:%q}}}`, uid, task.AnnotationAddresses, addresses)
	_, err := c.pods.Patch(ctx, name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: fieldManager})
	return err
}

func (c *Controller) deleteJob(ctx context.Context, name, uid string) error {
	crash.Before(crash.DeleteJob)
	defer crash.After(crash.DeleteJob)
	return c.jobs.Delete(ctx, name, deleteOptions(uid))
}

// deleteIdleJob deletes a suspended Job of a task that is still wanted, if it is
// as it was read. Whoever resumed it meanwhile has changed it.
func (c *Controller) deleteIdleJob(ctx context.Context, job *batchv1.Job, seen readPoint) error {
	crash.Before(crash.DeleteJob)
	defer crash.After(crash.DeleteJob)
	if err := seen.checkFresh(); err != nil {
		return err
	}
	options := deleteOptions(string(job.UID))
	if job.ResourceVersion != "" {
		options.Preconditions.ResourceVersion = &job.ResourceVersion
	}
	return c.jobs.Delete(seen.bind(ctx), job.Name, options)
}

// createClaim creates a claim, as createJob does a Job.
func (c *Controller) createClaim(ctx context.Context, claim *corev1.PersistentVolumeClaim, seen readPoint) (*corev1.PersistentVolumeClaim, error) {
	crash.Before(crash.CreateClaim)
	defer crash.After(crash.CreateClaim)
	if err := seen.checkFresh(); err != nil {
		return nil, err
	}
	return c.claims.Create(seen.bind(ctx), claim, metav1.CreateOptions{FieldManager: fieldManager})
}

func (c *Controller) deleteClaim(ctx context.Context, name, uid string) error {
	crash.Before(crash.DeleteClaim)
	defer crash.After(crash.DeleteClaim)
	return c.claims.Delete(ctx, name, deleteOptions(uid))
}

// deleteOptions name the object by its UID, and take its dependents along:
// without a policy the pods of a Job would be left behind.
func deleteOptions(uid string) metav1.DeleteOptions {
	return metav1.DeleteOptions{
		Preconditions:     metav1.NewUIDPreconditions(uid),
		PropagationPolicy: new(metav1.DeletePropagationBackground),
	}
}
