package cache_test

import (
	"encoding/json"
	"testing"
	"time"

	"k8s-cli/pkg/cache"
	"k8s-cli/pkg/status"
	"k8s-cli/pkg/task"
)

// BenchmarkFold folds submissions, of which so many share an entry as under load.
func BenchmarkFold(b *testing.B) {
	const shared = 256
	var p *cache.Picture
	var e task.Entry
	b.ReportAllocs()
	for folded := 0; b.Loop(); folded++ {
		if folded%shared > 0 {
			continue
		}
		b.StopTimer()
		if folded%(shared<<8) == 0 { // how many there are already does not matter
			p, e = cache.New(status.Renderer{Namespace: "default"}), task.Entry{Version: task.EntryVersion, Log: "log", Seq: 1, Time: time.Now()}
			if _, err := p.Fold(e); err != nil {
				b.Fatal(err)
			}
		}
		e.Seq, e.Writer, e.Number, e.Commands = e.Seq+1, "w", e.Number+1, nil
		for range shared {
			raw, err := task.Command{Submit: &task.Submit{
				ID: task.NewID(), User: "ann@example.com", Image: "python:3.13-slim",
				Task: task.Task{Name: "train", Run: "python train.py --lr $LR\n", Envs: map[string]string{"LR": "0.1"}, Resources: task.Resources{CPUs: "2", Memory: "4"}},
			}}.Encode()
			if err != nil {
				b.Fatal(err)
			}
			e.Commands = append(e.Commands, json.RawMessage(raw))
		}
		b.StartTimer()
		if verdicts, err := p.Fold(e); err != nil || verdicts[0].Refusal != "" {
			b.Fatal(verdicts[0], err)
		}
	}
}
