package taskfile

import "sync"

// A pooled value has a table of fields whose readers store into the value. Pooling saves
// time, because creating the table takes longer than reading a task.
type pooled[T any] struct {
	filled T
	fields schema
}

// pools contains empty values for reuse.
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

// fill returns the value that read has filled through the table of fields.
func (p *pools[T]) fill(read func(schema) error) (filled T, err error) {
	var empty T
	one, _ := p.pool.Get().(*pooled[T])
	defer p.pool.Put(one)
	defer func() { one.filled = empty }()
	err = read(one.fields)
	return one.filled, err
}
