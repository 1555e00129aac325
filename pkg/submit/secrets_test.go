package submit

import (
	"errors"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s-cli/pkg/submit/objects"
	"k8s-cli/pkg/task"
	"k8s-cli/test/testkit/must"
)

// withSecrets returns a testCluster with a task that has secrets.
func withSecrets(t *testing.T) *testCluster {
	t.Helper()
	w := newTestCluster(t)
	w.config.OpenSecrets = func(s task.Submit) (map[string]string, error) {
		return map[string]string{"TOKEN": "opened " + string(s.Sealed)}, nil
	}
	w.append(task.Command{Submit: &task.Submit{ID: "a", User: "ann", Image: "python", Sealed: []byte("sealed"), Task: task.Spec{
		Name: "train", Run: "true", Secrets: map[string]string{"TOKEN": task.Redacted},
	}}})
	return w
}

func TestATaskWithSecretsHasASecret(t *testing.T) {
	w := withSecrets(t)
	w.must("a", "applied")
	secret, err := w.cluster.CoreV1().Secrets(namespace).Get(t.Context(), "train-a", metav1.GetOptions{})
	if err != nil || string(secret.Data["TOKEN"]) != "opened sealed" || secret.OwnerReferences[0].UID != w.jobsByName()["train-a"].UID {
		t.Errorf("%v, %+v", err, secret)
	}
	if r := w.record("a"); r.Submit.Sealed != nil || r.Submit.Task.Secrets != nil {
		t.Errorf("the record keeps %+v", r.Submit)
	}
}

// A controller may crash between creating the Secret and appending the fact.
func TestASecretThatIsThereIsOurs(t *testing.T) {
	w := withSecrets(t)
	w.place(jobsOf(w.record("a"))...)
	must.Succeed(t, w.cluster.Tracker().Add(objects.Secret(w.record("a"), nil, nil, namespace, "placed/train-a")))
	w.must("a", "applied")
}

// The key may come back; the task waits and records the reason.
func TestSecretsThatCannotBeRead(t *testing.T) {
	for name, open := range map[string]func(task.Submit) (map[string]string, error){
		"no key":      nil,
		"another key": func(task.Submit) (map[string]string, error) { return nil, errors.New("it does not fit") },
	} {
		w := withSecrets(t)
		w.config.OpenSecrets, open = open, w.config.OpenSecrets
		if facts, err := w.step("a"); !errors.Is(err, errSecretsUnreadable) || !slices.Equal(facts, []string{"blocked"}) {
			t.Errorf("%s: facts %q, %v", name, facts, err)
		}
		if r := w.record("a"); r.Reason != "SecretsUnreadable" || !strings.Contains(r.Message, "--secrets-key-file") {
			t.Errorf("%s: %+v", name, r)
		}
		w.config.OpenSecrets = open
		w.must("a", "applied")
	}
}

func TestASecretThatIsRefused(t *testing.T) {
	w := withSecrets(t)
	w.failing("create", "secrets", -1, apierrors.NewForbidden(claims, "train-a", errors.New("not you")))
	w.must("a", "rejected")
	w.mustFail("a", errDeletionPending)
	w.must("a", "cleaned_up")
}
