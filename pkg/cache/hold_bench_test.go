package cache_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/outputs"
)

// BenchmarkHold folds every command and fact while a user has 20,000 active tasks, and reports for
// how long the store held its lock, in milliseconds. Readers and informers wait for so long.
func BenchmarkHold(b *testing.B) {
	const active = 20_000
	id := func(i int) string { return fmt.Sprint(i) }
	key := func(i int) task.Key { return task.Key{Kind: task.KindTask, ID: id(i)} }
	volume := task.Key{Kind: task.KindVolume, ID: "v"}
	node := func(i int) task.Node {
		return task.Node{Rank: i, Phase: task.Completed, StartedAt: new(time.Now()), FinishedAt: new(time.Now())}
	}
	many := func(n int, of func(int) task.Command) (all []task.Command) {
		for i := range n {
			all = append(all, of(i))
		}
		return all
	}
	submit := func(id string, set func(*task.Submit)) task.Command {
		s := &task.Submit{ID: id, User: "ann", Group: "g", Task: task.Spec{Run: "true", Envs: map[string]string{"A": "b"}}}
		set(s)
		return task.Command{Submit: s}
	}
	plain := func(*task.Submit) {}
	fills := func(set func(*task.Submit)) []task.Command {
		return many(active, func(i int) task.Command { return submit(id(i), set) })
	}
	applied := func(id string, nodes int) []task.Command {
		return []task.Command{
			{Admitted: &task.Admitted{IDs: []string{id}}},
			{Applied: &task.Applied{Key: task.Key{Kind: task.KindTask, ID: id}, UIDs: slices.Repeat([]string{"u"}, nodes)}},
		}
	}
	wide := func(extra ...task.Command) []task.Command {
		s := submit("w", func(s *task.Submit) { s.Task.NumNodes, s.Task.Outputs = task.MaxNodes, []string{"out"} })
		return slices.Concat(fills(plain), []task.Command{s}, applied("w", task.MaxNodes), extra)
	}
	nodes := func() (all []task.Node) {
		for i := range task.MaxNodes {
			all = append(all, node(i))
		}
		return all
	}
	after := func(p *task.Submit) { p.After = []string{"first"} }
	first := append([]task.Command{submit("first", plain)}, applied("first", 1)...)
	uploaded := many(1000, func(i int) task.Command {
		return task.Command{Upload: &task.Upload{User: "ann", Sum: fmt.Sprint("s", i), Object: fmt.Sprint("o", i), Size: 1}}
	})
	uses := func(s *task.Submit) { s.Task.Uploads = map[string]string{"/x": "s1"}; s.Key, s.Files = "k"+s.ID, "u" }
	mounts := func(s *task.Submit) { s.Task.Volumes = map[string]string{"/data": "data"} }
	create := task.Command{Create: &task.Create{ID: "v", User: "ann", Volume: task.Volume{Name: "data", Size: "1Gi"}}}
	resolved := many(active, func(i int) task.Command {
		return task.Command{Resolved: &task.Resolved{ID: id(i), Claims: map[string]string{"data": task.ClaimName("data", "v")}}}
	})
	var sums []task.UploadKey
	var ids []string
	for i := range 1000 {
		sums, ids = append(sums, task.UploadKey{User: "ann", Sum: fmt.Sprint("s", i)}), append(ids, id(i))
	}
	now := time.Now()
	stopped := slices.Concat(fills(plain), many(1000, func(i int) task.Command { return task.Command{Stop: &task.Stop{User: "ann", ID: id(i)}} }),
		many(1000, func(i int) task.Command { return task.Command{CleanedUp: &task.CleanedUp{Key: key(i)}} }))
	end := task.Command{Ended: &task.Ended{ID: "first", Phase: task.Completed, Nodes: []task.Node{node(0)}}}
	fail := task.Command{Ended: &task.Ended{ID: "first", Phase: task.Failed, Nodes: []task.Node{node(0)}}}
	batch := many(1000, func(i int) task.Command { return submit(fmt.Sprint("b", i), plain) })
	batch[0].Submit.Together = len(batch)
	var slowest time.Duration
	var name string
	for _, bench := range []struct {
		name   string
		before []task.Command
		then   []task.Command
	}{
		{"submit", fills(plain), []task.Command{submit("new", plain)}},
		{"submit-1000-together", fills(plain), batch},
		{"submit-into-held-group", fills(func(s *task.Submit) { s.MaxParallel = 10 }), []task.Command{submit("new", plain)}},
		{"stop", fills(plain), []task.Command{{Stop: &task.Stop{User: "ann", ID: "7"}}}},
		{"stop-in-held-group", fills(func(s *task.Submit) { s.MaxParallel = 10 }), []task.Command{{Stop: &task.Stop{User: "ann", ID: "7"}}}},
		{"stop-all", fills(plain), []task.Command{{StopAll: &task.StopAll{User: "ann"}}}},
		{"stop-group", fills(plain), []task.Command{{StopAll: &task.StopAll{User: "ann", Group: "g"}}}},
		{"stop-held-group", fills(func(s *task.Submit) { s.MaxParallel = 10 }), []task.Command{{StopAll: &task.StopAll{User: "ann", Group: "g"}}}},
		{"create-awaited-volume", fills(mounts), []task.Command{create}},
		{"delete-mounted-volume", slices.Concat([]task.Command{create}, fills(mounts), resolved), []task.Command{{Delete: &task.Delete{User: "ann", ID: "v", Force: true}}}},
		{"claimed-by-volume", slices.Concat([]task.Command{create}, fills(mounts), resolved), []task.Command{{Applied: &task.Applied{Key: volume, UIDs: []string{"u"}}}}},
		{"upload", slices.Concat(uploaded, fills(uses)), []task.Command{{Upload: &task.Upload{User: "ann", Sum: "s1", Object: "o", Size: 1}}}},
		{"delete-1000-uploads", slices.Concat(uploaded, fills(uses)), []task.Command{{DeleteUploads: &task.DeleteUploads{Uploads: sums, Now: now.Add(time.Hour), Then: now.Add(time.Hour)}}}},
		{"end-sessions", fills(plain), []task.Command{{EndSessions: &task.EndSessions{User: "ann", ID: "s", Until: now.Add(time.Hour)}}}},
		{"admit-1000", fills(plain), []task.Command{{Admitted: &task.Admitted{IDs: ids}}}},
		{"resolve", slices.Concat([]task.Command{create}, fills(mounts)), resolved[:1]},
		{"block", fills(plain), []task.Command{{Blocked: &task.Blocked{Key: key(7), Reason: "Quota", Message: "m"}}}},
		{"reject", fills(plain), []task.Command{{Rejected: &task.Rejected{Key: key(7), Reason: "Invalid", Message: "m"}}}},
		{"apply", fills(plain), applied("7", 1)},
		{"apply-widest", wide()[:active+2], applied("w", task.MaxNodes)[1:]},
		{"start-widest", wide(), []task.Command{{Started: &task.Started{ID: "w", Nodes: nodes()}}}},
		{"restart-widest", wide(), []task.Command{{Restarted: &task.Restarted{ID: "w", Attempts: func() (all []task.Attempt) {
			for i := range task.MaxNodes {
				all = append(all, task.Attempt{Rank: i, Number: 1, UID: "p", FinishedAt: new(now)})
			}
			return all
		}()}}}},
		{"end-widest", wide(), []task.Command{{Ended: &task.Ended{ID: "w", Phase: task.Completed, Nodes: nodes()}}}},
		{"end-before-20000", slices.Concat(first, fills(after)), []task.Command{end}},
		{"fail-before-20000", slices.Concat(first, fills(after)), []task.Command{fail}},
		{"fail-before-20000-fail-fast", slices.Concat(first, fills(func(s *task.Submit) { after(s); s.FailFast = true })), []task.Command{fail}},
		{"store-outputs", wide(), []task.Command{{OutputsStored: &outputs.Stored{ID: "w", Rank: 5}}}},
		{"clean-up", stopped[:active+1000], []task.Command{{CleanedUp: &task.CleanedUp{Key: key(7)}}}},
		{"expire-1000", stopped, []task.Command{{ExpireHistory: &task.ExpireHistory{IDs: ids, Now: now.Add(time.Hour), Then: now.Add(time.Hour)}}}},
		{"adopt", fills(plain), []task.Command{{Adopted: &task.Adopted{Submit: &task.Submit{ID: "x", User: "ann", Task: task.Spec{NumNodes: 1}}, UIDs: []string{"u"}, CreatedAt: now}}}},
		{"snapshot-marker", fills(plain), []task.Command{{SnapshotMarker: &task.SnapshotMarker{}}}},
	} {
		b.Run(bench.name, func(b *testing.B) {
			var longest, total time.Duration
			for b.Loop() {
				b.StopTimer()
				f := newFilled(b, 0, "")
				f.apply(b, 0, len(bench.before), func(i int) task.Command { return bench.before[i] })
				f.LongestHold()
				b.StartTimer()
				began := time.Now()
				f.fold(b, bench.then...)
				total += time.Since(began)
				longest = max(longest, f.LongestHold())
			}
			b.ReportMetric(float64(longest.Microseconds())/1000, "ms-held")
			b.ReportMetric(float64(total.Microseconds())/1000/float64(b.N), "ms-entry")
			if longest > slowest {
				slowest, name = longest, bench.name
			}
		})
	}
	b.Logf("the slowest is %s: the store held its lock for %s", name, slowest)
}
