// Package taskfile parses task files and the bodies of the HTTP API. The files are SkyPilot's
// task files in YAML, and the bodies are JSON. Both become the same tree, which one table of
// fields reads. Every field is honoured, accepted with a warning, or rejected with the reason.
// No field is ignored silently.
package taskfile

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"unicode/utf8"

	"k8s-cli/pkg/task"
	groups "k8s-cli/pkg/task/group"
	"k8s-cli/pkg/task/problem"
	"k8s-cli/pkg/taskfile/documents"
)

// MaxSize is the largest size of the text of a task or a volume, in bytes.
const MaxSize = 128 << 10

// Parse parses a task file in YAML. The warnings are sentences about fields that are
// accepted and not honoured. Warnings and errors begin with the path of the field. The
// error is of kind problem.Malformed, Invalid or TooLarge, and names the line if it is
// known.
func Parse(data []byte) (task.Spec, []string, error) {
	return parseTask(data, fromYAML, Overrides{}, nil)
}

// ParseWith is Parse, except that o replaces some values before the task is checked.
func ParseWith(data []byte, o Overrides) (task.Spec, []string, error) {
	return parseTask(data, fromYAML, o, nil)
}

// ParseJSON parses the JSON body of a submission. The fields and the rules are the same as
// for Parse; errors have no lines.
func ParseJSON(data []byte) (task.Spec, []string, error) {
	return parseTask(data, fromJSON, Overrides{}, nil)
}

// The fields of one item of a batch that are not fields of a task. They are like the header
// Idempotency-Key and the query parameters of a submission.
const (
	ItemKey      = "idempotency_key"
	ItemAfter    = "after"
	ItemAfterAny = "after_any"
)

// An Item holds the fields of an item of a batch that are not fields of a task. A field that
// the item lacks is empty.
type Item struct {
	groups.Membership

	JobGroup        groups.JobGroupItem
	Key             string
	After, AfterAny []string
}

// ParseItem is ParseJSON for one task of a batch, which may have an idempotency key and a
// group of its own.
func ParseItem(data []byte) (t task.Spec, i Item, warnings []string, err error) {
	withItem := func(data []byte) (*node, error) {
		root, err := fromJSON(data)
		if err == nil {
			i, err = root.takeItem()
		}
		return root, err
	}
	t, warnings, err = parseTask(data, withItem, Overrides{}, nil)
	return t, i, warnings, err
}

// take removes a field with a text from an item and returns the text.
func (n *node) take(field string) (string, error) {
	value := n.remove(field)
	switch {
	case value == nil || value.kind == null:
		return "", nil
	case value.kind != scalar || value.text == "":
		return "", &fieldError{problem.Invalid, field, "is not a string", 0}
	}
	return value.text, nil
}

// takeItem removes the fields that are not fields of a task from an item and returns them.
func (n *node) takeItem() (i Item, err error) {
	var errs [9]error
	var limit string
	i.Key, errs[0] = n.take(ItemKey)
	i.Group, errs[1] = n.take(groups.Param)
	limit, errs[2] = n.take(groups.MaxParallelParam)
	i.FailFast, errs[3] = n.takeBool(groups.FailFastParam)
	i.JobGroup.Name, errs[4] = n.take(groups.JobGroupParam)
	i.JobGroup.Auxiliary, errs[5] = n.takeBool(groups.AuxiliaryParam)
	i.JobGroup.Delay, errs[6] = n.take(groups.DelayParam)
	i.After, errs[7] = n.takeList(ItemAfter)
	i.AfterAny, errs[8] = n.takeList(ItemAfterAny)
	if err := cmp.Or(errs[:]...); err != nil {
		return i, err
	}
	i.MaxParallel, err = groups.ParseMaxParallel(limit)
	return i, err
}

func (n *node) takeBool(field string) (bool, error) {
	text, err := n.take(field)
	if err == nil && text != "" && text != "true" && text != "false" {
		err = &fieldError{problem.Invalid, field, "is neither true nor false", 0}
	}
	return text == "true", err
}

// takeList removes a field with a list of texts from an item and returns the texts.
func (n *node) takeList(field string) ([]string, error) {
	value := n.remove(field)
	if value == nil || value.kind == null {
		return nil, nil
	}
	var all []string
	for _, item := range value.items {
		if item.kind != scalar || item.text == "" {
			value.kind = null
			break
		}
		all = append(all, item.text)
	}
	if value.kind != list {
		return nil, &fieldError{problem.Invalid, field, "is not a list of strings", 0}
	}
	return all, nil
}

// remove removes a field and returns its value, or nil.
func (n *node) remove(field string) *node {
	i := slices.IndexFunc(n.members, func(m member) bool { return m.key == field })
	if i < 0 {
		return nil
	}
	value := n.members[i].value
	n.members = slices.Delete(n.members, i, i+1)
	return value
}

// ParseVolume parses the JSON body of a volume.
func ParseVolume(data []byte) (task.Volume, error) {
	var v task.Volume
	d := decoder{what: "a volume", tables: func() []table { return nil }}
	if err := d.read(data, fromJSON, volumeFields(&v)); err != nil {
		return task.Volume{}, err
	}
	if err := v.Validate(); err != nil {
		return task.Volume{}, d.located(err)
	}
	return v, nil
}

func parseTask(data []byte, decode treeParser, o Overrides, q *diagnostics) (task.Spec, []string, error) {
	d := decoder{what: "a task", given: o.Envs, secrets: o.Secrets, tables: taskTables, diagnostics: q}
	t, err := taskPools.fill(func(s schema) error { return d.read(data, decode, s) })
	if err != nil {
		return task.Spec{}, nil, err
	}
	o.Override(&t)
	if q.wrong() {
		if err := d.validate(&t); err != nil {
			q.correct(findingOf(err))
		}
		return t, nil, errEnough
	}
	if err := d.finish(&t); err != nil {
		return task.Spec{}, nil, err
	}
	return t, d.warnings, nil
}

// finish does what requires the whole task: it replaces variables in paths, calls the
// checks of package task, and warns of fields that do not fit together.
func (d *decoder) finish(t *task.Spec) error {
	if err := d.validate(t); err != nil {
		return err
	}
	for dir := range t.Volumes {
		if d.mounts[path.Clean(dir)] {
			return &fieldError{problem.Invalid, podConfigPath, "mounts " + task.Quote(dir) + ", and so does volumes; remove one of them", d.lines[podConfigPath]}
		}
	}
	for _, values := range []struct {
		field string
		names map[string]string
	}{{"envs", t.Envs}, {"secrets", t.Secrets}} {
		for _, name := range []string{"SKYPILOT_DOCKER_USERNAME", "SKYPILOT_DOCKER_PASSWORD", "SKYPILOT_DOCKER_SERVER"} {
			if _, given := values.names[name]; given {
				at := values.field + "." + name
				return &fieldError{problem.Invalid, at, "registry logins are not supported; name a pull secret in config.kubernetes.pod_config, under spec.imagePullSecrets", d.lines[at]}
			}
		}
	}
	d.remark(*t)
	d.remarkPrograms(*t)
	return nil
}

// validate replaces the variables in the paths of a task, finds its buckets, and then checks the task.
func (d *decoder) validate(t *task.Spec) error {
	if err := d.substitute(t); err != nil {
		return err
	}
	if err := d.addBuckets(t); err != nil {
		return d.located(err)
	}
	if err := t.Validate(); err != nil {
		return d.located(err)
	}
	return nil
}

// remark warns of fields that are accepted and work differently than in SkyPilot.
func (d *decoder) remark(t task.Spec) {
	for _, name := range task.Variables() {
		if _, given := t.Envs[name]; given {
			d.warnAt("envs."+name, "set by the launcher; this value is not used")
		}
		if _, given := t.Secrets[name]; given {
			d.warnAt("secrets."+name, "set by the launcher; this value is not used")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(t.Secrets)) {
		if _, given := t.Envs[name]; given {
			d.warnAt("envs."+name, "also set under secrets; this value is not used")
		}
	}
	credentials, _ := t.Buckets.Variables()
	for _, name := range credentials {
		if _, given := t.Secrets[name]; given {
			d.warnAt("secrets."+name, "only the containers that move the data of the buckets get this value, and not the scripts")
		}
	}
	all, queue := t.Resources.Alternatives(), t.Config.Kubernetes.Kueue.LocalQueue
	if t.Nodes() > 1 && slices.ContainsFunc(all, func(r task.Resources) bool { return r.JobRecovery.MayRestart() }) {
		d.warnAt("resources.job_recovery", "each node restarts on its own, not all nodes together")
	}
	for _, r := range all {
		d.remarkSurprises(r)
	}
	if t.Nodes() > 1 && queue != "" {
		d.warnAt("config.kubernetes.kueue", "Kueue admits each node on its own, not all nodes together")
	}
}

// Amounts of one node that hardly any machine has.
const (
	manyCores  = 1024
	manyMemory = 32 << 40 // bytes
)

// remarkSurprises adds findings on resources that the server accepts, and that surprise. A submission
// has no such warnings.
func (d *decoder) remarkSurprises(r task.Resources) {
	remark := func(field, format string, args ...any) {
		field = "resources." + field
		if d.diagnostics != nil {
			d.diagnostics.correctWarning(Finding{Field: field, Line: d.lines[field], Severity: Warning, Text: fmt.Sprintf(format, args...)})
		}
	}
	const waits = "hardly any machine has so much; a node of a task runs on one machine, and the task waits until the cluster has such a machine"
	if r.Cores() > manyCores {
		remark("cpus", waits)
	}
	if r.MemoryBytes() > manyMemory {
		remark("memory", waits)
	}
	if r.UseSpot && !r.JobRecovery.RestartsOnEviction() {
		remark("use_spot", "the task fails when the cloud takes a machine away; write job_recovery: EAGER_NEXT_REGION, so that the node starts again, as SkyPilot does")
	}
}

// A treeParser parses a text into a tree, within limits.
type treeParser func(data []byte) (*node, error)

// read parses data into a tree and reads the tree with s.
func (d *decoder) read(data []byte, decode treeParser, s schema) error {
	if len(data) > MaxSize {
		return problem.New(problem.TooLarge, fmt.Sprintf("%s has %d bytes, more than the limit of %d", d.what, len(data), MaxSize))
	}
	if data = documents.Text(data); !utf8.Valid(data) {
		return notUTF8(data)
	}
	root, err := decode(data)
	if err != nil {
		return err
	}
	if root.kind != mapping {
		return d.wrong("%s must be a mapping of fields, not %s", d.what, root.kind)
	}
	if err := d.foreign(root, s); err != nil {
		return err
	}
	return d.fields(root, s)
}

// foreign returns an error if a text is an object of Kubernetes.
func (d *decoder) foreign(root *node, s schema) error {
	if _, known := s["run"]; !known || !root.has("apiVersion") || !root.has("kind") {
		return nil
	}
	kind := root.member("kind")
	d.push("kind", kind.line)
	defer d.pop()
	return d.wrong("%s is an object of Kubernetes, not a task; apply the file with kubectl, or write the command of its container under run, and its image under resources.image_id", kind.value.quoted())
}

// notUTF8 returns the error about a text that is not UTF-8.
func notUTF8(data []byte) error {
	line := 1
	for text := range bytes.Lines(data) {
		if !utf8.Valid(text) {
			break
		}
		line++
	}
	return &fieldError{kind: problem.Malformed, line: line, text: "the text is not valid UTF-8; store the file as UTF-8, if it is a task file"}
}

func unreadable(format string, args ...any) error {
	return problem.New(problem.Malformed, fmt.Sprintf(format, args...))
}
