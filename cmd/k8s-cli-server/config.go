package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"k8s-cli/pkg/release"
)

// config holds the settings from the command line and the environment.
type config struct {
	listen       string
	kubeconfig   string
	namespace    string
	startTimeout time.Duration

	natsURL      string
	natsCreds    string
	natsReplicas int
	acceptLoss   bool

	dataDir    string
	natsListen string
	durability string

	workers      int
	defaultImage string
	maxNodes     int
	maxCPUs      float64
	maxMemory    size
	maxGPUs      int

	filesListen  string
	advertiseURL string
	maxUpload    size
	keepUploads  time.Duration

	secretsKeyFile      string
	secretsKeyNamespace string

	keepJobs     time.Duration
	adoptLegacy  bool
	history      time.Duration
	historyTasks int

	keepLogs      size
	keepLogsTotal size

	admission admissionConfig
	identity  identityConfig
	perUser   userConfig
	policy    policyConfig
	atOnce    slotConfig

	adminListen string
	logFormat   string
	logLevel    string
}

// embeddedFlags are valid only without --nats-url, externalFlags only with --nats-url.
var (
	embeddedFlags = []string{"data-dir", "nats-listen", "durability"}
	externalFlags = []string{"nats-creds", "nats-replicas"}
)

const minArchiveBytes size = 16 << 20

const (
	envPrefix  = "K8S_CLI_"
	envPort    = "K8S_CLI_API_PORT" // sets only the port of --listen; part of the specified interface
	listenHost = "0.0.0.0"
	listenPort = "8000"
)

func (c *config) define(f *pflag.FlagSet) {
	f.StringVar(&c.listen, "listen", net.JoinHostPort(listenHost, listenPort), "address to serve HTTP on, or several, with commas between them; "+envPort+" sets the port alone")
	f.StringVar(&c.kubeconfig, "kubeconfig", "", "kubeconfig file (default: KUBECONFIG, in-cluster, ~/.kube/config)")
	f.StringVar(&c.namespace, "namespace", "default", "namespace of the Jobs and claims")
	f.DurationVar(&c.startTimeout, "start-timeout", 30*time.Second, "how long to try to reach what is needed before giving up")

	f.StringVar(&c.natsURL, "nats-url", "", "NATS server to use (default: one inside this process)")
	f.StringVar(&c.natsCreds, "nats-creds", "", "credentials file for --nats-url")
	f.IntVar(&c.natsReplicas, "nats-replicas", 1, "replicas of the streams that are created in the cluster behind --nats-url; streams that exist keep theirs")
	f.BoolVar(&c.acceptLoss, "accept-log-loss", false, "start although entries are missing in front of the log and no snapshot holds them: what only those entries say is lost")

	f.StringVar(&c.dataDir, "data-dir", defaultDataDir(), "where the NATS inside this process stores the log; one process at a time")
	f.StringVar(&c.natsListen, "nats-listen", "127.0.0.1:4222", "where subscribers reach the NATS inside this process; off for nowhere")
	f.StringVar(&c.durability, "durability", "always", "always: what was accepted survives a power cut; os: a crash of the process only")

	f.IntVar(&c.workers, "workers", 64, "objects applied to Kubernetes at once, at most; fewer where the API server answers slowly")
	f.StringVar(&c.defaultImage, "default-image", "python:3.13-slim", "image of tasks that name none")
	f.IntVar(&c.maxNodes, "max-nodes", 256, "most nodes of one task")
	f.Float64Var(&c.maxCPUs, "max-cpus", 0, "most cores that a task may ask for, per node; 0 for any number")
	f.Var(&c.maxMemory, "max-memory", "most memory that a task may ask for, per node; 0 for any amount")
	f.IntVar(&c.maxGPUs, "max-gpus", 0, "most GPUs that a task may ask for, per node; 0 for any number")
	f.StringVar(&c.secretsKeyFile, "secrets-key-file", "", "file with the key that seals the secrets of tasks, 32 bytes or more, the same for all pods (default: Secret "+keySecret+", made by the first)")
	f.StringVar(&c.secretsKeyNamespace, "secrets-key-namespace", "", "keep that Secret in this namespace (default: the namespace of this pod; outside of a cluster, --namespace)")

	f.StringVar(&c.filesListen, "files-listen", "", "address to serve the files of tasks on to their pods, and nothing else; --advertise-url then names it (default: --listen serves them)")
	f.StringVar(&c.advertiseURL, "advertise-url", "", "URL by which pods reach this server, for the files of tasks; without it, tasks cannot have any")
	c.maxUpload = 512 << 20
	f.Var(&c.maxUpload, "max-upload", "most bytes of one archive of files, packed")
	f.DurationVar(&c.keepUploads, "keep-uploads", 24*time.Hour, "how long files stay that no task needs, since a task last did")

	f.DurationVar(&c.keepJobs, "keep-jobs", time.Hour, "how long the Jobs of a finished task stay, at most as long as the task is answerable; less while tasks wait for --max-active-jobs")
	f.BoolVar(&c.adoptLegacy, "adopt-legacy", false, "make tasks and volumes of the Jobs and claims that the original launcher made, and treat them as its own: their user is the one in their labels")

	f.DurationVar(&c.history, "history", 7*24*time.Hour, "how long finished, stopped and refused tasks stay answerable")
	f.IntVar(&c.historyTasks, "history-tasks", 200000, "how many such tasks stay answerable at most")

	c.keepLogs, c.keepLogsTotal = 1<<20, 1<<30
	f.Var(&c.keepLogs, "keep-logs", "how much of the end of each node's log stays readable for the history, when its pod is gone; 0 for nothing")
	f.Var(&c.keepLogsTotal, "keep-logs-total", "how much such logs take in all, at most; the oldest go first")

	c.admission.define(f)
	c.identity.define(f)
	c.perUser.define(f)
	c.policy.define(f)
	c.atOnce.define(f)

	f.StringVar(&c.adminListen, "admin-listen", "", "address to serve metrics and profiles of this process on, to operators; without it, metrics are on --listen and profiles nowhere")
	f.StringVar(&c.logFormat, "log-format", "text", "text or json")
	f.StringVar(&c.logLevel, "log-level", "info", "debug, info, warn or error")
}

func defaultDataDir() string {
	if dir, err := os.UserHomeDir(); err == nil {
		return filepath.Join(dir, ".local", "share", "k8s-cli")
	}
	return "k8s-cli-data"
}

// errUsage marks an error in the command line.
var errUsage = errors.New("usage")

func usagef(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{errUsage}, args...)...)
}

// fromEnvironment sets every flag that is not on the command line from its environment
// variable.
func (c *config) fromEnvironment(f *pflag.FlagSet, lookup func(string) (string, bool)) error {
	var failed error
	f.VisitAll(func(flag *pflag.Flag) {
		name := envPrefix + strings.ToUpper(strings.ReplaceAll(flag.Name, "-", "_"))
		value, ok := lookup(name)
		if !ok || flag.Changed || failed != nil || flag.Name == "help" || flag.Name == "version" {
			return
		}
		if err := f.Set(flag.Name, value); err != nil {
			failed = usagef("%s: %w", name, err)
		}
	})
	if port, ok := lookup(envPort); ok && failed == nil && !f.Changed("listen") {
		c.listen = net.JoinHostPort(listenHost, port)
		failed = checkAddress(envPort, c.listen)
	}
	return failed
}

func (c *config) logger() *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(c.logLevel)) // check has validated the level
	options := &slog.HandlerOptions{Level: level}
	if c.logFormat == "json" {
		return slog.New(slog.NewJSONHandler(os.Stderr, options))
	}
	return slog.New(slog.NewTextHandler(os.Stderr, options))
}

func rejectArguments(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("%q is not a flag, and nothing else is taken", args[0])
	}
	return nil
}

// command returns the command line of the server.
func command(c *config) *cobra.Command {
	cmd := &cobra.Command{
		Use:           "k8s-cli-server",
		Short:         "Runs tasks on Kubernetes for k8s-cli and any HTTP client",
		Long:          "Runs tasks on Kubernetes for k8s-cli and any HTTP client.\n\nEvery flag is also an environment variable: --nats-url is " + envPrefix + "NATS_URL. A flag beats its variable.",
		Args:          rejectArguments,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := c.fromEnvironment(cmd.Flags(), os.LookupEnv); err != nil {
				return err
			}
			if err := c.check(cmd.Flags()); err != nil {
				return err
			}
			return run(cmd.Context(), *c, c.logger())
		},
	}
	cmd.Version = release.Read().Line(cmd.Use)
	cmd.SetVersionTemplate("{{.Version}}\n")
	cmd.CompletionOptions.DisableDefaultCmd = true
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usagef("%w", err) })
	c.define(cmd.Flags())
	cmd.Flags().Bool("version", false, "print the version of k8s-cli-server")
	cmd.Flags().SortFlags = false
	return cmd
}
