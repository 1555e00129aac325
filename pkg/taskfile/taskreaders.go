package taskfile

import "strings"

// Readers of the fields of a task that take more than one form.

func workdir(to *string) reader {
	return func(w *walk, n *node) error {
		if n.kind == mapping {
			return w.wrong("git repositories are not checked out; clone it in setup and write the directory here")
		}
		if err := text(to)(w, n); err != nil {
			return err
		}
		if *to != "" && !strings.HasPrefix(*to, "/") {
			w.warn("taken for a directory of the image; nothing is uploaded")
		}
		return nil
	}
}

// envs stores the variables; one without a value is required, as in SkyPilot.
func envs(to *map[string]string) reader {
	return func(w *walk, n *node) error {
		if n.kind != mapping {
			return w.wrong("has to be a mapping of names to values, not %s", n.kind)
		}
		return w.each(n, func(name string, value *node) error {
			if _, given := w.given[name]; given {
				return nil
			}
			if value.kind == null {
				return w.wrong(`has no value; write %s: "" for an empty one, or give it with --env %s=VALUE`, name, name)
			}
			return w.put(to, name, value)
		})
	}
}

// secrets stores the values that nobody else is to see. References to SkyPilot's
// own store of them have the prefix secrets: and no value.
func secrets(to *map[string]string) reader {
	return func(w *walk, n *node) error {
		if n.kind == list && len(n.items) > 0 {
			return w.wrong("%s", noSecrets)
		}
		if n.kind != mapping {
			return w.wrong("has to be a mapping of names to values, not %s", n.kind)
		}
		return w.each(n, func(name string, value *node) error {
			if strings.HasPrefix(name, "secrets:") {
				return w.wrong("%s", noSecrets)
			}
			if _, given := w.secrets[name]; given {
				return nil
			}
			if value.kind == null {
				return w.wrong(`has no value; give it with --secret %s=VALUE, or --secret %s for the one it has in your environment`, name, name)
			}
			return w.put(to, name, value)
		})
	}
}

// fileMounts stores the plain ones and checks the keys of the others.
func fileMounts(to *map[string]string) reader {
	return func(w *walk, n *node) error {
		if n.kind != mapping {
			return w.wrong("has to be a mapping of paths to sources, not %s", n.kind)
		}
		return w.each(n, func(path string, value *node) error {
			switch value.kind {
			case null:
				return nil
			case mapping:
				return w.fields(value, storageFields())
			default:
				return w.put(to, path, value)
			}
		})
	}
}

// storageFields are known and covered by the warning of file_mounts.
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
