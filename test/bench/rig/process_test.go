package rig

import (
	"os"
	"path/filepath"
	"testing"
)

func TestMemoryIsReadFromWhatGoSays(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	said := "gc 1 @0.010s 2%: 0.021+1.2+0.003 ms clock, 0.04+0.1/1.1/0.2+0.006 ms cpu, 4->6->2 MB, 5 MB goal, 0 MB stacks, 0 MB globals, 2 P\n" +
		"time=now level=WARN msg=\"gc is no word of ours\"\n" +
		"GC forced\n" +
		"gc 2 @2.010s 2%: 0.021+1.2+0.003 ms clock, 0.04+0.1/1.1/0.2+0.006 ms cpu, 9->10->3 MB, 10 MB goal, 0 MB stacks, 0 MB globals, 2 P (forced)\n"
	trace := &trace{file: file}
	for _, b := range []byte(said) { // the smallest possible writes
		if _, err := trace.Write([]byte{b}); err != nil {
			t.Fatal(err)
		}
	}
	want := Memory{Collections: 2, Live: 3 << 20, Allocated: 6<<20 + (10-2)<<20}
	if got := trace.now(); got != want {
		t.Errorf("memory = %+v, want %+v", got, want)
	}
	kept, err := os.ReadFile(file.Name())
	if want := "time=now level=WARN msg=\"gc is no word of ours\"\n"; err != nil || string(kept) != want {
		t.Errorf("the log has %q, %v; want %q", kept, err, want)
	}
}
