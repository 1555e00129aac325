package features

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"k8s-cli/pkg/task"
)

// Each task of a batch is one task, also when the batch is sent again.
func TestTaskBatch(t *testing.T) {
	t.Parallel()
	ann := newUser(t)
	var body strings.Builder
	for n := range 300 {
		fmt.Fprintf(&body, `{"name":"batch-%d","run":"true","resources":{"cpus":100000}}`+"\n", n)
	}
	send := func(body, key string) (b task.Batch) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, ann.url+"/tasks/batch", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header = http.Header{"X-User": {ann.name}, "Content-Type": {"application/x-ndjson"}, "Idempotency-Key": {key}}
		response, err := held(t).Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		if err := json.NewDecoder(response.Body).Decode(&b); err != nil || response.StatusCode != http.StatusOK {
			t.Fatalf("%s, %v", response.Status, err)
		}
		return b
	}
	first, again := send(body.String(), "sweep"), send(body.String(), "sweep")
	if diff := cmp.Diff(first, again); diff != "" || first.Submitted != 300 {
		t.Errorf("%d submitted; sent again it says (-first +again):\n%s", first.Submitted, diff)
	}
	all, err := ann.Tasks(t.Context(), false)
	if err != nil || len(all) != 300 {
		t.Errorf("%d tasks, %v", len(all), err)
	}
	const own = `{"run":"true","idempotency_key":"own"}`
	alone := decode[task.Submitted](t, ann.post(t, ann.name, "/tasks/submit", `{"run":"true"}`, "Idempotency-Key", "own"))
	twice := send(own+"\n"+own, "one").Results
	if later := send(own, "two").Results[0].ID; twice[0].ID != alone.ID || twice[1].ID != alone.ID || later != alone.ID {
		t.Errorf("with a key of its own a task is %s, %+v and %s, want one", alone.ID, twice, later)
	}
	if other := send(`{"run":"false","idempotency_key":"own"}`, "three").Results[0]; other.Code != http.StatusConflict {
		t.Errorf("another task with that key: %+v", other)
	}
	if _, err := ann.StopAll(t.Context(), false); err != nil {
		t.Error(err)
	}
}
