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

// ensureSecret makes sure of the Secret of a task that has secrets, as
// ensureService does of a Service. No container of the task starts before.
func (c *Controller) ensureSecret(ctx context.Context, r *task.Record, first string, seen look) error {
	if len(r.Submit.Sealed) == 0 {
		return nil
	}
	if c.config.Secrets == nil {
		return errUnsealed
	}
	values, err := c.config.Secrets(r.Submit)
	if err != nil {
		return fmt.Errorf("%w: %w", errUnsealed, err)
	}
	secret := objects.Secret(r, values, c.namespace, first)
	_, err = c.createSecret(ctx, secret, seen)
	if apierrors.IsAlreadyExists(err) {
		err = c.checkSecret(ctx, secret)
	}
	if err != nil {
		return fmt.Errorf("create secret %s: %w", secret.Name, err)
	}
	return nil
}

func (c *Controller) checkSecret(ctx context.Context, wanted *corev1.Secret) error {
	live, err := c.secrets.Get(ctx, wanted.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	return checkDependent(live, wanted)
}
