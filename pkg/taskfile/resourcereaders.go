package taskfile

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/gpu"
)

// Readers of the resources that have several forms.

// plain contains resources without any_of and ordered.
type plain struct {
	resources task.Resources
	choice    choice
}

// A choice contains the alternatives in a field of accelerators.
type choice struct {
	accelerators []string // each NAME, NAME:COUNT or COUNT
	ordered      bool     // earlier alternatives are preferred
}

// accelerators stores NAME, NAME:COUNT or COUNT, also in the form {NAME: COUNT}. Several
// accelerators are alternatives.
func accelerators(to *choice) reader {
	return func(d *decoder, n *node) error {
		if !n.isSet() {
			return nil
		}
		if len(to.accelerators) > 0 {
			return d.wrong("accelerators and gpus are the same field; write one of them")
		}
		to.ordered = n.kind == list
		each := n.items
		switch n.kind {
		case scalar:
			each = []*node{n}
		case mapping: // a set has the same form: {A100:8, H100:8}
			for _, m := range n.members {
				name := &node{kind: m.value.kind, text: m.key + ":" + m.value.text}
				if m.value.kind == null {
					name = &node{kind: scalar, text: m.key}
				}
				each = append(each, name)
			}
		}
		for _, one := range each {
			if err := d.accelerator(one, to); err != nil {
				return err
			}
		}
		return nil
	}
}

func (d *decoder) accelerator(n *node, to *choice) error {
	if n.kind != scalar {
		return d.wrong("must be NAME, NAME:COUNT or COUNT")
	}
	if !n.isSet() {
		return d.wrong("%s is not an accelerator", n.quoted())
	}
	if len(to.accelerators) == maxAlternatives {
		return d.wrong("more than %d alternatives; write fewer", maxAlternatives)
	}
	text := n.text
	if slice := gpu.TPUSlice(text); slice != "" {
		d.warn("runs on " + slice + ", the name of GKE")
		text = slice
	}
	model, count, err := task.Resources{Accelerators: text}.GPUs()
	if err == nil && gpu.IsTPU(model) {
		err = gpu.CheckTPU(model, count)
	}
	if err != nil {
		return d.wrong("%v", err)
	}
	if model != "" && len(to.accelerators) == 0 && !d.alternative.other && !gpu.ModelOf(model).Known {
		d.warnAt("resources.accelerators", fmt.Sprintf("%s is not a known model; the task waits for a node with a label for it, for example %s=%s", model, gpu.LabelModel, strings.ToLower(model)))
	}
	to.accelerators = append(to.accelerators, text)
	return nil
}

// image stores the name of a container image, also in the form {docker: IMAGE} or
// {REGION: IMAGE}.
func image(to *string) reader {
	return func(d *decoder, n *node) error {
		read := text(to)
		if n.kind == mapping {
			read = imageOfRegions(to)
		}
		if err := read(d, n); err != nil {
			return err
		}
		if strings.HasPrefix(*to, "ami-") || strings.HasPrefix(*to, "skypilot:") || strings.HasPrefix(*to, "projects/") {
			d.warn("looks like a machine image, but is used as a container image")
		}
		return nil
	}
}

// imageOfRegions stores the image that a mapping names for every region. The server does not
// know its region, so different images are an error.
func imageOfRegions(to *string) reader {
	return func(d *decoder, n *node) error {
		images := map[string]bool{}
		err := d.each(n, func(_ string, value *node) error {
			if err := text(to)(d, value); err != nil {
				return err
			}
			images[strings.TrimPrefix(*to, "docker:")] = true
			return nil
		})
		if err == nil && len(images) > 1 {
			return d.wrong("names %d different images by region, but all tasks run on the server's cluster; name one container image", len(images))
		}
		return err
	}
}

// infra reads where to run. The only supported value is the cluster of the server; infra
// warns about other values.
func infra(d *decoder, n *node) error {
	var where string
	err := text(&where)(d, n)
	if elsewhere(where) {
		d.warn("not used; tasks run on the server's cluster")
	}
	return err
}

// elsewhere reports whether infra or cloud names something other than the cluster of the
// server.
func elsewhere(where string) bool {
	cloud, rest, _ := strings.Cut(strings.ToLower(where), "/")
	return !slices.Contains([]string{"", "*", "k8s", "kubernetes"}, cloud) || strings.Trim(rest, "*/") != ""
}

// lists accepts a list. resources reads its items after the fields beside the list.
func lists(d *decoder, n *node) error {
	if n.kind != list && n.isSet() {
		return d.wrong("must be a list of resources, not %s", n.kind)
	}
	return nil
}

// autostop accepts SkyPilot's forms, except hooks, which the server would have to run.
func autostop(d *decoder, n *node) error {
	switch n.kind {
	case scalar:
		return nil
	case mapping:
		return d.fields(n, schema{
			"idle_minutes": group(anything),
			"down":         group(anything),
			"wait_for":     group(anything),
			"hook":         refused("hooks are not supported"),
			"hook_timeout": group(anything),
		})
	}
	return d.wrong("must be true, false, a duration or a mapping, not %s", n.kind)
}

// ports stores ports and ranges of ports in one form: "8080", "10052-10100".
func ports(to *[]string) reader {
	return func(d *decoder, n *node) error {
		if n.kind == list {
			return d.items(n, func(item *node) error { return d.portsIn(item, to) })
		}
		return d.portsIn(n, to)
	}
}

func (d *decoder) portsIn(n *node, to *[]string) error {
	if n.kind != scalar {
		return d.wrong("must be a port, not %s", n.kind)
	}
	for part := range strings.SplitSeq(n.text, ",") {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		low, ok := wholeNumber(first, 1, 65535)
		high, alsoOK := wholeNumber(last, 1, 65535)
		switch {
		case !ok || !alsoOK || low > high:
			return d.wrong("%s is not a port or a range of ports from 1 to 65535", task.Quote(part))
		case low == high:
			*to = append(*to, strconv.Itoa(low))
		default:
			*to = append(*to, strconv.Itoa(low)+"-"+strconv.Itoa(high))
		}
	}
	return nil
}

var gigabytesForm = regexp.MustCompile(`^([0-9]{1,9}(?:\.[0-9]{1,6})?) ?(?:([kmgtp])[bi]?)?$`)

// gigabytes stores a size as a number of GB, rounded up: 256, 256GB, 1TB.
func gigabytes(to *int) reader {
	return func(d *decoder, n *node) error {
		m := gigabytesForm.FindStringSubmatch(strings.ToLower(decimal(n.text)))
		if n.kind != scalar || m == nil {
			return d.wrong("%s is not a size, for example 256 (GB), 256GB or 1TB", n.quoted())
		}
		size, _ := strconv.ParseFloat(m[1], 64)
		unit := m[2]
		if unit == "" {
			unit = "g"
		}
		*to = int(math.Ceil(size * math.Pow(1024, float64(strings.Index("kmgtp", unit)-2))))
		return nil
	}
}
