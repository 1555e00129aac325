package taskfile

import (
	"strings"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/bucket"
	"k8s-cli/pkg/task/callback"
)

// Readers of the fields of a task that have several forms.

// workdir stores a directory or a git repository.
func workdir(to *string, repository *task.Git) reader {
	return func(d *decoder, n *node) error {
		if n.kind == mapping {
			return git(repository)(d, n)
		}
		return text(to)(d, n)
	}
}

// git stores the URL and the reference of a git repository.
func git(to *task.Git) reader {
	return func(d *decoder, n *node) error {
		err := d.fields(n, schema{"url": group(text(&to.URL)), "ref": group(text(&to.Ref))})
		if err == nil && to.URL == "" && n.isSet() {
			return d.wrong("must have the url of a git repository")
		}
		return err
	}
}

// eventCallback stores a URL, and warns about a shell command.
func eventCallback(to *string) reader {
	return func(d *decoder, n *node) error {
		err := text(to)(d, n)
		if *to != "" && !callback.IsURL(*to) {
			*to = ""
			d.warn("not called, because the value is not an https URL; the server runs no commands of users")
		}
		return err
	}
}

// envs stores environment variables. A variable without a value is an error unless an
// override gives one, as in SkyPilot.
func envs(to *map[string]string) reader {
	return func(d *decoder, n *node) error {
		if n.kind != mapping {
			return d.wrong("must be a mapping of names to values, not %s", n.kind)
		}
		return d.each(n, func(name string, value *node) error {
			if _, given := d.given[name]; given {
				return nil
			}
			if value.kind == null {
				return d.noValue(name, `write %s: "" for an empty value, or pass --env %[1]s=VALUE`)
			}
			return d.put(to, name, value)
		})
	}
}

// secrets stores secret environment variables. References to SkyPilot's managed secrets,
// which have the prefix secrets: and no value, are rejected.
func secrets(to *map[string]string) reader {
	return func(d *decoder, n *node) error {
		if n.kind == list && len(n.items) > 0 {
			return d.wrong("%s", noSecrets)
		}
		if n.kind != mapping {
			return d.wrong("must be a mapping of names to values, not %s", n.kind)
		}
		return d.each(n, func(name string, value *node) error {
			if strings.HasPrefix(name, "secrets:") {
				return d.wrong("%s", noSecrets)
			}
			if _, given := d.secrets[name]; given {
				return nil
			}
			// task.Redacted comes from a specification that the server returned
			if value.kind == null || value.text == task.Redacted {
				return d.noValue(name, "pass --secret %s=VALUE, or --secret %[1]s to take the value from your environment")
			}
			return d.put(to, name, value)
		})
	}
}

// noValue returns the error for a variable without a value. hint says how to set a value.
func (d *decoder) noValue(name, hint string) error {
	if err := task.CheckVariable(name); err != nil {
		return d.wrong("%v", err)
	}
	return d.wrong("has no value; "+hint, name)
}

// fileMounts stores the paths to upload: `path: source`. A mapping describes a bucket, as
// in SkyPilot, and a source with a scheme is one: see addBuckets.
func fileMounts(to *map[string]string) reader {
	return func(d *decoder, n *node) error {
		if n.kind != mapping {
			return d.wrong("must be a mapping of paths to sources, not %s", n.kind)
		}
		return d.each(n, func(path string, value *node) error {
			switch {
			case value.kind == null:
				return nil
			case value.kind == mapping:
				f, wrong := bucket.Form{Persistent: true}, d.diagnostics.count()
				err := d.fields(value, bucketFields(&f))
				if err == nil && d.diagnostics.count() == wrong {
					d.forms = append(d.forms, bucketForm{path, f})
				}
				return err
			case value.kind == scalar && value.text == "":
				return d.wrong("must name a file or directory")
			}
			return d.put(to, path, value)
		})
	}
}

// outputs stores the paths of outputs. The mapping of SkyPilot estimates costs.
func outputs(to *[]string) reader {
	return func(d *decoder, n *node) error {
		switch n.kind {
		case mapping:
			d.warn("not used; the server runs on one cluster and needs no cost estimate")
			return nil
		case list:
			return d.items(n, func(item *node) error {
				var path string
				if err := text(&path)(d, item); err != nil {
					return err
				}
				*to = append(*to, path)
				return nil
			})
		}
		return d.wrong("must be a list of paths, not %s", n.kind)
	}
}
