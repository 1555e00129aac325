package api

import (
	"strings"
	"testing"

	"k8s-cli/pkg/task/policy"
)

// TestTasksAreHeldToThePolicy checks that every route that accepts a task applies the
// policy.
func TestTasksAreHeldToThePolicy(t *testing.T) {
	t.Parallel()
	server := func(p policy.Tasks) *served {
		return serveWith(t, &fake{}, func(c *Config) {
			c.Policy = p
			c.Preview = noObjects
		})
	}
	none := server(policy.Tasks{})
	some := server(policy.Tasks{PriorityClasses: []string{"high"}, Annotations: policy.Keys{"example.com/"}})
	for _, tt := range []struct {
		body, want string
		listed     bool // allowed by some
	}{
		{`{"run":"x","resources":{"priority_class":"high"}}`, `resources.priority_class: "high" is not allowed on this server; its administrator can add it to --allowed-priority-classes`, true},
		{`{"run":"x","resources":{"priority_class":"k8s-cli-k8s-cli"}}`, `resources.priority_class: "k8s-cli-k8s-cli" is not allowed`, false},
		{`{"run":"x","config":{"kubernetes":{"custom_metadata":{"annotations":{"example.com/why":"x"}}}}}`, `config.kubernetes.custom_metadata.annotations: "example.com/why" is not allowed`, true},
		{`{"run":"x","config":{"kubernetes":{"pod_config":{"metadata":{"annotations":{"iam.amazonaws.com/role":"x"}}}}}}`, `config.kubernetes.pod_config.metadata.annotations: "iam.amazonaws.com/role" is not allowed on this server; its administrator can add it to --allowed-annotations`, false},
		{`{"run":"x","config":{"kubernetes":{"pod_config":{"spec":{"tolerations":[{"operator":"Exists"}]}}}}}`, `config.kubernetes.pod_config.spec.tolerations[0]: a toleration without a key is not allowed`, false},
		{`{"run":"x","volumes":{"/a":{"size":"1Gi","labels":{"vendor.example/backup":"off"}}}}`, `volumes./a.labels: "vendor.example/backup" is not allowed`, false},
	} {
		for _, path := range []string{"/tasks/submit", previewPath} {
			none.send("POST", path, tt.body).wantError(t, 422, tt.want)
			if got := some.send("POST", path, tt.body); (got.StatusCode == 200) != tt.listed {
				t.Errorf("%s of %s: %d %s", path, tt.body, got.StatusCode, got.body)
			}
		}
		if batch := none.send("POST", batchPath, "["+tt.body+"]").batch(t); batch.Failed != 1 || batch.Results[0].Code != 422 || !strings.HasPrefix(batch.Results[0].Detail, tt.want) {
			t.Errorf("batch: %+v", batch)
		}
	}
	if told := none.told(); len(told) > 0 {
		t.Errorf("the log has %v", told)
	}
}
