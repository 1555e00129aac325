package bucket

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestURLsBecomeRemotes(t *testing.T) {
	for url, want := range map[string]struct {
		backend, root string
		options       map[string]string
	}{
		"s3://data":           {"s3", "data", map[string]string{"provider": "AWS"}},
		"s3://data/":          {"s3", "data", map[string]string{"provider": "AWS"}},
		"s3://data/a/b c/":    {"s3", "data/a/b c", map[string]string{"provider": "AWS"}},
		"r2://data/a":         {"s3", "data/a", map[string]string{"provider": "Cloudflare", "region": "auto"}},
		"cos://eu-de/data/a":  {"s3", "data/a", map[string]string{"provider": "IBMCOS", "endpoint": "https://s3.eu-de.cloud-object-storage.appdomain.cloud"}},
		"oci://data":          {"s3", "data", map[string]string{"provider": "Other"}},
		"oci://data@eu-a-1/b": {"s3", "data/b", map[string]string{"provider": "Other", "region": "eu-a-1"}},
		"nebius://data":       {"s3", "data", map[string]string{"provider": "Other", "endpoint": "https://storage.eu-north1.nebius.cloud", "region": "eu-north1"}},
		"cw://data/a":         {"s3", "data/a", map[string]string{"provider": "Other", "endpoint": "https://cwobject.com", "force_path_style": "false"}},
		"minio://data":        {"s3", "data", map[string]string{"provider": "Minio"}},
		"gs://my.data_1/a":    {"google cloud storage", "my.data_1/a", map[string]string{"bucket_policy_only": "true"}},
		"https://acc1.blob.core.windows.net/data/a": {"azureblob", "data/a", map[string]string{"account": "acc1"}},
	} {
		got, err := ParseURL(url)
		if err != nil || got.Backend != want.backend || got.Root != want.root || !cmp.Equal(got.Options, want.options) || len(got.Credentials) == 0 {
			t.Errorf("%s: %+v, %v", url, got, err)
		}
	}
	if got, _ := ParseURL("s3://other"); len(got.Options) != 1 {
		t.Errorf("the options of one bucket are in those of another: %v", got.Options)
	}
}

func TestOtherURLsAreRejected(t *testing.T) {
	for url, want := range map[string]string{
		"hf://datasets/x":                        "Hugging Face",
		"tigris://b":                             "AWS_ENDPOINT_URL",
		"oci://data@EU/x":                        "not a valid region",
		"ftp://b":                                "the forms are s3://BUCKET",
		"/data":                                  "the forms are",
		"https://example.com/x":                  "download other URLs in setup",
		"https://a.blob.core.windows.net/data":   "https://ACCOUNT.blob",
		"https://acc1.blob.core.windows.net":     "not a valid name of a bucket",
		"s3://":                                  "not a valid name of a bucket",
		"s3://${STORE}-bucket":                   "not a valid name of a bucket",
		"s3://a:b":                               "not a valid name of a bucket",
		"s3://data/../other":                     "contains . or ..",
		"s3://data/*.csv":                        "wildcard",
		"s3://data?region=x":                     "wildcard",
		"s3://data/a\nb":                         "no control characters",
		"s3://data/" + strings.Repeat("a", 1024): "at most 1024 bytes",
		"cos://data":                             "not a valid name of a bucket",
		"cos://A/data":                           "not a valid region",
	} {
		if _, err := ParseURL(url); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", url, err, want)
		}
	}
}

func TestForms(t *testing.T) {
	one := func(source string) []string { return []string{source} }
	for _, tt := range []struct {
		form     Form
		want     Source
		local    map[string]string
		warnings int
		err      string
	}{
		{Form{Sources: one("s3://a"), Mode: "copy", Persistent: true}, Source{URL: "s3://a", Mode: Copy}, nil, 0, ""},
		{Form{Sources: one("s3://a"), Mode: "copy"}, Source{URL: "s3://a", Mode: Copy}, nil, 0, ""},
		{Form{Sources: one("s3://a"), Persistent: true}, Source{URL: "s3://a", Mode: Mount}, nil, 1, ""},
		{Form{Sources: one("gs://a"), Store: "GCS", Mode: "MOUNT_CACHED", Persistent: true}, Source{URL: "gs://a", Mode: MountCached}, nil, 0, ""},
		{Form{Sources: one("gs://a"), Store: "s3"}, Source{}, nil, 0, `store "s3" does not fit`},
		{Form{Sources: one("s3://a"), Store: "tape"}, Source{}, nil, 0, `store "tape" is not one of`},
		{Form{Sources: one("s3://a"), Mode: "LINK"}, Source{}, nil, 0, `mode "LINK" is not one of`},
		{Form{Sources: one("s3://a"), Name: "a"}, Source{}, nil, 0, "remove name"},
		{Form{Sources: one("~/d"), Name: "a", Store: "s3", Mode: "COPY", Persistent: true}, Source{URL: "s3://a", Mode: Copy, Create: true}, map[string]string{"/t": "~/d"}, 0, ""},
		{Form{Name: "a", Mode: "COPY", Persistent: false}, Source{URL: "s3://a", Mode: Copy, Create: true}, map[string]string{}, 2, ""},
		{Form{Name: "a", Store: "gcs", Persistent: true}, Source{URL: "gs://a", Mode: Mount, Create: true}, map[string]string{}, 1, ""},
		{
			Form{Sources: []string{"~/d/", "e/f.txt"}, List: true, Name: "a", Store: "s3", Mode: "COPY", Persistent: true},
			Source{URL: "s3://a", Mode: Copy, Create: true},
			map[string]string{"/t/d": "~/d/", "/t/f.txt": "e/f.txt"},
			0, "",
		},
		{Form{Sources: []string{"d", "e/d"}, List: true, Name: "a", Store: "s3"}, Source{}, nil, 0, "two sources have the name d"},
		{Form{Sources: one("s3://b"), List: true, Name: "a", Store: "s3"}, Source{}, nil, 0, "only local files may be"},
		{Form{Sources: one("~/d")}, Source{}, nil, 0, "write PATH: ~/d"},
		{Form{Name: "a", Store: "azure"}, Source{}, nil, 0, "source: https://ACCOUNT.blob.core.windows.net/a instead"},
		{Form{Name: "a", Store: "ibm"}, Source{}, nil, 0, "source: cos://REGION/a instead"},
		{Form{}, Source{}, nil, 0, "must have a source"},
	} {
		got, local, warnings, err := tt.form.Bucket("/t")
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%+v: %v, want %q", tt.form, err, tt.err)
			}
			continue
		}
		if got != tt.want || !cmp.Equal(local, tt.local) || len(warnings) != tt.warnings || err != nil {
			t.Errorf("%+v: %+v, %q, %q, %v", tt.form, got, local, warnings, err)
		}
	}
}

func TestCheck(t *testing.T) {
	path := func(p string) error {
		if strings.HasPrefix(p, "/proc") {
			return errors.New("no files at " + p)
		}
		return nil
	}
	of := func(pairs ...string) Mounts {
		all := Mounts{}
		for i := 0; i < len(pairs); i += 2 {
			all[pairs[i]] = Source{URL: pairs[i+1]}
		}
		return all
	}
	many := Mounts{}
	for i := range 21 {
		many["/"+strings.Repeat("a", i+1)] = Source{URL: "s3://abc"}
	}
	for _, tt := range []struct {
		all  Mounts
		want string
	}{
		{of(), ""},
		{of("/a", "s3://abc", "/ab", "gs://abc", "~/a", "r2://abc"), ""},
		{Mounts{"/a": {URL: "s3://abc", Mode: Copy}}, ""},
		{of("/proc/1", "s3://abc"), "file_mounts: no files at /proc/1"},
		{of("/a", "s3://abc", "/a/b", "s3://abc"), `file_mounts./a/b: is inside "/a"`},
		{of("/volume", "s3://abc"), "file_mounts./volume: a volume or an upload has the same path"},
		{of("/a", "hf://abc"), "file_mounts./a: hf:// is not supported"},
		{Mounts{"/a": {URL: "s3://abc", Mode: Mount}, "/b": {URL: "s3://abc", Mode: MountCached}}, ""},
		{Mounts{"/a": {URL: "s3://abc", Mode: "copy"}}, `mode "copy" is not one of`},
		{Mounts{"/a": {URL: "s3://abc", Create: true}}, ""},
		{Mounts{"/a": {URL: "s3://abc/d", Create: true}}, "a bucket to create has no prefix"},
		{Mounts{"/a": {URL: "cos://eu-de/abc", Create: true}}, "creates no buckets in this store"},
		{many, "21 buckets exceed the limit of 20"},
	} {
		err := tt.all.Check(path, map[string]bool{"/volume": true})
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v: %v, want %q", tt.all, err, tt.want)
		}
	}
}

func TestTargets(t *testing.T) {
	for p, want := range map[string]string{"/a/": "/a", "~/a": "~/a", "data": "~/w/data", "./data/": "~/w/data", "~": "~"} {
		if got := Target("~/w", p); got != want {
			t.Errorf("%s: %s, want %s", p, got, want)
		}
	}
}

func TestVariables(t *testing.T) {
	m := Mounts{"/a": {URL: "s3://abc"}, "/b": {URL: "gs://abc"}, "/c": {URL: "s3://def"}}
	credentials, settings := m.Variables()
	if want := []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "GOOGLE_CREDENTIALS", "GOOGLE_OAUTH_ACCESS_TOKEN"}; !slices.Equal(credentials, want) {
		t.Errorf("credentials %q", credentials)
	}
	if want := []string{"AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_REGION", "GCS_ENDPOINT_URL", "GOOGLE_CLOUD_PROJECT"}; !slices.Equal(settings, want) {
		t.Errorf("settings %q", settings)
	}
}

func TestUploadsOfBuckets(t *testing.T) {
	m := Mounts{"/a": {URL: "s3://abc", Create: true}, "/b": {URL: "s3://abc"}, "~/c": {URL: "s3://abc", Create: true}}
	for p, want := range map[string]bool{"/a": true, "/a/b/c": true, "/ab": false, "/b": false, "/b/c": false, "~/c/d": true, "~/d": false, "/": false} {
		if got := m.Gets(p); got != want {
			t.Errorf("%s: %t", p, got)
		}
	}
}
