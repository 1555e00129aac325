package main

import (
	"slices"

	"github.com/spf13/pflag"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/policy"
)

// policyConfig holds the flags that say which names a task may use.
type policyConfig struct {
	tasks         policy.Tasks
	literalClaims string
	reserved      []string
}

func (c *policyConfig) define(f *pflag.FlagSet) {
	t := &c.tasks
	f.StringSliceVar((*[]string)(&t.Annotations), "allowed-annotations", nil, "allow tasks to set these annotations besides keys without a domain and built-in keys: keys such as example.com/key and prefixes such as example.com/, separated by commas")
	f.StringSliceVar((*[]string)(&t.Labels), "allowed-labels", nil, "allow tasks to set these labels besides keys without a domain and built-in keys, in the same form")
	f.StringSliceVar(&t.PriorityClasses, "allowed-priority-classes", nil, "allow tasks to name these PriorityClasses, separated by commas")
	f.StringSliceVar(&t.RuntimeClasses, "allowed-runtime-classes", nil, "allow tasks to name these RuntimeClasses")
	f.StringSliceVar(&t.Schedulers, "allowed-schedulers", nil, "allow tasks to name these schedulers besides the default scheduler")
	f.StringSliceVar(&t.PullSecrets, "allowed-pull-secrets", nil, "allow tasks to pull images with these Secrets of the namespace")
	f.StringSliceVar((*[]string)(&t.Tolerations), "allowed-tolerations", nil, "allow tasks to tolerate these taints of control planes and of cordoned nodes, as keys and prefixes; "+policy.AnyTaint+" allows every toleration, also without a key")
	f.StringVar(&c.literalClaims, "literal-claims", string(policy.LiteralAll), "let tasks mount claims without an owner by name: all, labelled (those with the label "+task.LabelShared+"=true) or off")
	f.StringSliceVar(&c.reserved, "reserved-claims", nil, "keep tasks from mounting these claims, separated by commas")
}

func (c *policyConfig) check() error {
	literal := []string{string(policy.LiteralAll), string(policy.LiteralLabelled), string(policy.LiteralOff)}
	if !slices.Contains(literal, c.literalClaims) {
		return usagef("--literal-claims: %q is not one of all, labelled, off", c.literalClaims)
	}
	taints := slices.DeleteFunc(slices.Clone(c.tasks.Tolerations), func(t string) bool { return t == policy.AnyTaint })
	for _, list := range []struct {
		flag    string
		entries []string
		check   func(string) error
	}{
		{"allowed-annotations", c.tasks.Annotations, policy.CheckKey},
		{"allowed-labels", c.tasks.Labels, policy.CheckKey},
		{"allowed-tolerations", taints, policy.CheckKey},
		{"allowed-priority-classes", c.tasks.PriorityClasses, task.CheckPriorityClass},
		{"allowed-runtime-classes", c.tasks.RuntimeClasses, policy.CheckName},
		{"allowed-schedulers", c.tasks.Schedulers, policy.CheckName},
		{"allowed-pull-secrets", c.tasks.PullSecrets, policy.CheckName},
		{"reserved-claims", c.reserved, policy.CheckName},
	} {
		for _, entry := range list.entries {
			if err := list.check(entry); err != nil {
				return usagef("--%s: %w", list.flag, err)
			}
		}
	}
	return nil
}

func (c *policyConfig) claims() policy.Claims {
	return policy.Claims{Literal: policy.LiteralClaims(c.literalClaims), Reserved: c.reserved}
}
