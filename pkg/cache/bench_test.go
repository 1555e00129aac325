package cache_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"testing"
	"time"

	"k8s-cli/pkg/cache"
	"k8s-cli/pkg/status"
	"k8s-cli/pkg/task"
)

// BenchmarkFold folds submissions, with as many in one entry as under load.
func BenchmarkFold(b *testing.B) {
	const shared = 256
	var p *cache.Store
	var e task.Entry
	b.ReportAllocs()
	for folded := 0; b.Loop(); folded++ {
		if folded%shared > 0 {
			continue
		}
		b.StopTimer()
		if folded%(shared<<8) == 0 { // the number of existing tasks does not matter
			p, e = cache.New(status.Renderer{Namespace: "default"}), task.Entry{Version: task.EntryVersion, Log: "log", Seq: 1, Time: time.Now()}
			if _, err := p.Fold(e); err != nil {
				b.Fatal(err)
			}
		}
		e.Seq, e.Writer, e.Number, e.Commands = e.Seq+1, "w", e.Number+1, nil
		for range shared {
			raw, err := task.Command{Submit: &task.Submit{
				ID: task.NewID(), User: "ann@example.com", Image: "python:3.13-slim",
				Task: task.Spec{Name: "train", Run: "python train.py --lr $LR\n", Envs: map[string]string{"LR": "0.1"}, Resources: task.Resources{CPUs: "2", Memory: "4"}},
			}}.Encode()
			if err != nil {
				b.Fatal(err)
			}
			e.Commands = append(e.Commands, json.RawMessage(raw))
		}
		b.StartTimer()
		if results, err := p.Fold(e); err != nil || results[0].Rejection != "" {
			b.Fatal(results[0], err)
		}
	}
}

// BenchmarkExpiry expires a thousand tasks of a history that has a running task before them.
func BenchmarkExpiry(b *testing.B) {
	for _, size := range []int{30_000, 300_000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				f := newFilled(b, size)
				f.apply(b, 1, size, func(i int) task.Command { return task.Command{Stop: &task.Stop{User: "ann", ID: fmt.Sprint(i)}} })
				f.apply(b, 1, size, func(i int) task.Command {
					return task.Command{CleanedUp: &task.CleanedUp{Key: task.Key{Kind: task.KindTask, ID: fmt.Sprint(i)}}}
				})
				forget, _ := f.Expired(time.Time{}, 0, 0, 1000)
				runtime.GC()
				b.StartTimer()
				f.fold(b, task.Command{ExpireHistory: &forget})
			}
		})
	}
}

// BenchmarkStopAll stops the tasks of a backlog with one command.
func BenchmarkStopAll(b *testing.B) {
	for _, size := range []int{10_000, 100_000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				f := newFilled(b, size)
				runtime.GC()
				b.StartTimer()
				f.fold(b, task.Command{StopAll: &task.StopAll{User: "ann"}})
			}
		})
	}
}

// A filled store contains many tasks of one user.
type filled struct {
	*cache.Store
	e task.Entry
}

func newFilled(b *testing.B, size int) *filled {
	b.Helper()
	f := &filled{cache.New(status.Renderer{Namespace: "default"}), task.Entry{Version: task.EntryVersion, Log: "log", Writer: "w", Time: time.Now()}}
	f.apply(b, 0, size, func(i int) task.Command {
		return task.Command{Submit: &task.Submit{ID: fmt.Sprint(i), User: "ann", Task: task.Spec{Run: "true"}}}
	})
	return f
}

// apply folds the commands with the numbers from first to end-1.
func (f *filled) apply(b *testing.B, first, end int, command func(int) task.Command) {
	b.Helper()
	for ; first < end; first += 1000 {
		var commands []task.Command
		for i := first; i < min(first+1000, end); i++ {
			commands = append(commands, command(i))
		}
		f.fold(b, commands...)
	}
}

func (f *filled) fold(b *testing.B, commands ...task.Command) {
	b.Helper()
	f.e.Seq, f.e.Number, f.e.Commands = f.e.Seq+1, f.e.Number+1, nil
	for _, c := range commands {
		raw, err := c.Encode()
		if err != nil {
			b.Fatal(err)
		}
		f.e.Commands = append(f.e.Commands, raw)
	}
	if _, err := f.Fold(f.e); err != nil {
		b.Fatal(err)
	}
}
