package main

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"k8s-cli/pkg/task/bucket"
	"k8s-cli/pkg/task/policy"
)

func TestPolicyFlags(t *testing.T) {
	want := policyConfig{
		tasks: policy.Tasks{
			Annotations: policy.Keys{"example.com/", "io.example.option"}, Labels: policy.Keys{"example.com/key"},
			PriorityClasses: []string{"high", "low"}, RuntimeClasses: []string{"nvidia"}, Schedulers: []string{"volcano"}, PullSecrets: []string{"registry"},
			Tolerations: policy.Keys{"*", "node-role.kubernetes.io/"}, Devices: policy.Keys{"rdma/", "habana.ai/gaudi"}, GracePeriod: time.Minute,
			Transfer:    bucket.Transfer{Image: "registry.example.com/bucket:1", Max: 1 << 30},
			BucketRules: bucket.Rules{{URL: "s3://data/{user}", Secret: "users"}, {URL: "gs://data", Secret: "all"}},
		},
		literalClaims: "labelled", reserved: []string{"a", "b"}, bucketRules: []string{"s3://data/{user}/=users", "gs://data=all"},
	}
	args := []string{
		"--allowed-annotations=example.com/,io.example.option", "--allowed-labels=example.com/key", "--allowed-priority-classes=high,low", "--allowed-runtime-classes=nvidia",
		"--allowed-schedulers=volcano", "--allowed-pull-secrets=registry", "--allowed-tolerations=*,node-role.kubernetes.io/", "--allowed-devices=rdma/,habana.ai/gaudi", "--max-grace-period=1m", "--literal-claims=labelled", "--reserved-claims=a,b",
		"--bucket-image=registry.example.com/bucket:1", "--bucket-max=1Gi", "--bucket-secrets=s3://data/{user}/=users,gs://data=all",
	}
	env := map[string]string{}
	for _, arg := range args {
		name, value, _ := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
		env[envPrefix+strings.ToUpper(strings.ReplaceAll(name, "-", "_"))] = value
	}
	byFlags, err := parse(nil, args...)
	if diff := cmp.Diff(want, byFlags.policy, settings); err != nil || diff != "" {
		t.Errorf("flags: %v (-want +got):\n%s", err, diff)
	}
	byEnvironment, err := parse(env)
	if diff := cmp.Diff(want, byEnvironment.policy, settings); err != nil || diff != "" {
		t.Errorf("environment: %v (-want +got):\n%s", err, diff)
	}
	twice, err := parse(nil, "--reserved-claims=a", "--reserved-claims=b") // the chart may set the flag once more
	if diff := cmp.Diff([]string{"a", "b"}, twice.policy.reserved); err != nil || diff != "" {
		t.Errorf("a flag that is given twice: %v (-want +got):\n%s", err, diff)
	}
	if got := byFlags.policy.claims(); got.Literal != policy.LiteralLabelled || len(got.Reserved) != 2 {
		t.Errorf("claims %+v", got)
	}
}

func TestPolicyFlagsThatMakeNoSense(t *testing.T) {
	for _, arg := range []string{
		"--allowed-annotations=a b", "--allowed-annotations=*", "--allowed-annotations=app.kubernetes.io/", "--allowed-labels=skypilot-owner", "--allowed-labels=example.com/*",
		"--allowed-priority-classes=system-node-critical", "--allowed-priority-classes=*", "--allowed-runtime-classes=A", "--allowed-schedulers=a b", "--allowed-pull-secrets=a/b",
		"--allowed-tolerations=a b", "--allowed-devices=*", "--max-grace-period=-1s", "--literal-claims=some", "--reserved-claims=A", "--notify-hosts=https://a",
		"--bucket-image=A", "--bucket-max=0", "--bucket-secrets=s3://data", "--bucket-secrets=hf://data=a", "--bucket-secrets=s3://data=A",
	} {
		flag, value, _ := strings.Cut(arg, "=")
		if _, err := parse(nil, arg); !errors.Is(err, errUsage) || !strings.Contains(err.Error(), flag+": ") || !strings.Contains(err.Error(), value) {
			t.Errorf("%s: %v", arg, err)
		}
	}
}
