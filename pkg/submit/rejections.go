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

// checkOurs reports why an object that exists cannot pass for the one wanted.
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

// reject says in the log why an object could not be created: for good, or for
// now, in which case the error comes back and it is tried again. before is the
// reason that the log has already: numbers in a message may change with every
// attempt and are not worth an entry each.
func (c *Controller) reject(ctx context.Context, k task.Key, before string, cause error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(cause, errStaleRead): // the cluster was not asked
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

// classify returns the reason of an error from creating an object, and whether
// trying again is in vain.
func classify(err error) (reason string, forGood bool) {
	switch {
	case errors.Is(err, errForeign):
		return "NameTaken", true
	case errors.Is(err, errSecretsUnreadable):
		return "SecretsUnreadable", false
	case errors.Is(err, errDeleting):
		return "Terminating", false
	case apierrors.IsForbidden(err) && strings.Contains(err.Error(), "exceeded quota"): // the API server has no code of its own for it
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
