package taskfile

import (
	"fmt"
	"maps"
	"slices"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/bucket"
)

// A bucketForm is a bucket that file_mounts describes by a mapping. Whether the bucket is valid
// depends on variables, so addBuckets reads the form at the end.
type bucketForm struct {
	path string
	bucket.Form
}

// texts returns the texts in which variables are replaced.
func (f *bucketForm) texts() []*string {
	all := []*string{&f.path, &f.Name, &f.Store, &f.Mode}
	for i := range f.Sources {
		all = append(all, &f.Sources[i])
	}
	return all
}

// bucketFields returns the fields of a bucket in SkyPilot's form.
func bucketFields(f *bucket.Form) schema {
	const tuning = "not used; it tunes SkyPilot's own mounts"
	s := schema{
		"name": group(text(&f.Name)), "store": group(text(&f.Store)), "mode": group(text(&f.Mode)), "persistent": group(truthOf(&f.Persistent)),
		"source": group(func(d *decoder, n *node) error {
			if f.List = n.kind == list; f.List {
				return textList(&f.Sources)(d, n)
			}
			f.Sources = make([]string, 1)
			return text(&f.Sources[0])(d, n)
		}),
		"type": ignored(anything, tuning), "mount_options": ignored(anything, tuning), "config": ignored(anything, tuning),
	}
	for _, name := range []string{"_is_sky_managed", "_bucket_sub_path", "_force_delete"} {
		s[name] = ignored(anything, forItself)
	}
	return s
}

// addBuckets stores the buckets of file_mounts in t. Only local files stay in t.FileMounts.
func (d *decoder) addBuckets(t *task.Spec) error {
	for _, path := range slices.Sorted(maps.Keys(t.FileMounts)) {
		if source := t.FileMounts[path]; bucket.IsURL(source) {
			delete(t.FileMounts, path)
			if err := addBucket(t, path, bucket.Source{URL: source}); err != nil {
				return err
			}
		}
	}
	for _, f := range d.forms {
		target := bucket.Target(task.WorkdirTarget, f.path)
		source, local, warnings, err := f.Bucket(target)
		if err != nil {
			return fmt.Errorf("file_mounts.%s: %w", f.path, err)
		}
		for _, warning := range warnings {
			d.warnAt("file_mounts."+f.path, warning)
		}
		if len(local) > 0 && t.FileMounts == nil {
			t.FileMounts = map[string]string{}
		}
		maps.Copy(t.FileMounts, local)
		if err := addBucket(t, f.path, source); err != nil {
			return err
		}
	}
	if len(t.FileMounts) == 0 {
		t.FileMounts = nil
	}
	return nil
}

func addBucket(t *task.Spec, path string, source bucket.Source) error {
	target := bucket.Target(task.WorkdirTarget, path)
	if _, twice := t.Buckets[target]; twice {
		return fmt.Errorf("file_mounts.%s: another bucket is at the same path; remove one of them", path)
	}
	if t.Buckets == nil {
		t.Buckets = bucket.Mounts{}
	}
	t.Buckets[target] = source
	return nil
}

// buckets stores buckets in the form of the JSON API.
func buckets(to *bucket.Mounts) reader {
	return func(d *decoder, n *node) error {
		if n.kind != mapping {
			return d.wrong("must be a mapping of paths to buckets, not %s", n.kind)
		}
		return d.each(n, func(path string, value *node) error {
			var s bucket.Source
			if *to == nil {
				*to = bucket.Mounts{}
			}
			err := d.fields(value, schema{"url": group(text(&s.URL)), "mode": group(text(&s.Mode)), "create": group(truthOf(&s.Create))})
			(*to)[path] = s
			return err
		})
	}
}
