package taskfile

import "sync"

// A blank has the table that fills it in, once. To make such a table takes longer
// to read a task by it, so that blanks are used again.
type blank[T any] struct {
	filled T
	fields schema
}

// blanks are those at hand that are empty.
type blanks[T any] struct{ pool sync.Pool }

var (
	taskBlanks     = newBlanks(taskFields)
	resourceBlanks = newBlanks(resourceFields)
)

func newBlanks[T any](fields func(*T) schema) *blanks[T] {
	return &blanks[T]{pool: sync.Pool{New: func() any {
		one := &blank[T]{}
		one.fields = fields(&one.filled)
		return one
	}}}
}

// fill returns what read fills in along the fields that it gets.
func (b *blanks[T]) fill(read func(schema) error) (filled T, err error) {
	var empty T
	one, _ := b.pool.Get().(*blank[T])
	defer b.pool.Put(one)
	defer func() { one.filled = empty }()
	err = read(one.fields)
	return one.filled, err
}
