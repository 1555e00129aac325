package features

import (
	"net/http"
	"testing"

	"k8s-cli/pkg/task"
)

// A request that is repeated with its idempotency key is one request, on any server and
// after any restart.
func TestIdempotencyKey(t *testing.T) {
	t.Parallel()
	a, b := startTwo(t)
	const body = `{"name":"once","run":"true","volumes":{"/data":"nowhere"}}`
	submit := func(s *server, user, key, body string) answer {
		t.Helper()
		return s.post(t, user, "/tasks/submit", body, "Idempotency-Key", key)
	}
	first := decode[task.Submitted](t, submit(a, "ann", "key-1", body)).ID
	for _, s := range []*server{a, b, a} {
		if got := decode[task.Submitted](t, submit(s, "ann", "key-1", body)).ID; got != first {
			t.Errorf("repeated, the id is %s, want %s", got, first)
		}
	}
	if got := submit(b, "ann", "key-1", `{"name":"twice","run":"true","volumes":{"/data":"nowhere"}}`); got.code != http.StatusConflict || got.detail(t) == "" {
		t.Errorf("another body under the same key: %d %s, want 409", got.code, got.body)
	}
	for user, key := range map[string]string{"bob": "key-1", "ann": "key-2"} {
		if got := decode[task.Submitted](t, submit(b, user, key, body)).ID; got == first {
			t.Errorf("user %s with key %s has the same task", user, key)
		}
	}
	if got := len(a.as(t, "ann").tasks(t)); got != 2 {
		t.Errorf("ann has %d tasks, want 2", got)
	}

	a.process.Kill()
	again := a.again(t)
	if got := decode[task.Submitted](t, submit(again, "ann", "key-1", body)).ID; got != first {
		t.Errorf("after a restart the id is %s, want %s", got, first)
	}

	const volume = `{"name":"data","size":"1Gi","storage_class":"nobody-provides"}`
	create := func(s *server, body string) answer {
		t.Helper()
		return s.post(t, "ann", "/volumes/create", body, "Idempotency-Key", "key-1")
	}
	created := decode[task.Created](t, create(again, volume)).ID
	if got := decode[task.Created](t, create(b, volume)).ID; got != created {
		t.Errorf("repeated, the volume's id is %s, want %s", got, created)
	}
	if got := create(b, `{"name":"data","size":"2Gi","storage_class":"nobody-provides"}`); got.code != http.StatusConflict {
		t.Errorf("another volume under the same key: %d %s, want 409", got.code, got.body)
	}
	if got, err := b.as(t, "ann").Volumes(t.Context(), false); err != nil || len(got) != 1 {
		t.Errorf("the volumes are %+v, %v", got, err)
	}
}
