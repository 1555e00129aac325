package deploy

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s-cli/pkg/client"
	"k8s-cli/pkg/task"
	"k8s-cli/test/testkit"
	"k8s-cli/test/testkit/must"
)

// A subscriber receives the events of one user and can do nothing else.
func TestSubscribersReceiveTheirOwnEvents(t *testing.T) {
	c := join(t)
	pair, err := nkeys.CreateUser()
	must.Succeed(t, err)
	public, err := pair.PublicKey()
	must.Succeed(t, err)
	before, err := c.AppsV1().StatefulSets(namespace()).Get(t.Context(), nats, metav1.GetOptions{})
	must.Succeed(t, err)
	helm(t, "upgrade", release, chartDir, "--namespace", namespace(), "--reuse-values",
		"--set", "nats.subscribers[0].user=hears@example.com,nats.subscribers[0].nkey="+public)
	eventually(t, "NATS to know the subscriber", func() (string, bool) {
		now, err := c.AppsV1().StatefulSets(namespace()).Get(t.Context(), nats, metav1.GetOptions{})
		if err != nil {
			return err.Error(), false
		}
		s := now.Status
		return fmt.Sprintf("%+v", s), s.ObservedGeneration > before.Status.ObservedGeneration && s.ReadyReplicas == 3 && s.CurrentRevision == s.UpdateRevision && s.CurrentRevision != before.Status.CurrentRevision
	})
	refused := make(chan string, 16)
	nc := c.connect(t, natsgo.Nkey(public, pair.Sign), natsgo.ErrorHandler(func(_ *natsgo.Conn, _ *natsgo.Subscription, err error) { refused <- err.Error() }))
	own, err := nc.SubscribeSync("event.*.hears=40example=2Ecom.>")
	must.Succeed(t, err)
	must.Succeed(t, nc.Flush())
	waiting := task.Spec{Run: "true", Volumes: map[string]string{"/data": "nowhere"}}
	if _, err := c.as(t, "other@example.com").Submit(t.Context(), waiting); err != nil {
		t.Fatal(err)
	}
	mine, err := c.as(t, "hears@example.com").Submit(t.Context(), waiting)
	must.Succeed(t, err)
	ctx, cancel := testkit.WithPatience(t.Context(), patience)
	defer cancel()
	if m, err := own.NextMsgWithContext(ctx); err != nil || !strings.HasSuffix(m.Subject, mine.ID) {
		t.Errorf("the first event heard: %v, %v; want that of %s", m, err, mine.ID)
	}
	for _, try := range []struct {
		what string
		do   func() error
	}{
		{"hear everybody's", func() error { _, err := nc.SubscribeSync("event.>"); return err }},
		{"hear another's", func() error { _, err := nc.SubscribeSync("event.*.other=40example=2Ecom.>"); return err }},
		{"write into the log", func() error { return nc.Publish("log", []byte("{}")) }},
		{"ask JetStream", func() error { return nc.Publish("$JS.API.STREAM.INFO.LOG", nil) }},
	} {
		must.Succeed(t, try.do())
		must.Succeed(t, nc.Flush())
		select {
		case <-refused:
		case <-ctx.Done():
			t.Errorf("a subscriber could %s", try.what)
		}
	}
	for _, user := range []string{"hears@example.com", "other@example.com"} {
		if _, err := c.as(t, user).StopAll(t.Context(), false); err != nil {
			t.Error(err)
		}
	}
}

// A single pod with the log on a volume: a new pod has everything that the former pod
// accepted.
func TestSinglePod(t *testing.T) {
	c := join(t)
	const space = "k8s-cli-single"
	_, err := c.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: space, Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
	}}, metav1.CreateOptions{})
	must.Succeed(t, err)
	t.Cleanup(func() {
		for _, name := range []string{space, space + "-tasks"} {
			_ = c.CoreV1().Namespaces().Delete(context.Background(), name, metav1.DeleteOptions{})
		}
	})
	helm(t, "install", "single", chartDir, "--namespace", space, "--values", valuesOf(t), "--wait", "--timeout", patience.String(),
		"--set", "log=embedded,embedded.size=1Gi,server.secretsKey.existingSecret=,tasks.namespace="+space+"-tasks")
	t.Cleanup(func() {
		_ = exec.Command(os.Getenv(envHelm), "uninstall", "single", "--namespace", space, "--kubeconfig", os.Getenv(envKubeconfig)).Run()
	})
	service, err := c.CoreV1().Services(space).Get(t.Context(), "single-k8s-cli", metav1.GetOptions{})
	must.Succeed(t, err)
	ann := client.New("http://"+service.Spec.ClusterIP+":8000", "ann@example.com")
	defer ann.Close()
	if log, s := run(t, ann, task.Spec{Secrets: map[string]string{"S": "hidden"}, Run: `echo "$S"`}); s.Phase != task.Completed || log != "hidden\n" {
		t.Errorf("%s, log %q", s.Phase, log)
	}
	for where, there := range map[string]bool{space: true, space + "-tasks": false} {
		if _, err := c.CoreV1().Secrets(where).Get(t.Context(), "k8s-cli-server-key", metav1.GetOptions{}); (err == nil) != there {
			t.Errorf("the key of the secrets in namespace %s: %v", where, err)
		}
	}
	accepted, err := ann.Submit(t.Context(), task.Spec{Run: "true", Volumes: map[string]string{"/data": "nowhere"}})
	must.Succeed(t, err)
	pods := c.CoreV1().Pods(space)
	must.Succeed(t, pods.DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}))
	eventually(t, "the task to be there again", func() (string, bool) {
		list, err := pods.List(t.Context(), metav1.ListOptions{})
		if err != nil || len(list.Items) != 1 || list.Items[0].DeletionTimestamp != nil || !isReady(&list.Items[0]) {
			return fmt.Sprint("not ready ", err), false
		}
		s, err := ann.Task(t.Context(), accepted.ID)
		return fmt.Sprint(s.Phase, err), err == nil && s.Phase == task.Pending
	})
}

// valuesOf returns a file with the values of the installed release.
func valuesOf(t *testing.T) string {
	t.Helper()
	need(t, envHelm)
	out, err := exec.CommandContext(t.Context(), os.Getenv(envHelm), "get", "values", release, "--namespace", namespace(), "--kubeconfig", os.Getenv(envKubeconfig), "-o", "yaml").Output()
	must.Succeed(t, err)
	path := filepath.Join(t.TempDir(), "values.yaml")
	must.Succeed(t, os.WriteFile(path, out, 0o600))
	return path
}
