package taskfile

import (
	"strconv"
	"strings"

	"k8s-cli/pkg/task"
)

// Readers of the volumes of a task.

// volumes stores the mounts of a task: `path: name`, `path: {name: name, sub_path:
// directory}`, or `path: {size: size}` for per-node volumes.
func volumes(t *task.Spec) reader {
	return func(d *decoder, n *node) error {
		if n.kind != mapping {
			return d.wrong("must be a mapping of mount paths to volumes, not %s", n.kind)
		}
		return d.each(n, func(path string, value *node) error {
			if value.kind == mapping && value.has("size") && !value.has("name") {
				return ephemeralAt(&t.Ephemeral, path)(d, value)
			}
			var name, sub string
			read := text(&name)
			if value.kind == mapping {
				read = mappingOf(mountFields(&name, &sub))
			}
			if value.kind != null {
				if err := read(d, value); err != nil {
					return err
				}
			}
			switch {
			case name == "":
				return d.wrong("must name a volume, which 'k8s-cli volumes list' shows")
			case strings.ContainsAny(name[:1], "./~"):
				return d.wrong("%s is a path, not the name of a volume; to upload a directory, write it under file_mounts", task.Quote(name))
			}
			if sub != "" {
				if err := d.put(&t.SubPaths, path, &node{kind: scalar, text: sub}); err != nil {
					return err
				}
			}
			return d.put(&t.Volumes, path, &node{kind: scalar, text: name})
		})
	}
}

func mountFields(name, sub *string) schema {
	const ephemeral = "is for per-node volumes, which have no name; create named volumes with 'k8s-cli volumes create'"
	return schema{
		"name":     group(text(name)),
		"sub_path": group(text(sub)),
		"size":     refused(ephemeral),
		"type":     refused(ephemeral),
		"labels":   refused(ephemeral),
		"config":   refused(ephemeral),
	}
}

// ephemeralAt stores one per-node volume in SkyPilot's form.
func ephemeralAt(to *task.Ephemerals, path string) reader {
	return func(d *decoder, n *node) error {
		var e task.Ephemeral
		if err := d.fields(n, ephemeralFields(&e)); err != nil {
			return err
		}
		if *to == nil {
			*to = task.Ephemerals{}
		}
		(*to)[path] = e
		return nil
	}
}

func ephemeralFields(e *task.Ephemeral) schema {
	return schema{
		"size":     group(claimSize(&e.Size)),
		"labels":   group(textsOf(&e.Labels)),
		"type":     group(claimType),
		"sub_path": refused("is not supported for per-node volumes; they are mounted whole"),
		"config": group(mappingOf(schema{
			"storage_class_name": group(checked(optionalText(&e.StorageClass), func() error { return task.CheckStorageClass(*e.StorageClass) })),
			"access_mode":        group(checked(text(&e.AccessMode), func() error { return task.CheckAccessMode(e.AccessMode) })),
		})),
	}
}

// claimSize stores a size. A number without a unit means GiB, as in SkyPilot.
func claimSize(to *string) reader {
	return func(d *decoder, n *node) error {
		if err := text(to)(d, n); err != nil {
			return err
		}
		if _, err := strconv.ParseFloat(*to, 64); err == nil {
			*to += "Gi"
		}
		return nil
	}
}

func claimType(d *decoder, n *node) error {
	if n.kind != scalar || !strings.EqualFold(n.text, "k8s-pvc") {
		return d.wrong("%s is not supported; the only type is k8s-pvc", n.quoted())
	}
	return nil
}

// ephemerals stores per-node volumes in the form of the JSON API.
func ephemerals(to *task.Ephemerals) reader {
	return func(d *decoder, n *node) error {
		if n.kind != mapping {
			return d.wrong("must be a mapping of mount paths to volumes, not %s", n.kind)
		}
		return d.each(n, func(path string, value *node) error {
			var e task.Ephemeral
			err := d.fields(value, schema{
				"size":          group(text(&e.Size)),
				"storage_class": group(optionalText(&e.StorageClass)),
				"access_mode":   group(text(&e.AccessMode)),
				"labels":        group(textsOf(&e.Labels)),
			})
			if err != nil {
				return err
			}
			if *to == nil {
				*to = task.Ephemerals{}
			}
			(*to)[path] = e
			return nil
		})
	}
}
