package main

import (
	"slices"
	"time"

	"github.com/spf13/pflag"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/bucket"
	"k8s-cli/pkg/task/callback"
	"k8s-cli/pkg/task/policy"
)

// policyConfig holds the flags that say which names a task may use.
type policyConfig struct {
	tasks         policy.Tasks
	literalClaims string
	reserved      []string
	bucketRules   []string
	notifyHosts   []string
}

func (c *policyConfig) define(f *pflag.FlagSet) {
	t := &c.tasks
	f.StringSliceVar((*[]string)(&t.Annotations), "allowed-annotations", nil, "further annotations that tasks may set: keys such as example.com/key and prefixes such as example.com/, separated by commas; keys without a domain are always allowed")
	f.StringSliceVar((*[]string)(&t.Labels), "allowed-labels", nil, "further labels that tasks may set: keys such as example.com/key and prefixes such as example.com/, separated by commas; keys without a domain are always allowed")
	f.StringSliceVar(&t.PriorityClasses, "allowed-priority-classes", nil, "PriorityClasses that tasks may name, separated by commas")
	f.StringSliceVar(&t.RuntimeClasses, "allowed-runtime-classes", nil, "RuntimeClasses that tasks may name, separated by commas")
	f.StringSliceVar(&t.Schedulers, "allowed-schedulers", nil, "schedulers that tasks may name besides the default scheduler, separated by commas")
	f.StringSliceVar(&t.PullSecrets, "allowed-pull-secrets", nil, "Secrets in --namespace with which tasks may pull images, separated by commas")
	f.StringSliceVar((*[]string)(&t.Tolerations), "allowed-tolerations", nil, "taints of control planes and of cordoned nodes that tasks may tolerate: keys and prefixes, as for --allowed-annotations; "+policy.AnyTaint+" allows every toleration, also a toleration without a key")
	f.StringSliceVar((*[]string)(&t.Devices), "allowed-devices", nil, "extended resources besides accelerators that tasks may request in pod_config: names such as rdma/ib and prefixes such as rdma/, separated by commas")
	f.DurationVar(&t.GracePeriod, "max-grace-period", 10*time.Minute, "longest time for which a pod of a task may go on after its stop (terminationGracePeriodSeconds in pod_config); 0 means no limit")
	f.StringVar(&c.literalClaims, "literal-claims", string(policy.LiteralAll), "claims that tasks may mount by name although no user owns the claims: all, labelled (claims with the label "+task.LabelShared+"=true) or off")
	f.StringSliceVar(&c.notifyHosts, "notify-hosts", nil, "hosts to which the server may send notifications of tasks, separated by commas: HOST, *.DOMAIN or an IP address, each with an optional port; the prefix private: allows private addresses; without hosts, the server sends no notifications")
	f.StringVar(&t.Transfer.Image, "bucket-image", "", "image with the program k8s-cli-bucket, which moves the data of the buckets of tasks; without an image, the server rejects tasks with buckets")
	t.Transfer.Max = 100 << 30
	f.Var((*size)(&t.Transfer.Max), "bucket-max", "largest size of all buckets of a task together, which each node copies to the disk of its machine")
	f.StringSliceVar(&c.bucketRules, "bucket-secrets", nil, "credentials for buckets: pairs URL=SECRET, separated by commas; URL is a bucket or a prefix of a bucket, and SECRET is a Secret in --namespace; {user} in the URL stands for the name of the user")
	f.StringSliceVar(&c.reserved, "reserved-claims", nil, "PersistentVolumeClaims that no task may mount, separated by commas")
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
		{"allowed-devices", c.tasks.Devices, policy.CheckKey},
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
	if c.tasks.GracePeriod < 0 {
		return usagef("--max-grace-period: %s is negative", c.tasks.GracePeriod)
	}
	if err := c.checkBuckets(); err != nil {
		return err
	}
	var err error
	if c.tasks.Callbacks, err = callback.ParseHosts(c.notifyHosts); err != nil {
		return usagef("--notify-hosts: %w", err)
	}
	return nil
}

func (c *policyConfig) checkBuckets() error {
	if image := c.tasks.Transfer.Image; image != "" && !task.IsImage(image) {
		return usagef("--bucket-image: %q is not the name of a container image", image)
	}
	if c.tasks.Transfer.Max < 1 {
		return usagef("--bucket-max: 0 must be greater than 0")
	}
	c.tasks.BucketRules = nil
	for _, text := range c.bucketRules {
		rule, err := bucket.ParseRule(text)
		if err != nil {
			return usagef("--bucket-secrets: %s: %w", text, err)
		}
		c.tasks.BucketRules = append(c.tasks.BucketRules, rule)
	}
	return nil
}

func (c *policyConfig) claims() policy.Claims {
	return policy.Claims{Literal: policy.LiteralClaims(c.literalClaims), Reserved: c.reserved}
}
