package bucket

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// A Remote is a bucket in the terms of rclone.
type Remote struct {
	Backend string            `json:"backend"`
	Root    string            `json:"root"` // bucket and prefix
	Options map[string]string `json:"options,omitempty"`

	// Environment variables with the values of further options, by option. The first variable
	// that is set counts.
	Credentials map[string][]string `json:"credentials,omitempty"`
	Settings    map[string][]string `json:"settings,omitempty"`

	Anonymous map[string]string `json:"anonymous,omitempty"` // options in case that no credentials are set

	external bool // the server cannot create buckets of the store
}

// s3 returns a store with the API of S3. The names of its variables begin with prefix. Without
// credentials, rclone sends requests without a signature.
func s3(prefix string, options map[string]string) Remote {
	return Remote{
		Backend: "s3", Options: options,
		Credentials: map[string][]string{
			"access_key_id": {prefix + "ACCESS_KEY_ID"}, "secret_access_key": {prefix + "SECRET_ACCESS_KEY"}, "session_token": {prefix + "SESSION_TOKEN"},
		},
		Settings: map[string][]string{"endpoint": {prefix + "ENDPOINT_URL"}, "region": {prefix + "REGION"}},
	}
}

// schemes maps the scheme of a URL to the store: a Remote without Root.
var schemes = map[string]Remote{
	"s3":    aws(),
	"r2":    s3("R2_", map[string]string{"provider": "Cloudflare", "region": "auto"}),
	"cos":   ibm(),
	"oci":   s3("OCI_", map[string]string{"provider": "Other"}),
	"minio": s3("MINIO_", map[string]string{"provider": "Minio"}),
	// The endpoint is that of SkyPilot.
	"nebius": s3("NEBIUS_", map[string]string{"provider": "Other", "endpoint": "https://storage.eu-north1.nebius.cloud", "region": "eu-north1"}),
	// CoreWeave accepts only host names that begin with the bucket.
	"cw": s3("CW_", map[string]string{"provider": "Other", "endpoint": "https://cwobject.com", "force_path_style": "false"}),
	"gs": {
		Backend: "google cloud storage", Options: map[string]string{"bucket_policy_only": "true"},
		Credentials: map[string][]string{"service_account_credentials": {"GOOGLE_CREDENTIALS"}, "access_token": {"GOOGLE_OAUTH_ACCESS_TOKEN"}},
		Settings:    map[string][]string{"endpoint": {"GCS_ENDPOINT_URL"}, "project_number": {"GOOGLE_CLOUD_PROJECT"}}, // of buckets that are created
		Anonymous:   map[string]string{"anonymous": "true"},
	},
	"https": {
		Backend: "azureblob", external: true,
		Credentials: map[string][]string{"key": {"AZURE_STORAGE_KEY"}, "sas_url": {"AZURE_STORAGE_SAS_URL"}, "connection_string": {"AZURE_STORAGE_CONNECTION_STRING"}},
		Settings:    map[string][]string{"endpoint": {"AZURE_STORAGE_ENDPOINT"}},
	},
}

func aws() Remote {
	r := s3("AWS_", map[string]string{"provider": "AWS"})
	r.Settings = map[string][]string{"endpoint": {"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"}, "region": {"AWS_REGION", "AWS_DEFAULT_REGION"}}
	return r
}

func ibm() Remote {
	r := s3("COS_", map[string]string{"provider": "IBMCOS"})
	r.external = true
	return r
}

// compatible lists schemes of SkyPilot whose stores have the API of S3.
var compatible = []string{"tigris", "vastdata", "do"}

const azureHost = ".blob.core.windows.net"

var (
	bucketForm  = regexp.MustCompile(`^[A-Za-z0-9$][A-Za-z0-9._-]{1,221}$`)
	accountForm = regexp.MustCompile(`^[a-z0-9]{3,24}$`)
	regionForm  = regexp.MustCompile(`^[a-z0-9-]{2,40}$`)
)

const maxURL = 1024 // bytes

// ParseURL returns the bucket of a URL in the terms of rclone.
func ParseURL(url string) (Remote, error) {
	scheme, rest, found := strings.Cut(url, "://")
	r, known := schemes[scheme]
	switch {
	case !found || !known:
		return Remote{}, unsupported(url, scheme)
	case len(url) > maxURL || strings.ContainsFunc(url, unicode.IsControl):
		return Remote{}, fmt.Errorf("the URL of a bucket has at most %d bytes and no control characters", maxURL)
	case strings.ContainsAny(url, "*?#"):
		return Remote{}, fmt.Errorf("%q contains a wildcard, a query or a fragment; name a bucket, or a prefix that ends before it", url)
	}
	if r.Options = maps.Clone(r.Options); r.Options == nil {
		r.Options = map[string]string{}
	}
	if scheme == "https" || scheme == "cos" {
		first, below, _ := strings.Cut(rest, "/")
		if err := r.setPlace(scheme, first); err != nil {
			return Remote{}, err
		}
		rest = below
	}
	name, prefix, _ := strings.Cut(strings.TrimRight(rest, "/"), "/")
	if scheme == "oci" { // SkyPilot's form is oci://BUCKET@REGION
		bucket, region, found := strings.Cut(name, "@")
		if found && !regionForm.MatchString(region) {
			return Remote{}, wrongRegion(region, scheme)
		}
		if name = bucket; found {
			r.Options["region"] = region
		}
	}
	if !bucketForm.MatchString(name) {
		return Remote{}, fmt.Errorf("%q is not a valid name of a bucket; the form is %s", name, exampleOf(scheme))
	}
	if slices.ContainsFunc(strings.Split(prefix, "/"), func(part string) bool { return part == "." || part == ".." }) {
		return Remote{}, fmt.Errorf("%q contains . or ..; write the prefix without them", url)
	}
	r.Root = strings.TrimRight(name+"/"+prefix, "/")
	return r, nil
}

// setPlace sets the option for the first part of a URL that is not the bucket: the host of Azure, or
// the region of IBM.
func (r *Remote) setPlace(scheme, first string) error {
	if scheme == "cos" {
		if !regionForm.MatchString(first) {
			return wrongRegion(first, scheme)
		}
		r.Options["endpoint"] = "https://s3." + first + ".cloud-object-storage.appdomain.cloud"
		return nil
	}
	account, azure := strings.CutSuffix(first, azureHost)
	if !azure || !accountForm.MatchString(account) {
		return errors.New("an https URL is a bucket only in the form " + exampleOf(scheme) + "; download other URLs in setup")
	}
	r.Options["account"] = account
	return nil
}

func wrongRegion(region, scheme string) error {
	return fmt.Errorf("%q is not a valid region; the form is %s", region, exampleOf(scheme))
}

func exampleOf(scheme string) string {
	switch scheme {
	case "https":
		return "https://ACCOUNT" + azureHost + "/CONTAINER/PREFIX"
	case "cos":
		return "cos://REGION/BUCKET/PREFIX"
	case "oci":
		return "oci://BUCKET@REGION/PREFIX"
	}
	return scheme + "://BUCKET/PREFIX"
}

// unsupported returns the error for a URL of another kind.
func unsupported(url, scheme string) error {
	switch {
	case scheme == "hf":
		return errors.New("hf:// is not supported, because rclone, which moves the data of buckets, does not know Hugging Face; download the files in setup, for example with huggingface-cli download")
	case scheme == "http":
		return errors.New("an http URL is not a bucket; download the URL in setup")
	case slices.Contains(compatible, scheme):
		return fmt.Errorf("%s:// is not supported; if the store has the API of S3, write s3:// and set AWS_ENDPOINT_URL to the URL of the store", scheme)
	}
	return fmt.Errorf("%q is not the URL of a bucket; the forms are s3://BUCKET, gs://BUCKET, https://ACCOUNT%s/CONTAINER, r2://BUCKET, cos://REGION/BUCKET, oci://BUCKET, nebius://BUCKET, cw://BUCKET and minio://BUCKET, each with an optional /PREFIX", url, azureHost)
}
