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

// ensureSecret creates the Secret of a task that has secrets or uploads. An existing Secret is
// treated as in ensureService. No container of the task starts before the Secret exists.
func (c *Controller) ensureSecret(ctx context.Context, r *task.Record, first string, seen readPoint) error {
	values, token, err := c.secretData(r)
	if err != nil || values == nil && token == "" {
		return err
	}
	secret := objects.Secret(r, values, token, c.namespace, first)
	_, err = c.createSecret(ctx, secret, seen)
	if apierrors.IsAlreadyExists(err) {
		err = c.checkSecret(ctx, secret)
	}
	if err != nil {
		return fmt.Errorf("create secret %s: %w", secret.Name, err)
	}
	return nil
}

// secretData returns the values of a task's secrets, nil if there are none, and the token for
// its uploads, empty if there are none.
func (c *Controller) secretData(r *task.Record) (values map[string]string, token string, err error) {
	uploads := len(r.Submit.Task.Uploads) > 0
	if len(r.Submit.Sealed) > 0 && c.config.OpenSecrets == nil || uploads && c.config.UploadToken == nil {
		return nil, "", errSecretsUnreadable
	}
	if uploads {
		token = c.config.UploadToken(r.Submit.ID)
	}
	if len(r.Submit.Sealed) > 0 {
		if values, err = c.config.OpenSecrets(r.Submit); err != nil {
			return nil, "", fmt.Errorf("%w: %w", errSecretsUnreadable, err)
		}
	}
	return values, token, nil
}

func (c *Controller) checkSecret(ctx context.Context, wanted *corev1.Secret) error {
	live, err := c.secrets.Get(ctx, wanted.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	return checkDependent(live, wanted)
}
