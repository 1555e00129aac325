package taskfile

import (
	"fmt"
	"math"
	"strconv"

	"k8s-cli/pkg/task"
)

// The parts of pod_config that choose the machines of pods, with the validation rules of
// the API server.

func tolerationShape() shape {
	return with(object(map[string]shape{
		"key":               words(task.CheckLabelKey),
		"operator":          oneOf("Exists", "Equal"),
		"value":             words(task.CheckLabelValue),
		"effect":            oneOf("NoSchedule", "PreferNoSchedule", "NoExecute"),
		"tolerationSeconds": number(0, math.MaxInt32),
	}), func(v map[string]any) error {
		value, _ := v["value"].(string)
		switch {
		case v["operator"] == "Exists" && value != "":
			return fmt.Errorf("value requires the operator Equal")
		case v["key"] == nil && v["operator"] != "Exists":
			return fmt.Errorf("without a key, the operator must be Exists")
		case v["tolerationSeconds"] != nil && v["effect"] != "NoExecute":
			return fmt.Errorf("tolerationSeconds requires the effect NoExecute")
		}
		return nil
	})
}

func affinityShape() shape {
	const required, preferred = "requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution"
	nodes := object(map[string]shape{"matchExpressions": listOf(expressionShape(true), "")})
	pods := with(object(map[string]shape{
		"labelSelector": object(map[string]shape{
			"matchLabels":      textsBy(anyLabel),
			"matchExpressions": listOf(expressionShape(false), ""),
		}),
		"topologyKey": words(task.CheckLabelKey),
	}), demand("topologyKey"))
	ofPods := object(map[string]shape{
		required:  listOf(pods, ""),
		preferred: listOf(weighted("podAffinityTerm", pods), ""),
	})
	return object(map[string]shape{
		"nodeAffinity": object(map[string]shape{
			required:  with(object(map[string]shape{"nodeSelectorTerms": listOf(nodes, "")}), demand("nodeSelectorTerms")),
			preferred: listOf(weighted("preference", nodes), ""),
		}),
		"podAffinity":     ofPods,
		"podAntiAffinity": ofPods,
	})
}

// spreadShape returns the shape of a topology spread constraint. The server sets the label
// selector, which selects the pods of the task.
func spreadShape() shape {
	return with(object(map[string]shape{
		"topologyKey":       words(task.CheckLabelKey),
		"whenUnsatisfiable": oneOf("DoNotSchedule", "ScheduleAnyway"),
		"maxSkew":           number(1, task.MaxNodes),
	}), demand("topologyKey", "whenUnsatisfiable"))
}

func weighted(name string, term shape) shape {
	return with(object(map[string]shape{"weight": number(1, 100), name: term}), demand("weight", name))
}

// demand returns a check that an object has these fields and that they are not empty.
func demand(names ...string) func(map[string]any) error {
	return func(v map[string]any) error {
		for _, name := range names {
			if all, isList := v[name].([]any); v[name] == nil || isList && len(all) == 0 {
				return fmt.Errorf("must have %s", name)
			}
		}
		return nil
	}
}

// expressionShape returns the shape of a condition on labels. Only conditions on the labels
// of machines may compare numbers.
func expressionShape(numbers bool) shape {
	operators := []string{"In", "NotIn", "Exists", "DoesNotExist"}
	if numbers {
		operators = append(operators, "Gt", "Lt")
	}
	return with(object(map[string]shape{
		"key":      words(task.CheckLabelKey),
		"operator": oneOf(operators...),
		"values":   listOf(words(task.CheckLabelValue), ""),
	}), func(v map[string]any) error {
		if err := demand("key", "operator")(v); err != nil {
			return err
		}
		values, _ := v["values"].([]any)
		switch v["operator"] {
		case "In", "NotIn":
			if len(values) == 0 {
				return fmt.Errorf("the operator %s needs values", v["operator"])
			}
		case "Exists", "DoesNotExist":
			if len(values) > 0 {
				return fmt.Errorf("the operator %s takes no values", v["operator"])
			}
		default:
			if len(values) != 1 {
				return fmt.Errorf("the operator %s takes exactly one value", v["operator"])
			}
			if _, err := strconv.ParseInt(values[0].(string), 10, 64); err != nil {
				return fmt.Errorf("the operator %s takes a whole number", v["operator"])
			}
		}
		return nil
	})
}
