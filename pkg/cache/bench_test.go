package cache_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"testing"
	"time"

	"k8s-cli/pkg/cache"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/query"
	"k8s-cli/test/testkit/must"
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
			p, e = cache.New(), task.Entry{Version: task.EntryVersion, Log: "log", Seq: 1, Time: time.Now()}
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
			must.Succeed(b, err)
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
	for _, bench := range []struct {
		size  int
		group string
	}{{30_000, ""}, {300_000, ""}, {300_000, "sweep"}} {
		size := bench.size
		b.Run(fmt.Sprintf("%d%s", size, bench.group), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				f := newFilled(b, size, bench.group)
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
				f := newFilled(b, size, "")
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

func newFilled(b *testing.B, size int, group string) *filled {
	b.Helper()
	f := &filled{cache.New(), task.Entry{Version: task.EntryVersion, Log: "log", Writer: "w", Time: time.Now()}}
	f.apply(b, 0, size, func(i int) task.Command {
		return task.Command{Submit: &task.Submit{ID: fmt.Sprint(i), User: "ann", Group: group, Task: task.Spec{Run: "true"}}}
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
		must.Succeed(b, err)
		f.e.Commands = append(f.e.Commands, raw)
	}
	if _, err := f.Fold(f.e); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkList lists 100,000 tasks of ten users, of which most are over, with different filters.
// The first page of 50 rows is the usual request.
func BenchmarkList(b *testing.B) {
	const tasks, users = 100_000, 10
	p := newFilled(b, 0, "")
	for i := range tasks {
		id := fmt.Sprintf("%08d", i)
		s := task.Submit{ID: id, User: fmt.Sprint("user", i%users), Image: "python", Task: task.Spec{Name: fmt.Sprint("train-", i%1000), Run: "true"}}
		if i%4 == 0 {
			s.Task.Resources = task.Resources{Accelerators: "H100:8", Labels: map[string]string{"team": fmt.Sprint("t", i%20)}}
		}
		key := task.Key{Kind: task.KindTask, ID: id}
		commands := []task.Command{{Submit: &s}, {Applied: &task.Applied{Key: key, UIDs: []string{id}}}}
		switch {
		case i%50 == 1:
			commands = commands[:1] // waits
		case i < tasks*9/10:
			end := task.Ended{ID: id, Phase: task.Completed, Nodes: []task.Node{{Phase: task.Completed, StartedAt: new(time.Now())}}}
			if i%100 == 0 {
				end.Phase, end.Reason = task.Failed, "OOMKilled"
			}
			commands = append(commands, task.Command{Ended: &end}, task.Command{CleanedUp: &task.CleanedUp{Key: key}})
		}
		p.fold(b, commands...)
	}
	for name, q := range map[string]query.Tasks{
		"all": {}, "status": {Phases: []task.Phase{task.Completed}}, "status-few": {Phases: []task.Phase{task.Failed}}, "reason": {Reasons: []string{"OOMKilled"}},
		"name": {Name: "train-7"}, "name_contains": {NameContains: []string{"n-77"}}, "label": {Labels: []string{"team=t4"}}, "since": {Since: "1h"},
		"sort=name": {Sort: "name"}, "sort=-started": {Sort: "-started"}, "sort=-ended,status": {Sort: "-ended", Phases: []task.Phase{task.Failed}},
	} {
		for user, all := range map[string]bool{"user1": false, "everybody": true} {
			q.Limit, q.AllUsers = 50, all
			l, err := q.List(user, time.Now())
			must.Succeed(b, err)
			b.Run(name+"/"+user, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					p.TaskRows(l)
				}
			})
		}
	}
	b.Run("summary/everybody", func(b *testing.B) {
		for b.Loop() {
			p.Summary("", true)
		}
	})
}
