package status

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"k8s-cli/pkg/task"
	"k8s-cli/test/testkit/must"
)

// fill gives every field below v a different value, so that no field can be missing or
// replaced by another one.
func fill(v reflect.Value, n *int) {
	*n++
	switch {
	case v.Type() == reflect.TypeFor[time.Time]():
		v.Set(reflect.ValueOf(second(*n)))
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n)
	case v.Kind() == reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 3, 3))
		for i := range 3 {
			fill(v.Index(i), n)
		}
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), n)
		}
	case v.Kind() == reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, n)
		fill(value, n)
		v.SetMapIndex(key, value)
	case v.Kind() == reflect.Bool:
		v.SetBool(true)
	case v.CanInt():
		v.SetInt(int64(*n))
	case v.CanFloat():
		v.SetFloat(float64(*n) / 8)
	default:
		v.SetString(fmt.Sprintf("%d: \"<&>\" \\ \x00\n\t é \U0001f600 \u2028", *n))
	}
}

func TestATaskIsEncodedAsItsTypesSay(t *testing.T) {
	var full task.Status
	fill(reflect.ValueOf(&full).Elem(), new(int))
	empty := task.Status{Metadata: task.Metadata{NodeJobs: []string{}, Nodes: []task.Node{}}}
	broken := empty
	broken.Name = "\xff"
	for name, s := range map[string]task.Status{"full": full, "empty": empty, "not UTF-8": broken} {
		var got, want any
		if err := json.Unmarshal(encodeTask(s), &got); err != nil {
			t.Errorf("%s: %v in %s", name, err, encodeTask(s))
		}
		must.Succeed(t, json.Unmarshal(encode(s), &want))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-encoding/json +here):\n%s", name, diff)
		}
	}
}
