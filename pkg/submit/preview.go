package submit

import (
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"k8s-cli/pkg/cache"
	"k8s-cli/pkg/submit/objects"
	"k8s-cli/pkg/task"
)

const previewNodes = 4 // number of Jobs in a preview; each Job contains the complete scripts

// Preview returns the objects that would be created if the task were submitted now, and
// warnings about what would prevent the creation. Preview sends no request to Kubernetes.
func Preview(store *cache.Store, s task.Submit, namespace string) (all []json.RawMessage, warnings []string, err error) {
	r := &task.Record{Submit: s, Hash: s.Hash(), CreatedAt: time.Now().UTC(), Phase: task.Pending}
	v := store.Preview(r)
	r.Claims = maps.Clone(v.Resolved)
	for _, name := range v.Missing {
		r.Claims[name] = name
		warnings = append(warnings, fmt.Sprintf("volumes: you have no volume %q, and there is no claim of that name that you may use; the task waits for the volume", name))
	}
	if v.Gang() {
		n, known := store.Nodes().Count()
		if why := notShareable([]task.View{v}, n, known); why != "" {
			warnings = append(warnings, "volumes: the task will fail: "+why)
		}
	}
	if n := v.NumNodes(); n > previewNodes {
		warnings = append(warnings, fmt.Sprintf("num_nodes: showing the Jobs of %d of %d nodes; the others differ only in their rank", previewNodes, n))
	}
	for _, o := range objects.Manifests(r, namespace, previewNodes) {
		raw, err := task.Marshal(o)
		if err != nil {
			return nil, nil, fmt.Errorf("encode the objects of a task: %w", err)
		}
		all = append(all, raw)
	}
	return all, warnings, nil
}
