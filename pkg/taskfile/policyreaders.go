package taskfile

import (
	"slices"
	"strconv"
	"strings"

	"k8s-cli/pkg/task"
)

// Readers of the fields that control how Jobs are treated.

// strategies lists the strategies of SkyPilot. On a single cluster, all strategies have the
// same effect.
var strategies = []string{"FAILOVER", "EAGER_NEXT_REGION"}

// jobRecovery stores when a node is restarted: a strategy, or a mapping.
func jobRecovery(to *task.Recovery) reader {
	return func(d *decoder, n *node) error {
		if n.kind != mapping {
			if err := strategy(&to.Strategy)(d, n); err != nil {
				return err
			}
			if to.Strategy == task.NoStrategy {
				*to = task.Recovery{}
			}
			return nil
		}
		to.Strategy = strategies[1] // the default of SkyPilot
		err := d.fields(n, schema{
			"strategy":               group(strategy(&to.Strategy)),
			"max_restarts_on_errors": group(integer(&to.Restarts, 0, task.MaxRestarts)),
			"recover_on_exit_codes":  group(exitCodes(&to.ExitCodes)),
		})
		if to.Strategy == task.NoStrategy && to.Restarts == 0 && len(to.ExitCodes) == 0 {
			*to = task.Recovery{}
		}
		return err
	}
}

// spotRecovery is jobRecovery under its old name.
func spotRecovery(to *task.Recovery) reader {
	return func(d *decoder, n *node) error {
		d.warn("deprecated; write job_recovery")
		return jobRecovery(to)(d, n)
	}
}

func strategy(to *string) reader {
	return func(d *decoder, n *node) error {
		name := strings.ToUpper(n.text)
		if name == "" {
			name = task.NoStrategy
		}
		if n.kind != scalar || name != task.NoStrategy && !slices.Contains(strategies, name) {
			return d.wrong("%s must be none, %s", n.quoted(), strings.Join(strategies, " or "))
		}
		*to = name
		return nil
	}
}

// exitCodes stores one exit code or several, sorted.
func exitCodes(to *[]int) reader {
	return func(d *decoder, n *node) error {
		items := []*node{n}
		if n.kind == list {
			items = n.items
		}
		for _, item := range items {
			var code int
			if err := integer(&code, 1, 255)(d, item); err != nil {
				return err
			}
			*to = append(*to, code)
		}
		slices.Sort(*to)
		*to = slices.Compact(*to)
		return nil
	}
}

// labels stores labels that are valid in Kubernetes.
func labels(to *map[string]string) reader {
	return func(d *decoder, n *node) error {
		if n.kind != mapping {
			return d.wrong("must be a mapping of names to strings, not %s", n.kind)
		}
		if len(n.members) > task.MaxLabels {
			return d.wrong("%d entries exceed the limit of %d", len(n.members), task.MaxLabels)
		}
		return d.each(n, func(key string, value *node) error {
			if err := d.put(to, key, value); err != nil {
				return err
			}
			if err := task.CheckLabel(key, (*to)[key]); err != nil {
				return d.wrong("%v", err)
			}
			return nil
		})
	}
}

// annotations stores annotations that do not change the permissions of a container.
func annotations(to *map[string]string) reader {
	return func(d *decoder, n *node) error {
		if n.kind != mapping {
			return d.wrong("must be a mapping of names to strings, not %s", n.kind)
		}
		if len(n.members) > task.MaxLabels {
			return d.wrong("%d entries exceed the limit of %d", len(n.members), task.MaxLabels)
		}
		return d.each(n, func(key string, value *node) error {
			if err := task.CheckAnnotation(key); err != nil {
				return d.wrong("%v", err)
			}
			return d.put(to, key, value)
		})
	}
}

// resourceLimits accepts true, which is how the server works, and warns about other values.
func resourceLimits(d *decoder, n *node) error {
	if on, ok := truth(n.text); n.kind != scalar || !ok || !on {
		if _, err := strconv.ParseFloat(n.text, 64); n.kind != scalar || !ok && err != nil {
			return d.wrong("%s is neither true, false nor a number", n.quoted())
		}
		d.warn("not used; limits equal requests")
	}
	return nil
}
