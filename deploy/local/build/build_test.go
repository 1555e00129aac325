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
		k, err := sourceKey("x-v1", []string{dir}, more...)
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
	err := broken.cook(t.Context(), "", cache, newProgress(1))
	if err == nil || !strings.Contains(err.Error(), "no flour") {
		t.Errorf("cook = %v, want the end of the log in it", err)
	}
	if _, err := os.Stat(filepath.Join(cache, "bread-1")); err == nil {
		t.Error("a broken entry is in the cache")
	}
	good := component{title: "bread", key: "bread-1", make: func(_ context.Context, k builder) error {
		return os.WriteFile(k.out("loaf"), nil, 0o644)
	}}
	if err := good.cook(t.Context(), "", cache, newProgress(1)); err != nil {
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
	all := []component{
		{key: "both-1"},
		{key: "real-1", need: forReal},
		{key: "fake-1", need: forFake},
		{key: "made-1"},
		{key: "dns-1", need: forNames},
		{key: "proxy-1", need: forVIPs},
		{key: "kubectl-1", need: onDemand},
	}
	cache := t.TempDir()
	if err := os.Mkdir(filepath.Join(cache, "made-1"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		nodes    layout.Nodes
		instance int
		choice   Choice
		want     string
	}{
		{layout.Kwok, 0, Everything, "both-1 fake-1"},
		{layout.None, 0, Everything, "both-1"},
		{layout.Kubelet, 0, Everything, "both-1 real-1 dns-1 proxy-1"},
		{layout.Kubelet, 1, Everything, "both-1 real-1 dns-1"},
		{layout.Kubelet, 0, FirstTask, "both-1 real-1"},
		{layout.Kubelet, 0, AddOns, "dns-1 proxy-1"},
		{layout.Kubelet, 0, Kubectl, "kubectl-1"},
	} {
		var keys []string
		for _, r := range missing(layout.Layout{Cache: cache, Nodes: tt.nodes, Instance: tt.instance}, tt.choice, all) {
			keys = append(keys, r.key)
		}
		if got := strings.Join(keys, " "); got != tt.want {
			t.Errorf("%+v: missing = %s", tt, got)
		}
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

func TestCompleteNeedsEveryAddOn(t *testing.T) {
	kit := Artifacts{Cache: t.TempDir(), Keys: map[string]string{"coredns": "coredns-1", "proxy": "proxy-1", "nftables": "nftables-1"}}
	first, second := layout.Layout{Nodes: layout.Kubelet}, layout.Layout{Nodes: layout.Kubelet, Instance: 1}
	check := func(after string, wantFirst, wantSecond bool) {
		t.Helper()
		if kit.Complete(first) != wantFirst || kit.Complete(second) != wantSecond {
			t.Errorf("after %s, Complete = %v with addresses of Services, %v without", after, kit.Complete(first), kit.Complete(second))
		}
	}
	add := func(path string) {
		t.Helper()
		path = filepath.Join(kit.Cache, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	check("nothing", false, false)
	add("coredns-1/coredns")
	check("CoreDNS", false, true)
	add("proxy-1/kube-proxy")
	check("kube-proxy", false, true)
	add("nftables-1/usr/sbin/nft")
	check("nft", true, true)
}

func TestClustersOfOlderCheckoutsDoNotSplit(t *testing.T) {
	all, err := components("..")
	if err != nil {
		t.Fatal(err)
	}
	if !newArtifacts("/cache", all).Splits() {
		t.Error("the components here have no add-ons")
	}
	old := Artifacts{Keys: map[string]string{"kubernetes": "kubernetes-v1.37.1-f84199d0", "coredns": "coredns-v1.15.0"}}
	if old.Splits() {
		t.Error("the programs of an older checkout have add-ons")
	}
}
