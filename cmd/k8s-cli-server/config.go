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

	"k8s-cli/pkg/queue/natsconn"
	"k8s-cli/pkg/release"
)

// config holds the settings from the command line and the environment.
type config struct {
	listen        string
	kubeconfig    string
	namespace     string
	startTimeout  time.Duration
	leaseDuration time.Duration

	nats         natsconn.Remote
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

	maxOutputs      size
	maxOutputsTotal size

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
	exec      execConfig

	ui    string
	uiDir string

	adminListen string
	logFormat   string
	logLevel    string
}

// embeddedFlags are valid only without --nats-url, externalFlags only with --nats-url.
var (
	embeddedFlags = []string{"data-dir", "nats-listen", "durability"}
	externalFlags = []string{"nats-creds", "nats-ca", "nats-cert", "nats-key", "nats-replicas"}
)

const minArchiveBytes size = 16 << 20

const (
	envPrefix  = "K8S_CLI_"
	envPort    = "K8S_CLI_API_PORT" // sets only the port of --listen; part of the specified interface
	listenHost = "0.0.0.0"
	listenPort = "8000"
)

// A flagGroup is one section of --help.
type flagGroup struct {
	title string
	flags *pflag.FlagSet
}

// define defines all flags, and returns them in groups.
func (c *config) define(f *pflag.FlagSet) (groups []flagGroup) {
	for _, g := range []struct {
		title  string
		define func(*pflag.FlagSet)
	}{
		{"HTTP", c.defineHTTP},
		{"Authentication", c.identity.define},
		{"Kubernetes", c.defineKubernetes},
		{"NATS", c.defineNATS},
		{"Tasks", c.defineTasks},
		{"Allowed names in tasks", c.policy.define},
		{"History and files", c.defineHistory},
		{"Limits of Jobs and pods", c.admission.define},
		{"Limits of each user", c.perUser.define},
		{"Limits of requests to each server pod", c.atOnce.define},
		{"Sessions in tasks", c.exec.define},
		{"Start and log messages", c.defineProcess},
	} {
		group := flagGroup{g.title, pflag.NewFlagSet(g.title, pflag.ContinueOnError)}
		group.flags.SortFlags = false
		g.define(group.flags)
		f.AddFlagSet(group.flags)
		groups = append(groups, group)
	}
	return groups
}

func (c *config) defineHTTP(f *pflag.FlagSet) {
	f.StringVar(&c.listen, "listen", net.JoinHostPort(listenHost, listenPort), "addresses for HTTP, separated by commas; the variable "+envPort+" sets only the port")
	c.identity.defineTLS(f)
	f.StringVar(&c.filesListen, "files-listen", "", "separate address from which pods download the files of tasks; --advertise-url must name this address (default: --listen serves the files)")
	f.StringVar(&c.advertiseURL, "advertise-url", "", "URL by which pods reach this server to download files; without the URL, the server rejects tasks with files")
	f.StringVar(&c.adminListen, "admin-listen", "", "separate address for metrics and process profiles (default: --listen serves the metrics, and no address serves profiles)")
	f.StringVar(&c.ui, "ui", "on", "dashboard at /ui/ and sessions of browsers: on or off")
	f.StringVar(&c.uiDir, "ui-dir", "", "directory with the files of the dashboard, read again for each request, for developers (default: the files in this program)")
}

func (c *config) defineKubernetes(f *pflag.FlagSet) {
	f.StringVar(&c.kubeconfig, "kubeconfig", "", "kubeconfig file (default: KUBECONFIG, in-cluster, ~/.kube/config)")
	f.StringVar(&c.namespace, "namespace", "default", "namespace in which the server creates Jobs and PersistentVolumeClaims")
	f.DurationVar(&c.leaseDuration, "lease-duration", defaultLease, "time without a renewal of the Lease after which another pod becomes the leader, with --nats-url; a longer time suits a slow API server")
	f.IntVar(&c.workers, "workers", 64, "maximum number of tasks and volumes that the controller reconciles at the same time; the controller reconciles fewer while the API server is slow")
	f.DurationVar(&c.keepJobs, "keep-jobs", time.Hour, "time to keep the Jobs of a task after the task ends, at most --history; the server deletes Jobs earlier while tasks wait for --max-active-jobs")
	f.BoolVar(&c.adoptLegacy, "adopt-legacy", false, "adopt the Jobs and claims that the original launcher created, as tasks and volumes of the users in their labels")
	f.StringVar(&c.secretsKeyFile, "secrets-key-file", "", "file with the key that encrypts the secrets of tasks, at least 32 bytes, the same for all pods (default: the Secret "+keySecret+", which the first pod creates)")
	f.StringVar(&c.secretsKeyNamespace, "secrets-key-namespace", "", "namespace of the Secret "+keySecret+" (default: the namespace of this pod; outside of a cluster, --namespace)")
}

func (c *config) defineNATS(f *pflag.FlagSet) {
	defineNATS(f, &c.nats, " (default: an embedded NATS server)")
	f.IntVar(&c.natsReplicas, "nats-replicas", 1, "replicas of new streams in the external NATS; existing streams keep their replicas")
	f.BoolVar(&c.acceptLoss, "accept-log-loss", false, "start even if the first entries of the command log are missing and no snapshot contains them; the server forgets the commands in these entries")
	f.StringVar(&c.dataDir, "data-dir", defaultDataDir(), "directory in which the embedded NATS stores its data; only one process at a time can use the directory")
	f.StringVar(&c.natsListen, "nats-listen", "127.0.0.1:4222", "address at which NATS clients subscribe to the events of the embedded NATS; off disables the address")
	f.StringVar(&c.durability, "durability", "always", "always: acknowledged commands survive a power cut; os: acknowledged commands survive a crash of the process only")
}

func (c *config) defineTasks(f *pflag.FlagSet) {
	f.StringVar(&c.defaultImage, "default-image", "python:3.13-slim", "image of tasks without image_id")
	f.IntVar(&c.maxNodes, "max-nodes", 256, "maximum number of nodes per task")
	f.Float64Var(&c.maxCPUs, "max-cpus", 0, "maximum number of CPUs per node of a task; 0 means no limit")
	f.Var(&c.maxMemory, "max-memory", "maximum memory per node of a task; 0 means no limit")
	f.IntVar(&c.maxGPUs, "max-gpus", 0, "maximum number of GPUs per node of a task; 0 means no limit")
}

func (c *config) defineHistory(f *pflag.FlagSet) {
	c.keepLogs, c.keepLogsTotal = 1<<20, 1<<30
	c.maxUpload, c.maxOutputs, c.maxOutputsTotal = 512<<20, 256<<20, 1<<30
	f.DurationVar(&c.history, "history", 7*24*time.Hour, "time to keep ended tasks and deleted volumes in the history, where users can still read their status")
	f.IntVar(&c.historyTasks, "history-tasks", 200000, "maximum number of ended tasks in the history; the oldest tasks are removed first")
	f.Var(&c.keepLogs, "keep-logs", "maximum size of the archived log of one attempt of a node: the server archives the end of the log; 0 disables the archive")
	f.Var(&c.keepLogsTotal, "keep-logs-total", "maximum size of all archived logs; the oldest logs are deleted first")
	f.Var(&c.maxUpload, "max-upload", "maximum size of one uploaded archive of files, compressed")
	f.DurationVar(&c.keepUploads, "keep-uploads", 24*time.Hour, "time to keep an uploaded archive of files after a task last used the archive")
	f.Var(&c.maxOutputs, "max-outputs", "maximum size of the archive with the outputs of one node of a task, compressed")
	f.Var(&c.maxOutputsTotal, "max-outputs-total", "maximum size of the outputs of all tasks in the history")
}

func (c *config) defineProcess(f *pflag.FlagSet) {
	f.DurationVar(&c.startTimeout, "start-timeout", 30*time.Second, "time to wait for NATS and the API server at startup")
	f.StringVar(&c.logFormat, "log-format", "text", "format of log messages: text or json")
	f.StringVar(&c.logLevel, "log-level", "info", "minimum level of log messages: debug, info, warn or error")
}

// defineNATS defines the flags of a connection to NATS.
func defineNATS(f *pflag.FlagSet, n *natsconn.Remote, note string) {
	f.StringVar(&n.URL, "nats-url", "", "URLs of the external NATS, separated by commas"+note)
	f.StringVar(&n.Creds, "nats-creds", "", "credentials file for --nats-url")
	f.StringVar(&n.CA, "nats-ca", "", "file with the CA certificates of the external NATS, in PEM; the connection then requires TLS (default: the CA certificates of the system, for URLs with tls://)")
	f.StringVar(&n.Cert, "nats-cert", "", "file with the certificate by which the external NATS identifies this client, in PEM; read again for each connection")
	f.StringVar(&n.Key, "nats-key", "", "file with the private key of --nats-cert, in PEM")
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
	if err := fromEnvironment(f, lookup); err != nil {
		return err
	}
	if port, ok := lookup(envPort); ok && !f.Changed("listen") {
		c.listen = net.JoinHostPort(listenHost, port)
		return checkAddress(envPort, c.listen)
	}
	return nil
}

func fromEnvironment(f *pflag.FlagSet, lookup func(string) (string, bool)) error {
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
		return usagef("unexpected argument %q", args[0])
	}
	return nil
}

// command returns the command line of the server.
func command(c *config) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "k8s-cli-server",
		Short: "Runs tasks on Kubernetes for k8s-cli and any HTTP client",
		Long: "Runs tasks on Kubernetes for k8s-cli and any HTTP client.\n\nEvery flag is also an environment variable: --nats-url is " + envPrefix + "NATS_URL.\n" +
			"A flag overrides its variable.",
		Example: "  k8s-cli-server --listen 127.0.0.1:8000 --namespace tasks\n" +
			"  k8s-cli-server --nats-url nats://nats:4222 --nats-replicas 3 --auth tokenreview",
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
	cmd.Version = release.Read().VersionLine(cmd.Use)
	cmd.SetVersionTemplate("{{.Version}}\n")
	cmd.CompletionOptions.DisableDefaultCmd = true
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usagef("%w", err) })
	groups := c.define(cmd.Flags())
	other := flagGroup{"Other flags", pflag.NewFlagSet("other", pflag.ContinueOnError)}
	other.flags.BoolP("help", "h", false, "print this help")
	other.flags.Bool("version", false, "print the version of k8s-cli-server")
	cmd.Flags().AddFlagSet(other.flags)
	cmd.Flags().SortFlags = false
	cmd.AddCommand(backupCommand(), restoreCommand())
	setHelp(cmd, append(groups, other))
	return cmd
}

const helpWidth = 100

// setHelp lets --help show the flags of the server in groups.
func setHelp(cmd *cobra.Command, groups []flagGroup) {
	template := strings.ReplaceAll(cmd.UsageTemplate(), ".FlagUsages", fmt.Sprintf(".FlagUsagesWrapped %d", helpWidth))
	for _, sub := range cmd.Commands() {
		sub.SetUsageTemplate(template)
	}
	var flags []string
	for _, g := range groups {
		flags = append(flags, g.title+":\n"+strings.TrimRight(g.flags.FlagUsagesWrapped(helpWidth), "\n"))
	}
	cmd.SetUsageTemplate(strings.Replace(template, fmt.Sprintf("Flags:\n{{.LocalFlags.FlagUsagesWrapped %d | trimTrailingWhitespaces}}", helpWidth), strings.Join(flags, "\n\n"), 1))
}
