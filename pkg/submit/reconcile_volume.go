package submit

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s-cli/pkg/submit/objects"
	"k8s-cli/pkg/task"
)

func (c *Controller) reconcileVolume(ctx context.Context, k task.Key, v task.VolumeView, seen readPoint) error {
	switch {
	case v.VolumeRecord == nil:
		return c.adoptVolume(ctx, v)
	case v.Deleted:
		return c.removeClaim(ctx, k, v)
	case v.Rejected:
		return nil
	case v.UID != "":
		return c.reportClaim(ctx, k, v)
	}
	uid, err := c.ensureClaim(ctx, objects.Claim(v.VolumeRecord, c.namespace), seen)
	if err != nil {
		return c.reject(ctx, k, v.Reason, fmt.Errorf("create claim %s: %w", v.ClaimName(), err))
	}
	c.counters.applied(k)
	return c.append(ctx, task.Command{Applied: &task.Applied{Key: k, UIDs: []string{uid}}})
}

// ensureClaim returns the UID of the claim, which is created now or exists, as in ensureJob.
func (c *Controller) ensureClaim(ctx context.Context, claim *corev1.PersistentVolumeClaim, seen readPoint) (string, error) {
	created, err := c.createClaim(ctx, claim, seen)
	if apierrors.IsAlreadyExists(err) {
		if created, err = c.claims.Get(ctx, claim.Name, metav1.GetOptions{}); err == nil {
			err = checkOurs(created, claim)
		}
	}
	if err != nil {
		return "", err
	}
	return string(created.UID), nil
}

// removeClaim deletes the claim of a deleted volume, and appends CleanedUp once the claim no
// longer exists. The deletion takes as long as a pod uses the claim.
func (c *Controller) removeClaim(ctx context.Context, k task.Key, v task.VolumeView) error {
	if v.Claim != nil && v.Claim.Deleting || v.Claim == nil && v.CleanedUp {
		return nil // the end of the deletion enqueues the volume again
	}
	uid := v.UID
	if v.Claim != nil { // the claim may be another one that a paused pod created late
		uid = v.Claim.UID
	}
	if uid == "" { // the claim may exist although the log does not contain its UID
		live, err := c.claims.Get(ctx, v.ClaimName(), metav1.GetOptions{})
		switch {
		case err == nil && live.Annotations[task.AnnotationSubmission] == v.Hash:
			uid = string(live.UID)
		case err != nil && !apierrors.IsNotFound(err):
			return fmt.Errorf("get claim %s: %w", v.ClaimName(), err)
		}
	}
	if uid != "" {
		err := c.deleteClaim(ctx, v.ClaimName(), uid)
		switch {
		case err == nil:
			return errDeletionPending
		case !apierrors.IsNotFound(err) && !apierrors.IsConflict(err):
			return fmt.Errorf("delete claim %s: %w", v.ClaimName(), err)
		}
	}
	return c.append(ctx, task.Command{CleanedUp: &task.CleanedUp{Key: k}})
}
