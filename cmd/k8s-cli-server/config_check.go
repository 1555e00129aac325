package main

import (
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"

	"k8s-cli/pkg/queue/natsconn"
	"k8s-cli/pkg/task"
)

// check returns the first error in the settings.
func (c *config) check(f *pflag.FlagSet) error {
	for _, check := range []func() error{
		func() error { return c.checkFlagsOfNATS(f) },
		c.checkListen,
		c.checkFiles,
		c.checkListenNATS,
		func() error { return c.identity.check(f) },
		c.admission.check,
		c.perUser.check,
		c.policy.check,
		c.atOnce.check,
		c.exec.check,
		c.checkChoices,
		c.checkLimits,
		c.checkHistory,
		c.checkUploads,
		c.checkObjects,
	} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// checkFlagsOfNATS returns an error for a flag that is valid only for the other kind of
// NATS.
func (c *config) checkFlagsOfNATS(f *pflag.FlagSet) error {
	misplaced, why := embeddedFlags, "configures the embedded NATS and cannot be combined with --nats-url"
	if c.nats.URL == "" {
		misplaced, why = externalFlags, "requires --nats-url"
	}
	for _, name := range misplaced {
		if f.Changed(name) {
			return usagef("--%s %s", name, why)
		}
	}
	return checkNATS(c.nats)
}

// checkNATS checks the flags of a connection to NATS.
func checkNATS(n natsconn.Remote) error {
	if (n.Cert == "") != (n.Key == "") {
		return usagef("--nats-cert and --nats-key require each other")
	}
	return nil
}

func (c *config) checkListen() error {
	if err := checkAddresses("--listen", c.listen); err != nil || c.adminListen == "" {
		return err
	}
	return checkAddress("--admin-listen", c.adminListen)
}

func (c *config) checkListenNATS() error {
	if c.natsListen == "off" {
		return nil
	}
	return checkAddress("--nats-listen", c.natsListen)
}

func (c *config) checkChoices() error {
	for _, choice := range []struct {
		flag, value string
		of          []string
	}{
		{"durability", c.durability, []string{"always", "os"}},
		{"ui", c.ui, []string{"on", "off"}},
		{"log-format", c.logFormat, []string{"text", "json"}},
		{"log-level", c.logLevel, []string{"debug", "info", "warn", "error"}},
	} {
		if !slices.Contains(choice.of, choice.value) {
			return usagef("--%s: %q is not one of %s", choice.flag, choice.value, strings.Join(choice.of, ", "))
		}
	}
	return nil
}

func (c *config) checkLimits() error {
	switch {
	case c.workers < 1:
		return usagef("--workers: %d must be at least 1", c.workers)
	case c.maxCPUs < 0 || c.maxGPUs < 0:
		return usagef("--max-cpus and --max-gpus: %g and %d must both be at least 0", c.maxCPUs, c.maxGPUs)
	case c.maxNodes < 1 || c.maxNodes > task.MaxNodes:
		return usagef("--max-nodes: %d must be between 1 and %d", c.maxNodes, task.MaxNodes)
	case c.natsReplicas < 1 || c.natsReplicas > 5:
		return usagef("--nats-replicas: %d must be between 1 and 5", c.natsReplicas)
	case c.startTimeout <= 0:
		return usagef("--start-timeout: %s must be greater than 0", c.startTimeout)
	case c.leaseDuration < time.Second || c.leaseDuration > maxLease:
		return usagef("--lease-duration: %s must be between 1s and %s", c.leaseDuration, maxLease)
	}
	return nil
}

func (c *config) checkHistory() error {
	switch {
	case c.history <= 0:
		return usagef("--history: %s must be greater than 0", c.history)
	case c.historyTasks < 1:
		return usagef("--history-tasks: %d must be at least 1", c.historyTasks)
	case c.keepLogsTotal < minArchiveBytes || c.keepLogsTotal < 4*c.keepLogs:
		return usagef("--keep-logs-total: %s must be at least %s and at least four times --keep-logs", &c.keepLogsTotal, new(minArchiveBytes))
	}
	return nil
}

func (c *config) checkUploads() error {
	switch {
	case c.advertiseURL != "" && !isURL(c.advertiseURL):
		return usagef("--advertise-url: %q is not http://HOST[:PORT] or https://HOST[:PORT], perhaps with a path", c.advertiseURL)
	case c.maxUpload < 1:
		return usagef("--max-upload: %s must be greater than 0", &c.maxUpload)
	case c.maxOutputs < 1 || c.maxOutputsTotal < c.maxOutputs:
		return usagef("--max-outputs: %s must be greater than 0, and at most --max-outputs-total (%s)", &c.maxOutputs, &c.maxOutputsTotal)
	case c.keepUploads < time.Second:
		return usagef("--keep-uploads: %s must be at least 1s", c.keepUploads)
	}
	return nil
}

// checkObjects checks the settings that become part of Kubernetes objects.
func (c *config) checkObjects() error {
	switch {
	case c.keepJobs < 0:
		return usagef("--keep-jobs: %s must not be negative", c.keepJobs)
	case !task.IsImage(c.defaultImage):
		return usagef("--default-image: %q is not the name of a container image", c.defaultImage)
	case len(validation.IsDNS1123Label(c.namespace)) > 0:
		return usagef("--namespace: %q is not the name of a namespace: lower-case letters, digits and -", c.namespace)
	case c.secretsKeyNamespace != "" && len(validation.IsDNS1123Label(c.secretsKeyNamespace)) > 0:
		return usagef("--secrets-key-namespace: %q is not the name of a namespace: lower-case letters, digits and -", c.secretsKeyNamespace)
	case c.secretsKeyNamespace != "" && c.secretsKeyFile != "":
		return usagef("--secrets-key-namespace cannot be combined with --secrets-key-file")
	}
	return nil
}

func (c *config) checkFiles() error {
	if c.filesListen == "" {
		return nil
	}
	if c.advertiseURL == "" {
		return usagef("--files-listen requires --advertise-url, which tells pods the address")
	}
	return checkAddresses("--files-listen", c.filesListen)
}

// isURL reports whether s is an HTTP or HTTPS URL to which a path can be appended.
func isURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil && u.RawQuery == "" && u.Fragment == ""
}

// checkAddresses checks a list of addresses, separated by commas.
func checkAddresses(flag, addresses string) error {
	for address := range strings.SplitSeq(addresses, ",") {
		if err := checkAddress(flag, address); err != nil {
			return err
		}
	}
	return nil
}

func checkAddress(flag, address string) error {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return usagef("%s: %q is not host:port", flag, address)
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return usagef("%s: %q is not a port", flag, port)
	}
	return nil
}
