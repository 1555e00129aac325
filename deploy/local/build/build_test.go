package build

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s-cli/deploy/local/layout"
)

func TestSourceKeyFollowsTheSource(t *testing.T) {
	dir := t.TempDir()
	write := func(text string) {
		if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	key := func(more ...string) string {
		k, err := sourceKey("x-v1", dir, more...)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	write("package a")
	first := key()
	if again := key(); again != first {
		t.Errorf("the same source has the keys %s and %s", first, again)
	}
	if flags := key("-X a=b"); flags == first {
		t.Error("other flags have the same key")
	}
	write("package b")
	if changed := key(); changed == first || !strings.HasPrefix(changed, "x-v1-") {
		t.Errorf("changed source has the key %s", changed)
	}
}

func TestACacheEntryIsWholeOrAbsent(t *testing.T) {
	cache := t.TempDir()
	broken := component{title: "bread", key: "bread-1", make: func(_ context.Context, k builder) error {
		fmt.Fprintln(k.log, "no flour")
		return errors.Join(os.WriteFile(k.out("half"), nil, 0o644), errors.New("cannot bake"))
	}}
	err := broken.cook(t.Context(), "", cache)
	if err == nil || !strings.Contains(err.Error(), "no flour") {
		t.Errorf("cook = %v, want the end of the log in it", err)
	}
	if _, err := os.Stat(filepath.Join(cache, "bread-1")); err == nil {
		t.Error("a broken entry is in the cache")
	}
	good := component{title: "bread", key: "bread-1", make: func(_ context.Context, k builder) error {
		return os.WriteFile(k.out("loaf"), nil, 0o644)
	}}
	if err := good.cook(t.Context(), "", cache); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(cache, "bread-1", "loaf")); err != nil {
		t.Error(err)
	}
	if rest, _ := filepath.Glob(filepath.Join(cache, "making-*")); len(rest) > 0 {
		t.Errorf("left behind: %v", rest)
	}
}

func TestMissing(t *testing.T) {
	all := []component{{key: "both-1"}, {key: "real-1", only: layout.Kubelet}, {key: "fake-1", only: layout.Kwok}, {key: "made-1"}}
	l := layout.Layout{Cache: t.TempDir(), Nodes: layout.Kwok}
	if err := os.Mkdir(filepath.Join(l.Cache, "made-1"), 0o755); err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, r := range missing(l, all) {
		keys = append(keys, r.key)
	}
	if got := strings.Join(keys, " "); got != "both-1 fake-1" {
		t.Errorf("missing = %s, want both-1 fake-1", got)
	}
}

func TestAllRecipesHaveAPlaceInTheKit(t *testing.T) {
	all, err := components("..")
	if err != nil {
		t.Fatal(err)
	}
	if kit := newArtifacts("/cache", all); len(kit.Keys) != len(all) {
		t.Errorf("two recipes share the first part of their keys: %v", kit.Keys)
	}
}
