package submit

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s-cli/pkg/task"
)

var sum = strings.Repeat("a", 64)

func stored(user, sum, object string) task.Command {
	return task.Command{Upload: &task.Upload{User: user, Sum: sum, Object: object, Size: 1}}
}

// withFiles returns a testCluster with a task that has an upload.
func withFiles(t *testing.T) *testCluster {
	t.Helper()
	w := newTestCluster(t)
	w.config.UploadToken = func(id string) string { return "token of " + id }
	w.append(stored("ann", sum, "ann/1"), task.Command{Submit: &task.Submit{ID: "a", User: "ann", Image: "python", Files: "http://server", Task: task.Spec{
		Name: "train", Run: "true", Uploads: map[string]string{"/data": sum},
	}}})
	return w
}

func TestATaskWithUploadsHasASecretWithItsToken(t *testing.T) {
	w := withFiles(t)
	w.must("a", "applied")
	secret, err := w.cluster.CoreV1().Secrets(namespace).Get(t.Context(), "train-a", metav1.GetOptions{})
	if err != nil || len(secret.Data) != 1 || string(secret.Data["files.token"]) != "token of a" {
		t.Errorf("%v, %+v", err, secret)
	}
	if r := w.record("a"); r.Submit.Task.Uploads["/data"] != sum {
		t.Errorf("the record keeps %+v", r.Submit)
	}
}

func TestAServerWithoutAKeyAppliesNoTaskWithUploads(t *testing.T) {
	w := withFiles(t)
	w.config.UploadToken = nil
	w.mustFail("a", errSecretsUnreadable, "blocked")
}
