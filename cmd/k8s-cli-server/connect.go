package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"k8s-cli/pkg/cache/listwatch"
	"k8s-cli/pkg/queue"
	"k8s-cli/pkg/queue/blob"
	"k8s-cli/pkg/queue/events"
	"k8s-cli/pkg/queue/natsconn"
	"k8s-cli/pkg/queue/natsserver"
	"k8s-cli/pkg/queue/streams"
	"k8s-cli/pkg/seal"
	"k8s-cli/pkg/submit"
)

// dependencies are the services that the server needs: Kubernetes, NATS and the sealing
// key.
type dependencies struct {
	bootstrap    *bootstrapServer
	k8s          kubernetes.Interface
	listwatch    *listwatch.Client          // lists and watches Jobs and Pods, the most numerous objects
	execREST     *rest.Config               // for sessions in pods, which have connections of their own
	limiter      *submit.ConcurrencyLimiter // of the requests of k8s
	leases       kubernetes.Interface       // has connections of its own, so that a burst of creations does not delay the renewal of the Lease
	log          *queue.Log
	events       *events.Stream
	archivedLogs *blob.Store        // ends of task logs
	uploads      *blob.Uploads      // files of users
	outputs      *blob.Uploads      // outputs of tasks
	embedded     *natsserver.Server // nil with an external NATS
	nats         *natsconn.Conn     // for the log and the events
	files        *natsconn.Conn     // for archivedLogs, uploads and outputs, whose transfers may be large and slow
	sealer       *seal.Sealer       // nil without a key: tasks with secrets or files are rejected

	keyNamespace string // of the Secret with the sealing key

	authenticator lateAuthenticator
}

func (d *dependencies) close() {
	for _, nc := range []*natsconn.Conn{d.nats, d.files} {
		if nc != nil {
			nc.Close()
		}
	}
	if d.embedded != nil {
		d.embedded.Close()
	}
}

const (
	userAgent  = "k8s-cli-server"
	retryPause = 500 * time.Millisecond
	answerWait = 5 * time.Second // for one attempt during the start
)

// connect connects to all dependencies, within --start-timeout.
func connect(ctx context.Context, c config, s *bootstrapServer, logger *slog.Logger) (*dependencies, error) {
	n := &dependencies{bootstrap: s}
	ctx, cancel := context.WithTimeout(ctx, c.startTimeout)
	defer cancel()
	if err := n.connectLog(ctx, c, logger); err != nil {
		n.close()
		return nil, err
	}
	if err := n.connectCluster(ctx, c, logger); err != nil {
		n.close()
		return nil, err
	}
	box, err := n.openSealer(ctx, c, logger)
	if err != nil {
		n.close()
		return nil, err
	}
	n.sealer = box
	return n, nil
}

func (d *dependencies) connectLog(ctx context.Context, c config, logger *slog.Logger) (err error) {
	if c.nats.URL == "" {
		if d.embedded, err = natsserver.Start(natsserver.Config{
			Dir:         c.dataDir,
			SyncAlways:  c.durability == "always",
			Listen:      subscriberAddress(c.natsListen, logger),
			Logger:      logger,
			Subscribers: d.subscribers(c),
		}); err != nil {
			return err
		}
	}
	if err = d.connectNATS(ctx, c, logger); err != nil {
		return err
	}
	err = d.retry(ctx, logger, "JetStream", func(ctx context.Context) error {
		d.log, err = queue.Open(ctx, d.nats, queue.Config{
			Replicas:     c.natsReplicas,
			SingleWriter: d.embedded != nil,
			Dir:          embeddedDir(c),
			Store:        d.store(),
			Logger:       logger,

			AcceptLogLoss: c.acceptLoss,
		})
		if err != nil {
			return err
		}
		settings := streams.Settings{Replicas: c.natsReplicas, Dir: embeddedDir(c), Logger: logger}
		if d.events, err = events.New(d.nats, d.log, events.Config{Settings: settings, Retention: c.history, Embedded: d.embedded != nil}); err != nil {
			return err
		}
		files, err := blob.NewFiles(d.files, settings)
		if err == nil {
			d.archivedLogs, err = files.OpenLogArchive(ctx, int64(c.keepLogsTotal))
		}
		if err == nil {
			d.uploads, err = files.OpenUploadStore(ctx)
		}
		if err == nil {
			d.outputs, err = files.OpenOutputStore(ctx, int64(c.maxOutputsTotal))
		}
		return err
	})
	if err != nil || d.embedded == nil {
		return err
	}
	return d.embedded.Fsync() // a new log must be on disk before the server answers a request
}

// connectNATS opens two connections to NATS, so that transfers of files do not delay the
// log.
func (d *dependencies) connectNATS(ctx context.Context, c config, logger *slog.Logger) error {
	what, dial := "NATS at "+natsconn.WithoutPasswords(c.nats.URL), c.nats.Dial
	if d.embedded != nil {
		what, dial = "the embedded NATS", d.embedded.Connect
	}
	for _, nc := range []**natsconn.Conn{&d.nats, &d.files} {
		if err := d.retry(ctx, logger, what, func(context.Context) (err error) {
			*nc, err = dial()
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

// subscribers returns the authenticator for subscribers of events. It returns nil with
// --auth header: subscribers have no tokens then, and receive all events.
func (d *dependencies) subscribers(c config) natsserver.Authenticator {
	if c.identity.by == byHeader {
		return nil
	}
	return &d.authenticator
}

// store returns the disk store of the embedded NATS, or nil with an external NATS.
func (d *dependencies) store() queue.EmbeddedStore {
	if d.embedded == nil {
		return nil
	}
	return d.embedded
}

// runStore runs the store monitor of the embedded NATS until ctx ends. It returns at once
// with an external NATS.
func (d *dependencies) runStore(ctx context.Context) error {
	if d.embedded == nil {
		return nil
	}
	return d.embedded.Run(ctx)
}

func embeddedDir(c config) string {
	if c.nats.URL != "" {
		return ""
	}
	return c.dataDir
}

// subscriberAddress returns the address on which the embedded NATS listens. It returns an
// empty address if the port is in use, because the server works without subscribers.
func subscriberAddress(listen string, logger *slog.Logger) string {
	if listen == "off" {
		return ""
	}
	probe, err := net.Listen("tcp", listen)
	if err != nil {
		logger.Warn("cannot listen for NATS subscribers; set --nats-listen to a free address, or to off", "err", err)
		return ""
	}
	_ = probe.Close()
	return listen
}

func (d *dependencies) connectCluster(ctx context.Context, c config, logger *slog.Logger) error {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = c.kubeconfig
	settings, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if err != nil {
		return fmt.Errorf("find a Kubernetes cluster: %w; name a kubeconfig with --kubeconfig or KUBECONFIG", err)
	}
	d.keyNamespace = keyNamespace(c, settings)
	settings.UserAgent = userAgent
	settings.QPS = -1 // no client-side limit: the concurrency limiter follows the latency of the API server
	settings.ContentType = "application/vnd.kubernetes.protobuf"
	settings.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	settings.DisableCompression = true // compressing watch events costs both sides more time than sending them uncompressed
	d.execREST = rest.CopyConfig(settings)
	settings.Wrap(submit.StalenessGuard)
	own := rest.CopyConfig(settings)
	own.Timeout = leaseTimeout(c.leaseDuration)
	d.limiter = submit.NewConcurrencyLimiter()
	settings.Wrap(d.limiter.RoundTripper) // the limiter wraps StalenessGuard, so that the guard checks the read point after the wait
	if d.k8s, err = kubernetes.NewForConfig(settings); err != nil {
		return fmt.Errorf("make a client of Kubernetes: %w", err)
	}
	if d.listwatch, err = listwatch.NewForConfig(settings); err != nil {
		return err
	}
	if d.leases, err = kubernetes.NewForConfig(own); err != nil {
		return fmt.Errorf("make a client of Kubernetes: %w", err)
	}
	return d.retry(ctx, logger, "the Kubernetes API server at "+settings.Host, func(ctx context.Context) error {
		return d.k8s.Discovery().RESTClient().Get().AbsPath("/version").Do(ctx).Error()
	})
}

// once calls call with a timeout of answerWait, so that a lost answer does not block the
// start.
func once(ctx context.Context, call func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, answerWait)
	defer cancel()
	return call(ctx)
}

// retry calls call until the call succeeds or ctx ends. Meanwhile the readiness endpoint
// names the dependency.
func (d *dependencies) retry(ctx context.Context, logger *slog.Logger, what string, call func(context.Context) error) error {
	for attempt := 0; ; attempt++ {
		err := once(ctx, call)
		if err == nil {
			return nil
		}
		d.bootstrap.setWaiting(what, err)
		if attempt == 0 {
			logger.Info("waiting for a dependency", "dependency", what, "err", err)
		}
		select {
		case <-time.After(retryPause):
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.Canceled) { // a signal ended ctx, not --start-timeout
				return ctx.Err()
			}
			return fmt.Errorf("%s cannot be reached: %w", what, err)
		}
	}
}
