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

// ensureSecret creates the Secret of a task that has secrets, uploads or outputs. An existing Secret is
// treated as in ensureService. No container of the task starts before the Secret exists.
func (c *Controller) ensureSecret(ctx context.Context, r *task.Record, first string, seen readPoint) error {
	values, tokens, err := c.secretData(r)
	if err != nil || values == nil && len(tokens) == 0 {
		return err
	}
	secret := objects.Secret(r, values, tokens, c.namespace, first)
	_, err = c.createSecret(ctx, secret, seen)
	if apierrors.IsAlreadyExists(err) {
		err = c.checkSecret(ctx, secret)
	}
	if err != nil {
		return fmt.Errorf("create secret %s: %w", secret.Name, err)
	}
	return nil
}

// secretData returns the values of a task's secrets or nil, and the tokens for its uploads and
// outputs, by their keys in the Secret.
func (c *Controller) secretData(r *task.Record) (values, tokens map[string]string, err error) {
	uploads, outputs := len(r.Submit.Task.Uploads) > 0, len(r.Submit.Task.Outputs) > 0
	if len(r.Submit.Sealed) > 0 && c.config.OpenSecrets == nil || uploads && c.config.UploadToken == nil || outputs && c.config.OutputToken == nil {
		return nil, nil, errSecretsUnreadable
	}
	tokens = map[string]string{}
	if uploads {
		tokens[objects.FilesKey] = c.config.UploadToken(r.Submit.ID)
	}
	for rank := 0; outputs && rank < r.NumNodes(); rank++ {
		tokens[objects.OutputKey(rank)] = c.config.OutputToken(r.Submit.ID, rank)
	}
	if len(r.Submit.Sealed) > 0 {
		if values, err = c.config.OpenSecrets(r.Submit); err != nil {
			return nil, nil, fmt.Errorf("%w: %w", errSecretsUnreadable, err)
		}
	}
	return values, tokens, nil
}

func (c *Controller) checkSecret(ctx context.Context, wanted *corev1.Secret) error {
	live, err := c.secrets.Get(ctx, wanted.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	return checkDependent(live, wanted)
}
