package taskfile

import (
	"strings"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/callback"
)

// Readers of the fields of a task that have several forms.

// workdir stores a directory or a git repository.
func workdir(to *string, repository *task.Git) reader {
	return func(w *decoder, n *node) error {
		if n.kind == mapping {
			return git(repository)(w, n)
		}
		return text(to)(w, n)
	}
}

// git stores the URL and the reference of a git repository.
func git(to *task.Git) reader {
	return func(w *decoder, n *node) error {
		err := w.fields(n, schema{"url": group(text(&to.URL)), "ref": group(text(&to.Ref))})
		if err == nil && to.URL == "" && n.isSet() {
			return w.wrong("must have the url of a git repository")
		}
		return err
	}
}

// eventCallback stores a URL, and warns about a shell command.
func eventCallback(to *string) reader {
	return func(w *decoder, n *node) error {
		err := text(to)(w, n)
		if *to != "" && !callback.IsURL(*to) {
			*to = ""
			w.warn("not called, because the value is not an https URL; the server runs no commands of users")
		}
		return err
	}
}

// envs stores environment variables. A variable without a value is an error unless an
// override gives one, as in SkyPilot.
func envs(to *map[string]string) reader {
	return func(w *decoder, n *node) error {
		if n.kind != mapping {
			return w.wrong("must be a mapping of names to values, not %s", n.kind)
		}
		return w.each(n, func(name string, value *node) error {
			if _, given := w.given[name]; given {
				return nil
			}
			if value.kind == null {
				return w.noValue(name, `write %s: "" for an empty value, or pass --env %[1]s=VALUE`)
			}
			return w.put(to, name, value)
		})
	}
}

// secrets stores secret environment variables. References to SkyPilot's managed secrets,
// which have the prefix secrets: and no value, are rejected.
func secrets(to *map[string]string) reader {
	return func(w *decoder, n *node) error {
		if n.kind == list && len(n.items) > 0 {
			return w.wrong("%s", noSecrets)
		}
		if n.kind != mapping {
			return w.wrong("must be a mapping of names to values, not %s", n.kind)
		}
		return w.each(n, func(name string, value *node) error {
			if strings.HasPrefix(name, "secrets:") {
				return w.wrong("%s", noSecrets)
			}
			if _, given := w.secrets[name]; given {
				return nil
			}
			// task.Redacted comes from a specification that the server returned
			if value.kind == null || value.text == task.Redacted {
				return w.noValue(name, "pass --secret %s=VALUE, or --secret %[1]s to take the value from your environment")
			}
			return w.put(to, name, value)
		})
	}
}

// noValue returns the error for a variable without a value. hint says how to set a value.
func (w *decoder) noValue(name, hint string) error {
	if err := task.CheckVariable(name); err != nil {
		return w.wrong("%v", err)
	}
	return w.wrong("has no value; "+hint, name)
}

// fileMounts stores the paths to upload: `path: source`. A mapping describes a bucket, as
// in SkyPilot.
func fileMounts(to *map[string]string) reader {
	return func(w *decoder, n *node) error {
		if n.kind != mapping {
			return w.wrong("must be a mapping of paths to sources, not %s", n.kind)
		}
		return w.each(n, func(path string, value *node) error {
			switch {
			case value.kind == null:
				return nil
			case value.kind == mapping:
				if err := w.fields(value, storageFields()); err != nil || !value.isSet() {
					return err
				}
				return w.wrong("%s", task.NoBuckets)
			case value.kind == scalar && value.text == "":
				return w.wrong("must name a file or directory")
			}
			return w.put(to, path, value)
		})
	}
}

// outputs stores the paths of outputs. The mapping of SkyPilot estimates costs.
func outputs(to *[]string) reader {
	return func(w *decoder, n *node) error {
		switch n.kind {
		case mapping:
			w.warn("not used; the server runs on one cluster and needs no cost estimate")
			return nil
		case list:
			return w.items(n, func(item *node) error {
				var path string
				if err := text(&path)(w, item); err != nil {
					return err
				}
				*to = append(*to, path)
				return nil
			})
		}
		return w.wrong("must be a list of paths, not %s", n.kind)
	}
}

// storageFields returns the fields of a bucket.
func storageFields() schema {
	s := schema{}
	for _, name := range []string{
		"name", "source", "store", "persistent", "mode", "type", "mount_options", "config",
		"_is_sky_managed", "_bucket_sub_path", "_force_delete",
	} {
		s[name] = group(anything)
	}
	return s
}
