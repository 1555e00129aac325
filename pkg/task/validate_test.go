package task

import (
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"

	"k8s-cli/pkg/task/problem"
)

func TestValidTasks(t *testing.T) {
	for _, tt := range []struct {
		name string
		task Spec
	}{
		{"a command", Spec{Run: "true"}},
		{"a setup alone", Spec{Setup: "true"}},
		{"the longest name", Spec{Run: "x", Name: strings.Repeat("a", 253)}},
		{"a name with marks", Spec{Run: "x", Name: "My_task--v1.2"}},
		{"a volume that is a subdomain", Spec{Run: "x", Volumes: map[string]string{"/data/": "a.b-c"}}},
		{"one volume at two places", Spec{Run: "x", Volumes: map[string]string{"/a": "v", "/b": "v"}}},
		{"an image with a digest", Spec{Run: "x", Resources: Resources{ImageID: "docker:ghcr.io/a/b@sha256:0123abcd0123abcd0123abcd0123abcd0123abcd0123abcd0123abcd0123abcd"}}},
		{"an image on a port", Spec{Run: "x", Resources: Resources{ImageID: "localhost:5000/a_b:v1"}}},
		{"any text in a variable", Spec{Run: "x", Envs: map[string]string{"_A1": "$$(X)\n\t é"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := tt.task.Validate(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestInvalidTasksNameTheField(t *testing.T) {
	volumes := func(pairs ...string) Spec {
		t := Spec{Run: "x", Volumes: map[string]string{}}
		for i := 0; i < len(pairs); i += 2 {
			t.Volumes[pairs[i]] = pairs[i+1]
		}
		return t
	}
	image := func(name string) Spec { return Spec{Run: "x", Resources: Resources{ImageID: name}} }
	env := func(name, value string) Spec { return Spec{Run: "x", Envs: map[string]string{name: value}} }
	for _, tt := range []struct {
		name string
		task Spec
		want string // beginning of the error
	}{
		{"no command", Spec{}, "run: a task needs a command to run"},
		{"blanks for a command", Spec{Run: " \n", Setup: "\t"}, "run: a task needs a command to run"},
		{"a NUL in the command", Spec{Run: "a\x00"}, "run: contains a NUL"},
		{"a NUL in the setup", Spec{Run: "a", Setup: "\x00"}, "setup: contains a NUL"},
		{"a NUL in the directory", Spec{Run: "a", Workdir: "/\x00"}, "workdir: contains a NUL"},
		{"a name with a blank", Spec{Run: "x", Name: "a b"}, `name: "a b" must be`},
		{"a name that starts with a mark", Spec{Run: "x", Name: "-a"}, `name: "-a" must be`},
		{"a name with three marks", Spec{Run: "x", Name: "a---b"}, `name: "a---b" must be`},
		{"a name of two lines", Spec{Run: "x", Name: "a\n"}, `name: "a\n" must be`},
		{"a name that is too long", Spec{Run: "x", Name: strings.Repeat("a", 254)}, "name: 254 characters exceed the limit of 253"},
		{"fewer than no nodes", Spec{Run: "x", NumNodes: -1}, "num_nodes: -1 is not"},
		{"wrong cores", Spec{Run: "x", Resources: Resources{CPUs: "x"}}, "resources.cpus: "},
		{"wrong memory", Spec{Run: "x", Resources: Resources{Memory: "x"}}, "resources.memory: "},
		{"wrong accelerators", Spec{Run: "x", Resources: Resources{Accelerators: "A100:x"}}, `resources.accelerators: "A100:x" is not NAME, NAME:COUNT or COUNT`},
		{"an image with a blank", image("a b"), "resources.image_id: "},
		{"an image that is only a prefix", image("docker:"), "resources.image_id: "},
		{"an image that is too long", image(strings.Repeat("a", 2000)), "resources.image_id: "},
		{"an env name with a dash", env("A-B", "x"), `envs: "A-B" is`},
		{"an env name that starts with a digit", env("1A", "x"), `envs: "1A" is`},
		{"no env name", env("", "x"), `envs: "" is`},
		{"a NUL in an env", env("A", "\x00"), "envs.A: contains a NUL"},
		{"a relative mount path", volumes("data", "v"), `volumes: mount path "data" is not absolute; begin it with /`},
		{"the root", volumes("/", "v"), `volumes: "/" is not a valid mount path`},
		{"the root in disguise", volumes("/a/..", "v"), `volumes: "/a/.." is not a valid mount path`},
		{"a colon in a path", volumes("/a:b", "v"), `volumes: "/a:b" is not a valid mount path`},
		{"one path twice", volumes("/a", "v", "/a/", "w"), `volumes: "/a" and "/a/" are the same`},
		{"no volume", volumes("/a", ""), `volumes./a: "" is not`},
		{"a volume in capitals", volumes("/a", "Data"), `volumes./a: "Data" is not`},
		{"a NUL in a path", volumes("/a\x00", "v"), "volumes: contains a NUL"},
	} {
		t.Run(tt.name, func(t *testing.T) { checkInvalid(t, tt.task.Validate(), tt.want) })
	}
}

func TestValidVolumes(t *testing.T) {
	for _, v := range []Volume{
		{Name: "data", Size: "10Gi"},
		{Name: strings.Repeat("a", 54), Size: "1Ti", StorageClass: new("fast.example.com"), AccessModes: []string{"ReadWriteMany", "ReadOnlyMany"}},
		{Name: "1", Size: "500M", AccessModes: []string{"ReadWriteOncePod"}},
	} {
		if err := v.Validate(); err != nil {
			t.Errorf("%v: %v", v, err)
		}
		for _, problem := range validation.IsDNS1123Label(ClaimName(v.Name, "ab12cd34")) {
			t.Errorf("the claim of %s: %s", v.Name, problem)
		}
	}
}

func TestInvalidVolumesNameTheField(t *testing.T) {
	modes := func(modes ...string) Volume { return Volume{Name: "a", Size: "1Gi", AccessModes: modes} }
	for _, tt := range []struct {
		name   string
		volume Volume
		want   string
	}{
		{"no name", Volume{Size: "1Gi"}, "name: a volume needs a name"},
		{"capitals", Volume{Name: "Data", Size: "1Gi"}, `name: "Data" must be`},
		{"a dot", Volume{Name: "a.b", Size: "1Gi"}, `name: "a.b" must be`},
		{"a dash at the end", Volume{Name: "a-", Size: "1Gi"}, `name: "a-" must be`},
		{"no room for the id", Volume{Name: strings.Repeat("a", 55), Size: "1Gi"}, `name: "aaa`},
		{"no size", Volume{Name: "a"}, "size: a volume needs a size"},
		{"a size without a unit", Volume{Name: "a", Size: "10"}, `size: "10" is not`},
		{"a storage class in capitals", Volume{Name: "a", Size: "1Gi", StorageClass: new("Fast")}, `storage_class: "Fast" is not`},
		{"an unknown mode", modes("RWX"), `access_modes: "RWX" is not one of`},
		{"a mode twice", modes("ReadWriteOnce", "ReadWriteOnce"), "access_modes: duplicate mode ReadWriteOnce"},
		{"one pod and many", modes("ReadWriteOncePod", "ReadWriteMany"), "access_modes: ReadWriteOncePod cannot be combined with other modes"},
	} {
		t.Run(tt.name, func(t *testing.T) { checkInvalid(t, tt.volume.Validate(), tt.want) })
	}
}

func TestQuote(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"nothing", "", `""`},
		{"what cannot be seen", "a\n\x1b", `"a\n\x1b"`},
		{"as much as fits", strings.Repeat("a", 100), `"` + strings.Repeat("a", 100) + `"`},
		{"more than fits", strings.Repeat("a", 101), `"` + strings.Repeat("a", 100) + `"...`},
		{"no half characters", strings.Repeat("a", 99) + "éé", `"` + strings.Repeat("a", 99) + `"...`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := Quote(tt.text); got != tt.want {
				t.Errorf("Quote = %s, want %s", got, tt.want)
			}
		})
	}
}

func checkInvalid(t *testing.T, err error, want string) {
	t.Helper()
	if !errors.Is(err, problem.Invalid) {
		t.Fatalf("error is not of kind problem.Invalid: %v", err)
	}
	if !strings.HasPrefix(err.Error(), want) {
		t.Errorf("error\n got %s\nwant %s...", err, want)
	}
	if len(err.Error()) > 600 {
		t.Errorf("the error has %d bytes", len(err.Error()))
	}
}

// TestLimitsOfFields checks both sides of each limit.
func TestLimitsOfFields(t *testing.T) {
	recovery := func(r Recovery) Spec { return Spec{Run: "x", Resources: Resources{JobRecovery: r}} }
	for _, tt := range []struct {
		name       string
		good, more Spec
		want       string
	}{
		{"exit codes", recovery(Recovery{ExitCodes: []int{1, 2, 255}}), recovery(Recovery{ExitCodes: []int{256}}), "resources.job_recovery.recover_on_exit_codes: "},
		{"no exit code", recovery(Recovery{ExitCodes: []int{1}}), recovery(Recovery{ExitCodes: []int{0}}), "resources.job_recovery.recover_on_exit_codes: "},
		{"an exit code twice", recovery(Recovery{ExitCodes: []int{1, 2}}), recovery(Recovery{ExitCodes: []int{1, 1}}), "resources.job_recovery.recover_on_exit_codes: "},
		{"restarts", recovery(Recovery{Restarts: 10_000}), recovery(Recovery{Restarts: 10_001}), "resources.job_recovery.max_restarts_on_errors: 10001"},
		{"less than no restart", recovery(Recovery{Restarts: 0}), recovery(Recovery{Restarts: -1}), "resources.job_recovery.max_restarts_on_errors: -1"},
		{"nodes", Spec{Run: "x", NumNodes: 10_000}, Spec{Run: "x", NumNodes: 10_001}, "num_nodes: 10001"},
		{
			"storage",
			Spec{Run: "x", Resources: Resources{EphemeralStorage: 1 << 20}},
			Spec{Run: "x", Resources: Resources{EphemeralStorage: 1<<20 + 1}},
			"resources.ephemeral_storage: 1048577",
		},
		{
			"less than no storage", Spec{Run: "x"}, Spec{Run: "x", Resources: Resources{EphemeralStorage: -1}}, "resources.ephemeral_storage: -1",
		},
		{
			"GPUs",
			Spec{Run: "x", Resources: Resources{Accelerators: "H100:1024"}},
			Spec{Run: "x", Resources: Resources{Accelerators: "H100:1024.1"}},
			`resources.accelerators: "H100:1024.1" exceeds the limit of 1024 per node`,
		},
		{
			"letters of a variable", Spec{Run: "x", Envs: map[string]string{"_azAZ09": ""}}, Spec{Run: "x", Envs: map[string]string{"a{": ""}}, `envs: "a{" is`,
		},
		{
			"the first wrong variable", Spec{Run: "x"}, Spec{Run: "x", Secrets: map[string]string{"b-": "", "a-": "", "c-": "", "d": "\x00"}}, `secrets: "a-" is`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := tt.good.Validate(); err != nil {
				t.Error(err)
			}
			checkInvalid(t, tt.more.Validate(), tt.want)
		})
	}
	for _, c := range "`{@[/:" { // neighbours of the letters and digits in ASCII
		if CheckVariable("a"+string(c)) == nil {
			t.Errorf("a variable may have %q in its name", c)
		}
	}
}

// TestCharactersOfNamesOfObjects checks the first and the last letters and
// digits, and their neighbours in ASCII.
func TestCharactersOfNamesOfObjects(t *testing.T) {
	for name, want := range map[string]string{"azAZ09": "azaz09", "x`x{x@x[x/x:x": "x-x-x-x-x-x-x"} {
		if got := JobName(name, "ab12cd34", 0, 1); got != want+"-ab12cd34" {
			t.Errorf("the Job of %s is %s, want %s", name, got, want+"-ab12cd34")
		}
	}
	for name, want := range map[string]string{"azAZ09": "azAZ09", "x`x{x@x[x/x:x": "x-x-x-x-x-x-x", "a-_.b": "a-_.b"} {
		if got := JobLabels("ann", name, "ab12cd34", 0)[LabelTaskName]; got != want {
			t.Errorf("the label of %s is %s, want %s", name, got, want)
		}
	}
}

func TestLimitOfTheAnnotationsOfATask(t *testing.T) {
	annotated := func(size int) Spec {
		value := strings.Repeat("a", size-len("x")-len("key"))
		return Spec{Run: "x", Config: Config{Kubernetes{CustomMetadata: CustomMetadata{Annotations: map[string]string{"key": value}}}}}
	}
	if err := annotated(250_000).Validate(); err != nil {
		t.Error(err)
	}
	checkInvalid(t, annotated(250_001).Validate(), "run: setup, run and annotations have 250001 bytes in total, more than the limit of 250000")
	queue := Spec{Run: "x", Config: Config{Kubernetes{Kueue: Kueue{LocalQueue: "team-a"}}}}
	if err := queue.Validate(); err != nil {
		t.Error(err)
	}
	queue.Config.Kubernetes.Kueue.LocalQueue = "a b"
	checkInvalid(t, queue.Validate(), `config.kubernetes.kueue.local_queue_name: "a b"`)
}

func TestLimitsOfNames(t *testing.T) {
	if err := CheckUser(strings.Repeat("a", 253)); err != nil {
		t.Error(err)
	}
	if CheckUser(strings.Repeat("a", 254)) == nil {
		t.Error("a user's name may have 254 bytes")
	}
	domain := strings.Repeat("a", 253)
	if err := CheckLabelKey(domain + "/key"); err != nil {
		t.Error(err)
	}
	if CheckLabelKey(domain+"a/key") == nil {
		t.Error("a domain may have 254 characters")
	}
}
