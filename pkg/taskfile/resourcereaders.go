package taskfile

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s-cli/pkg/task"
)

// Readers of the resources that take more than one form.

// accelerators stores NAME, NAME:COUNT or COUNT, also written {NAME: COUNT}.
func accelerators(to *string) reader {
	return func(w *walk, n *node) error {
		choice, err := w.accelerator(n)
		if err != nil || choice == "" {
			return err
		}
		if *to != "" {
			return w.wrong("accelerators and gpus are one field; write only one of them")
		}
		model, _, err := task.Resources{Accelerators: choice}.GPUs()
		switch {
		case err != nil:
			return w.wrong("%v", err)
		case strings.HasPrefix(strings.ToLower(model), "tpu"):
			return w.wrong("TPUs are not supported")
		case model != "":
			w.warn("the model " + model + " is not used, only the number; any GPUs of the cluster will do")
		}
		*to = choice
		return nil
	}
}

// accelerator returns the one choice that n leaves.
func (w *walk) accelerator(n *node) (string, error) {
	switch {
	case n.kind == scalar:
		return n.text, nil
	case len(n.items)+len(n.members) == 0:
		return "", nil
	case len(n.items)+len(n.members) > 1:
		return "", w.wrong("several alternatives are not supported; name one")
	case n.kind == list:
		var choice string
		return choice, w.items(n, func(item *node) error { return text(&choice)(w, item) })
	}
	m := n.members[0]
	switch m.value.kind {
	case null: // a set: {A100:8}
		return m.key, nil
	case scalar:
		return m.key + ":" + m.value.text, nil
	}
	return "", w.wrong("has to be NAME, NAME:COUNT or COUNT")
}

// image stores the name of a container image, also written {docker: IMAGE}.
func image(to *string) reader {
	return func(w *walk, n *node) error {
		if n.kind == mapping {
			if len(n.members) != 1 || n.members[0].key != "docker" {
				return w.wrong("images by region are not supported; name one container image")
			}
			return w.each(n, func(_ string, value *node) error { return text(to)(w, value) })
		}
		if err := text(to)(w, n); err != nil {
			return err
		}
		if strings.HasPrefix(*to, "ami-") || strings.HasPrefix(*to, "skypilot:") || strings.HasPrefix(*to, "projects/") {
			w.warn("looks like the image of a machine and is taken for that of a container")
		}
		return nil
	}
}

// infra takes where to run. The server's own cluster is what it always is.
func infra(w *walk, n *node) error {
	var where string
	if err := text(&where)(w, n); err != nil {
		return err
	}
	cloud, rest, _ := strings.Cut(strings.ToLower(where), "/")
	if !slices.Contains([]string{"", "*", "k8s", "kubernetes"}, cloud) || strings.Trim(rest, "*/") != "" {
		w.warn("not used; tasks run on the server's cluster")
	}
	return nil
}

// jobRecovery takes what a task does anyway: not start again.
func jobRecovery(w *walk, n *node) error {
	if n.kind == scalar && (n.text == "" || strings.EqualFold(n.text, "none")) {
		return nil
	}
	return w.wrong("tasks are not started again; write none or leave it out")
}

// autostop takes SkyPilot's forms; hooks would have to run and are refused.
func autostop(w *walk, n *node) error {
	switch n.kind {
	case scalar:
		return nil
	case mapping:
		return w.fields(n, schema{
			"idle_minutes": honoured(anything),
			"down":         honoured(anything),
			"wait_for":     honoured(anything),
			"hook":         refused("hooks are not run"),
			"hook_timeout": honoured(anything),
		})
	}
	return w.wrong("has to be true, false, a time or a mapping, not %s", n.kind)
}

// ports stores ports and ranges of them in one form: "8080", "10052-10100".
func ports(to *[]string) reader {
	return func(w *walk, n *node) error {
		if n.kind == list {
			return w.items(n, func(item *node) error { return w.portsIn(item, to) })
		}
		return w.portsIn(n, to)
	}
}

func (w *walk) portsIn(n *node, to *[]string) error {
	if n.kind != scalar {
		return w.wrong("has to be a port, not %s", n.kind)
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
			return w.wrong("%s is not a port or a range of ports from 1 to 65535", task.Quote(part))
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
	return func(w *walk, n *node) error {
		m := gigabytesForm.FindStringSubmatch(strings.ToLower(n.text))
		if n.kind != scalar || m == nil {
			return w.wrong("%s is not a size such as 256 (GB), 256GB or 1TB", n.quoted())
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
