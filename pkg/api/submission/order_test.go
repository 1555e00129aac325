package submission

import (
	"errors"
	"fmt"
	"reflect"
	"testing"

	"k8s-cli/pkg/task/problem"
)

func TestOrder(t *testing.T) {
	for _, tt := range []struct {
		name  string
		keys  []string
		after [][]string
		want  []int
		err   string
	}{
		{"none", nil, nil, []int{}, ""},
		{"without names", []string{"a", "", "b"}, make([][]string, 3), []int{0, 1, 2}, ""},
		{"a chain backwards", []string{"c", "b", "a"}, [][]string{{"b"}, {"a"}, nil}, []int{2, 1, 0}, ""},
		{"a diamond", []string{"end", "left", "right", "begin"}, [][]string{{"left", "right"}, {"begin"}, {"begin"}, nil}, []int{3, 1, 2, 0}, ""},
		{"other tasks", []string{"a", "b"}, [][]string{{"x"}, {"a", "y"}}, []int{0, 1}, ""},
		{"itself", []string{"a"}, [][]string{{"a"}}, nil, `after: task "a" comes after itself; remove the name`},
		{"a circle", []string{"x", "a", "b", "c"}, [][]string{{"a"}, {"b"}, {"c"}, {"a"}}, nil, `after: the tasks "a", "b", "c" wait for each other in a circle; remove one of the names`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Order(tt.keys, tt.after)
			if tt.err != "" {
				if !errors.Is(err, problem.Invalid) || err.Error() != tt.err {
					t.Errorf("got %v, want %s", err, tt.err)
				}
				return
			}
			if err != nil || !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got %v, %v, want %v", got, err, tt.want)
			}
		})
	}
}

func TestALongChainIsOrdered(t *testing.T) {
	const length = 20_000
	keys, after := make([]string, length), make([][]string, length)
	for i := range keys {
		keys[i] = fmt.Sprint(i)
		if i+1 < length {
			after[i] = []string{fmt.Sprint(i + 1)}
		}
	}
	order, err := Order(keys, after)
	if err != nil || order[0] != length-1 || order[length-1] != 0 {
		t.Errorf("the order begins with %v, %v", order[:3], err)
	}
}
