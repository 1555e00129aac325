package task

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation"
)

func TestJobName(t *testing.T) {
	long := strings.Repeat("long.", 60)
	for _, tt := range []struct {
		name, task  string
		rank, nodes int
		want        string
	}{
		{"one node", "train", 0, 1, "train-ab12cd34"},
		{"no number of nodes", "train", 0, 0, "train-ab12cd34"},
		{"several nodes", "train", 1, 2, "train-ab12cd34-node-1"},
		{"no name", "", 0, 1, "task-ab12cd34-ab12cd34"},
		{"capitals and underscores", "My_Task.v2", 0, 1, "my-task-v2-ab12cd34"},
		{"a long name", long, 0, 1, strings.Repeat("long-", 10) + "long-ab12cd34"},
		{"a cut that ends in a dash", strings.Repeat("a", 53) + ".b", 0, 1, strings.Repeat("a", 53) + "-ab12cd34"},
		{"nothing that may stay", "___", 0, 1, "task-ab12cd34"},
		{"letters of another script", "日本", 0, 1, "task-ab12cd34"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := JobName(tt.task, "ab12cd34", tt.rank, tt.nodes)
			if got != tt.want {
				t.Errorf("JobName = %s, want %s", got, tt.want)
			}
			checkLabel(t, got)
		})
	}
}

// TestServiceName checks that the name of a Service is a valid DNS-1035 label.
func TestServiceName(t *testing.T) {
	for name, want := range map[string]string{
		"train":                     "train-ab12cd34",
		"My_Task.v2":                "my-task-v2-ab12cd34",
		"":                          "task-ab12cd34-ab12cd34",
		"3d-unet":                   "task-3d-unet-ab12cd34",
		"alpha":                     "alpha-ab12cd34",
		"___":                       "task-ab12cd34",
		strings.Repeat("long.", 60): strings.Repeat("long-", 10) + "long-ab12cd34",
		strings.Repeat("7", 253):    "task-" + strings.Repeat("7", 49) + "-ab12cd34",
	} {
		got := ServiceName(name, "ab12cd34")
		if problems := validation.IsDNS1035Label(got); len(problems) > 0 {
			t.Errorf("%s: %v", got, problems)
		}
		if got != want && name != "___" {
			t.Errorf("ServiceName(%q) = %s, want %s", name, got, want)
		}
	}
	checkLabel(t, HostName(MaxNodes-1))
}

func TestJobNamesAreDistinct(t *testing.T) {
	names := JobNames(strings.Repeat("long", 60), "ab12cd34", 2000)
	seen := map[string]bool{}
	for _, name := range names {
		checkLabel(t, name)
		seen[name] = true
	}
	if len(seen) != 2000 {
		t.Errorf("2000 nodes have %d names", len(seen))
	}
}

func TestLabels(t *testing.T) {
	want := map[string]string{
		"skypilot-task": "true", "task-id": "ab12cd34", "task-name": "My_Task", "username": "ann-example.com", "node-idx": "1",
		"skypilot-owner": Owner("ann@example.com"),
	}
	if diff := cmp.Diff(want, JobLabels("ann@example.com", "My_Task", "ab12cd34", 1)); diff != "" {
		t.Errorf("labels of a job (-want +got):\n%s", diff)
	}
	want = map[string]string{
		"skypilot-volume": "true", "volume-id": "ab12cd34", "volume-name": "data", "username": "ann-example.com",
		"skypilot-owner": Owner("ann@example.com"),
	}
	if diff := cmp.Diff(want, ClaimLabels("ann@example.com", "data", "ab12cd34")); diff != "" {
		t.Errorf("labels of a claim (-want +got):\n%s", diff)
	}
}

// TestOwnersAreDistinct checks that two users with the same label username have different
// owner labels.
func TestOwnersAreDistinct(t *testing.T) {
	users := append([]string{"a@b", "a-b", "A@b", "a@b ", "a.b"}, nastyNames...)
	owners := map[string]string{}
	for _, user := range users {
		owner := Owner(user)
		if !regexp.MustCompile(`^[a-z2-7]{26}$`).MatchString(owner) {
			t.Errorf("the owner of %q is %q", user, owner)
		}
		if other, taken := owners[owner]; taken && other != user {
			t.Errorf("%q and %q are one owner", other, user)
		}
		owners[owner] = user
	}
	if Sanitized("a@b") != Sanitized("a-b") {
		t.Error("a@b and a-b do not share a label: this test asks nothing")
	}
}

func TestIDs(t *testing.T) {
	for name, id := range map[string]struct {
		draw func() string
		form string
	}{
		"task":   {NewID, `^[a-z0-9]{8}$`},
		"volume": {NewVolumeID, `^[0-9a-f]{8}$`},
	} {
		seen := map[string]bool{}
		for range 1000 {
			drawn := id.draw()
			if !regexp.MustCompile(id.form).MatchString(drawn) {
				t.Fatalf("%s id %q", name, drawn)
			}
			seen[drawn] = true
		}
		if len(seen) < 999 {
			t.Errorf("1000 %s ids were only %d", name, len(seen))
		}
	}
}

// FuzzNames checks that every name of a task, a volume or a user results in valid names and labels.
func FuzzNames(f *testing.F) {
	for _, name := range nastyNames {
		f.Add(name, "ann@example.com", uint16(0), uint16(1))
		f.Add("train", name, uint16(255), uint16(256))
	}
	f.Fuzz(func(t *testing.T, name, user string, rank, nodes uint16) {
		checkLabel(t, JobName(name, "ab12cd34", int(rank), int(nodes)))
		for _, labels := range []map[string]string{JobLabels(user, name, "ab12cd34", int(rank)), ClaimLabels(user, name, "ab12cd34")} {
			for key, value := range labels {
				if problems := validation.IsValidLabelValue(value); len(problems) > 0 {
					t.Errorf("%s is %q: %s", key, value, problems)
				}
			}
		}
	})
}

var nastyNames = []string{
	"", " ", "-", "--", "@", "...", "a@", "@a", "-a-", "a b", "a/b", "a+b", "ünïcode", "日本", "a\nb", "a\x00b", "\xff\xfe", "A_B.C", "1", "_a_",
	strings.Repeat("x", 62) + "-y", strings.Repeat("x", 63), strings.Repeat("x", 64), strings.Repeat("@", 100), strings.Repeat("é", 40), strings.Repeat("-", 63) + "a",
}

func checkLabel(t *testing.T, name string) {
	t.Helper()
	for _, problem := range validation.IsDNS1123Label(name) {
		t.Errorf("%q is no name of a Job: %s", name, problem)
	}
}
