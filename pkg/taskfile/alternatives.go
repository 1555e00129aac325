package taskfile

import (
	"slices"
	"strconv"

	"k8s-cli/pkg/task"
)

// Resources may name alternatives: any_of and ordered, or several accelerators. All forms
// become a list of complete resources. Fields beside any_of and ordered apply to every
// alternative that does not set them.

// maxAlternatives is far more than any task file of SkyPilot has.
const maxAlternatives = 32

// An alternative describes which alternative the decoder reads.
type alternative struct {
	at    int  // index of the first step of the path that leads into the list
	steps int  // number of steps that lead to the alternative; 0 outside of alternatives
	other bool // not the first alternative, so it causes no warnings
}

// resources stores the resources of a task.
func resources(to *task.Resources) reader {
	return func(d *decoder, n *node) error {
		plain, ordered, err := d.plainResources(n)
		if err != nil || d.diagnostics.wrong() {
			return err
		}
		var lists []member
		for _, m := range n.members {
			if isList(m.key) && m.value.isSet() {
				lists = append(lists, m)
			}
		}
		switch {
		case len(lists) > 1:
			return d.wrong("any_of and ordered cannot be combined; use one of them")
		case len(lists) == 1 && ordered:
			return d.wrong("a list of accelerators cannot be combined with %s; use one of them", lists[0].key)
		case len(lists) == 1:
			ordered = lists[0].key == "ordered"
			if plain, err = d.alternatives(n, lists[0]); err != nil {
				return err
			}
		}
		switch {
		case len(plain) > maxAlternatives:
			return d.wrong("%d alternatives exceed the limit of %d", len(plain), maxAlternatives)
		case len(plain) == 1:
			*to = plain[0]
		case ordered:
			*to = task.Resources{Ordered: plain}
		default:
			*to = task.Resources{AnyOf: plain}
		}
		return nil
	}
}

// plainResources reads n without any_of and ordered. Several accelerators become several
// resources.
func (d *decoder) plainResources(n *node) (all []task.Resources, ordered bool, err error) {
	if n.kind == mapping && n.has("infra") && (n.has("cloud") || n.has("region") || n.has("zone")) {
		return nil, false, d.wrong("infra cannot be combined with cloud, region or zone; write only infra")
	}
	if n.kind == mapping && n.has("spot_recovery") && n.has("job_recovery") {
		return nil, false, d.wrong("spot_recovery is the old name of job_recovery; write only job_recovery")
	}
	p, err := resourcePools.fill(func(s schema) error { return d.fields(n, s) })
	if err != nil {
		return nil, false, err
	}
	r, c := p.resources, p.choice
	if len(c.accelerators) == 0 {
		return []task.Resources{r}, false, nil
	}
	for _, accelerators := range c.accelerators {
		r.Accelerators = accelerators
		all = append(all, r)
	}
	return all, c.ordered, nil
}

// alternatives reads the items of list, each completed by the other fields of n.
func (d *decoder) alternatives(n *node, list member) ([]task.Resources, error) {
	d.push(list.key, list.line)
	defer d.pop()
	if n.size()*len(list.value.items) > maxNodes {
		return nil, d.tooLarge("%d alternatives are too many for a task with this many values; write fewer", len(list.value.items))
	}
	first := firstHere(list.value.items)
	var all []task.Resources
	for i, item := range list.value.items {
		if first >= 0 && ofAnotherCloud(item) {
			continue
		}
		d.push("["+strconv.Itoa(i)+"]", item.line)
		d.alternative = alternative{at: len(d.steps) - 2, steps: 2, other: i > max(first, 0)}
		some, ordered, err := d.complete(n, item)
		d.alternative = alternative{}
		d.pop()
		if err = d.diagnostics.record(err); err != nil {
			return nil, err
		}
		if ordered && len(some) > 1 {
			return nil, d.wrong("a list of accelerators cannot be combined with %s; use one of them", list.key)
		}
		all = append(all, some...)
	}
	if first >= 0 {
		d.warnAt("resources", "alternatives on other clouds are ignored")
	}
	if len(all) == 0 { // each alternative has an error
		all = []task.Resources{{}}
	}
	return all, nil
}

// firstHere returns the index of the first alternative that is not for another cloud.
// firstHere returns -1 if no alternative is to be left out, because all or none are for
// another cloud.
func firstHere(items []*node) int {
	if !slices.ContainsFunc(items, ofAnotherCloud) {
		return -1
	}
	return slices.IndexFunc(items, func(item *node) bool { return !ofAnotherCloud(item) })
}

// ofAnotherCloud reports whether an alternative itself names another cloud. Such an
// alternative is left out if there are others.
func ofAnotherCloud(item *node) bool {
	return slices.ContainsFunc(item.members, func(m member) bool {
		return (m.key == "infra" || m.key == "cloud") && m.value.kind == scalar && elsewhere(m.value.text)
	})
}

// complete reads one alternative together with the fields beside the list, which are in
// outer.
func (d *decoder) complete(outer, item *node) ([]task.Resources, bool, error) {
	if item.kind != mapping {
		return nil, false, d.wrong("must be a mapping of fields, not %s", item.kind)
	}
	own := map[string]member{}
	for _, m := range item.members {
		if isList(m.key) && m.value.isSet() {
			d.push(m.key, m.line)
			defer d.pop()
			return nil, false, d.wrong("nested alternatives are not supported")
		}
		own[m.key] = m
	}
	both := &node{kind: mapping, line: item.line}
	for _, m := range outer.members {
		mine, ok := own[m.key]
		switch {
		case isList(m.key):
		case ok && m.key == "labels" && mine.value.kind == mapping && m.value.kind == mapping:
			own[m.key] = member{m.key, mine.line, united(m.value, mine.value)}
		case !ok && !slices.ContainsFunc(otherWords[m.key], func(key string) bool { _, ok := own[key]; return ok }):
			both.members = append(both.members, m)
		}
	}
	for _, m := range item.members {
		both.members = append(both.members, own[m.key])
	}
	return d.plainResources(both)
}

func isList(key string) bool { return key == "any_of" || key == "ordered" }

// otherWords maps a field to the fields that replace it: if an alternative sets one of
// them, the field outside of the alternative does not apply.
var otherWords = map[string][]string{
	"accelerators": {"gpus"},
	"gpus":         {"accelerators"},
	"infra":        {"cloud", "region", "zone"},
	"cloud":        {"infra"},
	"region":       {"infra"},
	"zone":         {"infra"},

	"job_recovery":  {"spot_recovery"},
	"spot_recovery": {"job_recovery"},
}

// united returns a mapping with the members of both. Members of second take precedence.
func united(first, second *node) *node {
	keys := map[string]bool{}
	for _, m := range second.members {
		keys[m.key] = true
	}
	all := &node{kind: mapping, line: second.line, members: slices.Clone(second.members)}
	for _, m := range first.members {
		if !keys[m.key] {
			all.members = append(all.members, m)
		}
	}
	return all
}
