package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	_ "github.com/rclone/rclone/backend/azureblob"
	_ "github.com/rclone/rclone/backend/googlecloudstorage"
	_ "github.com/rclone/rclone/backend/local"
	_ "github.com/rclone/rclone/backend/s3"
	"github.com/rclone/rclone/fs"
	"github.com/rclone/rclone/fs/config/configmap"
)

// A plan describes what a container transfers.
type plan struct {
	Max     int64    `json:"max"`               // bytes of all buckets together
	Control string   `json:"control,omitempty"` // directory by which the containers of the pod communicate; see send
	Buckets []bucket `json:"buckets"`
}

// A bucket is one bucket in the terms of rclone, and the directory for its data.
type bucket struct {
	URL       string            `json:"url"` // for messages
	Dir       string            `json:"dir"`
	Send      bool              `json:"send,omitempty"`   // send back what changes
	Create    bool              `json:"create,omitempty"` // create the bucket if the bucket does not exist
	Files     map[string]string `json:"files,omitempty"`  // directories to copy to the bucket before the bucket is fetched, by their path in the bucket
	Secret    string            `json:"secret,omitempty"` // Secret of the administrator with the credentials
	Backend   string            `json:"backend"`
	Root      string            `json:"root"`
	Options   map[string]string `json:"options"`
	Anonymous map[string]string `json:"anonymous"` // options without credentials

	// Names of environment variables by option.
	Credentials map[string][]string `json:"credentials"`
	Settings    map[string][]string `json:"settings"`
}

// configured returns a context with the settings of rclone.
func configured(ctx context.Context) context.Context {
	ctx, ci := fs.AddConfig(ctx)
	ci.LogLevel = fs.LogLevelEmergency // messages of rclone may contain requests; errors are returned
	fs.GetConfig(context.Background()).LogLevel = fs.LogLevelEmergency
	ci.Transfers, ci.Checkers = 8, 16
	ci.UseServerModTime = true // otherwise rclone sends a request for each object
	return ctx
}

// open connects to the store of b. The name of a single object is an error.
func (b bucket) open(ctx context.Context, getenv func(string) string) (fs.Fs, error) {
	return b.openWith(ctx, b.settings(getenv))
}

func (b bucket) openWith(ctx context.Context, settings configmap.Simple) (fs.Fs, error) {
	backend, err := fs.Find(b.Backend)
	if err != nil {
		return nil, permanent{fmt.Errorf("the image does not know the store of %s; use the image of the same release as the server", b.URL)}
	}
	if settings["endpoint"] == "" && settings["provider"] != "AWS" && b.Backend == "s3" {
		// rclone would send the requests, with the keys of the other store, to Amazon.
		return nil, permanent{fmt.Errorf("the URL of the store of %s is not known; set %s beside the credentials of the bucket", b.URL, b.Settings["endpoint"][0])}
	}
	config := fs.ConfigMap("", backend.Options, "", settings)
	remote, err := backend.NewFs(ctx, "bucket", b.Root, config)
	if errors.Is(err, fs.ErrorIsFile) {
		return nil, permanent{fmt.Errorf("%s is a single object; name the prefix that contains the object", b.URL)}
	}
	return remote, err
}

// settings returns the options of rclone: those of the plan, then those in the environment.
func (b bucket) settings(getenv func(string) string) configmap.Simple {
	all := configmap.Simple{}
	maps.Copy(all, b.Options)
	set := func(variables map[string][]string) (any bool) {
		for option, names := range variables {
			var value string
			for _, name := range names {
				value = cmp.Or(value, getenv(name))
			}
			if value != "" {
				all[option], any = value, true
			}
		}
		return any
	}
	set(b.Settings)
	if !set(b.Credentials) {
		maps.Copy(all, b.Anonymous)
	}
	if all["provider"] == "AWS" && all["endpoint"] != "" {
		all["provider"] = "Other"
	}
	if all["provider"] == "AWS" && all["region"] != "us-east-1" {
		all["location_constraint"] = all["region"] // of a bucket that is created
	}
	// Otherwise rclone looks for the bucket before it sends a file, which the credentials may not allow.
	all["no_check_bucket"], all["no_check_container"] = "true", "true"
	return all
}

// credentialNames returns the variables of b that may hold credentials, in order.
func (b bucket) credentialNames() []string {
	return slices.Sorted(slices.Values(slices.Concat(slices.Collect(maps.Values(b.Credentials))...)))
}

// names returns the variables of b that may hold credentials, or their Secret, for messages.
func (b bucket) names() string {
	if b.Secret != "" {
		return "the Secret " + b.Secret + ", with which the administrator of the server gives access to the bucket"
	}
	return "the secrets " + strings.Join(b.credentialNames(), ", ") + " of the task"
}

// redacted returns err without the values of variables of the plan.
func redacted(err error, p *plan, getenv func(string) string) error {
	if err == nil {
		return nil
	}
	const shortest = 6 // bytes of a value that can be a secret
	text := err.Error()
	for _, b := range p.Buckets {
		for _, name := range b.credentialNames() {
			if value := getenv(name); len(value) >= shortest {
				text = strings.ReplaceAll(text, value, "<redacted>")
			}
		}
	}
	return errors.New(text)
}
