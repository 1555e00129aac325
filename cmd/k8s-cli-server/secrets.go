package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"k8s-cli/pkg/api"
	"k8s-cli/pkg/api/archive"
	"k8s-cli/pkg/seal"
	"k8s-cli/pkg/submit"
)

// The key that seals the secrets of tasks is in a file that all pods have, or in a Secret
// that the first pod creates.
const (
	keySecret = "k8s-cli-server-key"
	keyName   = "key"
)

// keyNamespace returns the namespace of the Secret with the key. By default it is the
// namespace of this pod and not the namespace of the tasks: every pod in the namespace of
// the tasks could mount the Secret.
func keyNamespace(c config, cluster *rest.Config) string {
	return cmp.Or(c.secretsKeyNamespace, podNamespace(cluster), c.namespace)
}

// podNamespace returns the namespace of this pod, which Kubernetes mounts next to the
// token of the service account. It returns an empty string outside a cluster.
func podNamespace(cluster *rest.Config) string {
	if cluster.BearerTokenFile == "" {
		return ""
	}
	name, err := os.ReadFile(filepath.Join(filepath.Dir(cluster.BearerTokenFile), "namespace"))
	if err != nil {
		return ""
	}
	return string(bytes.TrimSpace(name))
}

// openSealer returns the sealer for the secrets of tasks. It returns nil if the server
// may not read or create the Secret: the server then rejects tasks with secrets or files
// and accepts all other tasks.
func (d *dependencies) openSealer(ctx context.Context, c config, logger *slog.Logger) (box *seal.Sealer, err error) {
	if c.secretsKeyFile != "" {
		return sealerOf(c.secretsKeyFile)
	}
	err = d.retry(ctx, logger, "Secret "+keySecret, func(ctx context.Context) error {
		key, err := sharedKey(ctx, d.k8s, d.keyNamespace)
		switch {
		case apierrors.IsForbidden(err), apierrors.IsNotFound(err): // the namespace may be created later
			logger.Warn("no sealing key, so tasks with secrets or files are rejected: grant get and create of Secrets in this namespace, or set --secrets-key-file", "namespace", d.keyNamespace, "err", err)
			return nil
		case err != nil:
			return err
		}
		box, err = seal.New(key)
		return err
	})
	return box, err
}

// useKey sets the functions of the controller that need the key: to open the secrets of a
// submission, and to derive the tokens of pods. All stay nil without a key.
func (d *dependencies) useKey(c submit.Config) submit.Config {
	if d.sealer != nil {
		c.OpenSecrets, c.UploadToken, c.OutputToken = d.sealer.Open, d.sealer.UploadToken, d.sealer.OutputToken
	}
	return c
}

// fileSettings returns the settings of uploads and outputs. Without a key, Tokens is nil.
func (d *dependencies) fileSettings(c config) (api.Uploads, archive.OutputConfig) {
	uploads := api.Uploads{Store: d.uploads, Limit: int64(c.maxUpload), Advertise: strings.TrimRight(c.advertiseURL, "/"), Tokens: d.sealer}
	stored := archive.OutputConfig{Store: d.outputs, Limit: int64(c.maxOutputs), Quota: int64(c.perUser.outputs), Tokens: d.sealer}
	return uploads, stored
}

func sealerOf(file string) (*seal.Sealer, error) {
	key, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("--secrets-key-file: %w", err)
	}
	box, err := seal.New(bytes.TrimSpace(key))
	if err != nil {
		return nil, fmt.Errorf("--secrets-key-file %s: %w; make one with: openssl rand -base64 32", file, err)
	}
	return box, nil
}

// sharedKey returns the key that all pods of a namespace share. It creates the key if the key does
// not exist. If several pods create the key at the same time, all of them use the key that was
// created first.
func sharedKey(ctx context.Context, k8s kubernetes.Interface, namespace string) ([]byte, error) {
	secrets := k8s.CoreV1().Secrets(namespace)
	found, err := secrets.Get(ctx, keySecret, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		found, err = secrets.Create(ctx, newKey(), metav1.CreateOptions{FieldManager: "k8s-cli"})
		if apierrors.IsAlreadyExists(err) {
			found, err = secrets.Get(ctx, keySecret, metav1.GetOptions{})
		}
	}
	if err != nil {
		return nil, fmt.Errorf("get or make secret %s: %w", keySecret, err)
	}
	return found.Data[keyName], nil
}

func newKey() *corev1.Secret {
	key := make([]byte, seal.MinKeyBytes)
	_, _ = rand.Read(key) // rand.Read never returns an error
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: keySecret, Labels: map[string]string{"app.kubernetes.io/name": "k8s-cli-server"}},
		Immutable:  new(true),
		Type:       corev1.SecretTypeOpaque,
		Data:       map[string][]byte{keyName: key},
	}
}
