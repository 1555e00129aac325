package taskfile

import "sync"

// A pooled value has the table that fills it in, once. To make such a table takes longer than
// to read a task by it, so that nodes are pooled.
type pooled[T any] struct {
	filled T
	fields schema
}

// pools are those at hand that are empty.
type pools[T any] struct{ pool sync.Pool }

var (
	taskPools     = newPools(taskFields)
	resourcePools = newPools(resourceFields)
)

func newPools[T any](fields func(*T) schema) *pools[T] {
	return &pools[T]{pool: sync.Pool{New: func() any {
		one := &pooled[T]{}
		one.fields = fields(&one.filled)
		return one
	}}}
}

// fill returns what read fills in along the fields that it gets.
func (b *pools[T]) fill(read func(schema) error) (filled T, err error) {
	var empty T
	one, _ := b.pool.Get().(*pooled[T])
	defer b.pool.Put(one)
	defer func() { one.filled = empty }()
	err = read(one.fields)
	return one.filled, err
}
