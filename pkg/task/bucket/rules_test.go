package bucket

import (
	"maps"
	"strings"
	"testing"
)

func TestRules(t *testing.T) {
	var rules Rules
	for _, text := range []string{"s3://data/{user}/=users", "s3://data/ann/shared=shared", "gs://team-{user}=team", "s3://public=public"} {
		r, err := ParseRule(text)
		if err != nil {
			t.Fatal(err)
		}
		rules = append(rules, r)
	}
	for _, tt := range []struct{ url, user, want string }{
		{"s3://data/ann", "ann", "users"},
		{"s3://data/ann/", "ann", "users"},
		{"s3://data/ann/runs/1", "ann", "users"},
		{"s3://data/ann/shared/1", "ann", "shared"},
		{"s3://data/ann/shared/1", "bob", "shared"},
		{"s3://data/ann", "bob", ""},
		{"s3://data/annika", "ann", ""},
		{"s3://data", "ann", ""},
		{"s3://data/ann", "an", ""},
		{"s3://data/ann/x", "ann/x", ""},
		{"s3://data/..", "..", ""},
		{"s3://data/", "", ""},
		{"gs://team-ann/x", "ann", "team"},
		{"gs://team-ann/x", "bob", ""},
		{"s3://team-ann/x", "ann", ""},
		{"s3://public", "bob", "public"},
		{"s3://public2", "bob", ""},
	} {
		if got := rules.secretOf(tt.url, tt.user); got != tt.want {
			t.Errorf("%s of %s: %q, want %q", tt.url, tt.user, got, tt.want)
		}
	}
}

func TestRulesThatAreNotValid(t *testing.T) {
	for text, want := range map[string]string{
		"s3://data": "does not have the form", "hf://data=a": "hf:// is not supported", "s3://data=A_b": "is not the name of a Secret", "s3://data=": "is not the name of a Secret",
		"s3://data/../{user}=a": "contains . or ..", "=a": "is not the URL of a bucket",
	} {
		if _, err := ParseRule(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// TestOwnCredentialsTakePrecedence gives a Secret only to buckets for whose stores the task has no
// credentials. An endpoint is no credential.
func TestOwnCredentialsTakePrecedence(t *testing.T) {
	rules := Rules{{"s3://data", "s3"}, {"gs://data", "gcs"}}
	buckets := Mounts{"/a": {URL: "s3://data/x"}, "/b": {URL: "gs://data"}, "/c": {URL: "gs://other"}}
	for _, tt := range []struct {
		set  string
		want map[string]string
	}{
		{"", map[string]string{"/a": "s3", "/b": "gcs"}},
		{"AWS_ENDPOINT_URL", map[string]string{"/a": "s3", "/b": "gcs"}},
		{"AWS_ACCESS_KEY_ID", map[string]string{"/b": "gcs"}},
		{"GOOGLE_CREDENTIALS", map[string]string{"/a": "s3"}},
	} {
		got := rules.Secrets(buckets, "ann", func(name string) bool { return name == tt.set })
		if !maps.Equal(got, tt.want) {
			t.Errorf("with %s: %v, want %v", tt.set, got, tt.want)
		}
	}
}

func TestRenamed(t *testing.T) {
	r, err := ParseURL("s3://data")
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Renamed("X_").Settings["region"]; len(got) != 2 || got[0] != "X_AWS_REGION" || got[1] != "X_AWS_DEFAULT_REGION" {
		t.Errorf("renamed %q", got)
	}
	if got := r.Settings["region"][0]; got != "AWS_REGION" {
		t.Errorf("the original is %q", got)
	}
}
