package submit

import (
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s-cli/pkg/task"
)

var (
	errForeign           = errors.New("an object of that name exists, but does not belong to this task or volume")
	errDeleting          = errors.New("the former object of that name is still being deleted")
	errSecretsUnreadable = errors.New("this server cannot read the secrets of the task: its key is missing, or differs from the key at submission; see --secrets-key-file")
)

// checkOurs returns an error if an existing object is not the wanted one.
func checkOurs(live, wanted metav1.Object) error {
	for _, key := range []string{task.AnnotationSubmission, task.AnnotationUser} {
		if live.GetAnnotations()[key] != wanted.GetAnnotations()[key] {
			return errForeign
		}
	}
	if live.GetDeletionTimestamp() != nil {
		return errDeleting
	}
	return nil
}

// reject appends why an object could not be created: Rejected if the reason is permanent, and
// Blocked otherwise. For a temporary reason reject returns the error, so that the object is
// retried. before is the reason that the log already contains: the same reason is not appended
// again, although its message may differ.
func (c *Controller) reject(ctx context.Context, k task.Key, before string, cause error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(cause, errStaleRead): // no request was sent to the cluster
		return cause
	}
	reason, forGood := classify(cause)
	if forGood {
		return c.append(ctx, task.Command{Rejected: &task.Rejected{Key: k, Reason: reason, Message: cause.Error()}})
	}
	if reason != before {
		if err := c.append(ctx, task.Command{Blocked: &task.Blocked{Key: k, Reason: reason, Message: cause.Error()}}); err != nil {
			return errors.Join(cause, fmt.Errorf("record the reason: %w", err))
		}
	}
	return cause
}

// classify returns the reason of an error from creating an object, and whether the error is
// permanent.
func classify(err error) (reason string, forGood bool) {
	switch {
	case errors.Is(err, errForeign):
		return "NameTaken", true
	case errors.Is(err, errSecretsUnreadable):
		return "SecretsUnreadable", false
	case errors.Is(err, errDeleting):
		return "Terminating", false
	case apierrors.IsForbidden(err) && strings.Contains(err.Error(), "exceeded quota"): // the API server has no reason of its own for an exceeded quota
		return reasonQuota, false
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return "NamespaceTerminating", false
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err), apierrors.IsForbidden(err), apierrors.IsRequestEntityTooLargeError(err):
		return string(apierrors.ReasonForError(err)), true
	}
	reason = string(apierrors.ReasonForError(err))
	if reason == "" {
		reason = "APIServerUnavailable"
	}
	return reason, false
}
