package samples

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"k8s-cli/pkg/task"
)

const (
	listTimeout       = 20 * time.Second // of one list
	pauseWithoutAPI   = 10               // intervals between two lists while the server can read no metrics API
	samplesPerMessage = 4000             // at most 0.7 MB, below the limit of a message of NATS
)

// PodMetrics is the part of a PodMetrics of metrics.k8s.io that a sample needs.
type PodMetrics struct {
	Metadata   metav1.ObjectMeta `json:"metadata"`
	Timestamp  time.Time         `json:"timestamp"`
	Containers []struct {
		Usage corev1.ResourceList `json:"usage"`
	} `json:"containers"`
}

// used returns what all containers of the pod used.
func (p PodMetrics) used() task.Amounts {
	var milliCPUs, memory int64
	for _, c := range p.Containers {
		milliCPUs += c.Usage.Cpu().MilliValue()
		memory += c.Usage.Memory().Value()
	}
	return task.Amounts{CPUs: float64(milliCPUs) / 1000, Memory: memory}
}

// A Lister lists the metrics of the pods of all tasks.
type Lister func(context.Context) ([]PodMetrics, error)

// NewLister returns a Lister for one namespace, which sends one request for each list.
func NewLister(api rest.Interface, namespace string) Lister {
	return func(ctx context.Context) ([]PodMetrics, error) {
		raw, err := api.Get().AbsPath("/apis/metrics.k8s.io/v1beta1/namespaces", namespace, "pods").
			Param("labelSelector", task.LabelTask+"=true").SetHeader("Accept", "application/json").DoRaw(ctx)
		if err != nil {
			return nil, err
		}
		var list struct {
			Items []PodMetrics `json:"items"`
		}
		if err := json.Unmarshal(raw, &list); err != nil {
			return nil, fmt.Errorf("read a list of PodMetrics: %w", err)
		}
		return list.Items, nil
	}
}

// A Sampler takes samples on the leader.
type Sampler struct {
	samples *Samples
	list    Lister
	send    func(message []byte) error
	logger  *slog.Logger
	problem string // of the last list
}

// NewSampler returns a Sampler. send sends a message to all servers, this one included.
func NewSampler(s *Samples, list Lister, send func(message []byte) error, logger *slog.Logger) *Sampler {
	return &Sampler{samples: s, list: list, send: send, logger: logger}
}

// Run takes samples until ctx ends. Run sends a message in each interval even if there are no
// samples, so that all servers know the problem.
func (s *Sampler) Run(ctx context.Context) error {
	ticker := time.NewTicker(Interval)
	defer ticker.Stop()
	for pause := 0; ; pause-- {
		var all []Sample
		if pause <= 0 {
			all, pause = s.sample(ctx)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		s.publish(all)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
}

// sample returns the samples of all nodes that run, and the number of intervals until the next list.
func (s *Sampler) sample(ctx context.Context) (all []Sample, pause int) {
	listing, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	pods, err := s.list(listing)
	if ctx.Err() != nil {
		return nil, 0
	}
	if s.report(ctx, err) {
		return nil, pauseWithoutAPI
	}
	for _, p := range pods {
		if one, ok := s.samples.next(p); ok {
			all = append(all, one)
		}
	}
	return all, 1
}

// next returns the sample of the node whose pod has these metrics. ok is false if the pod is not the
// present pod of a running task.
func (s *Samples) next(p PodMetrics) (one Sample, ok bool) {
	id := p.Metadata.Labels[task.LabelTaskID]
	v := s.view(id)
	rank := slices.IndexFunc(v.Pods, func(pod *task.Pod) bool { return pod != nil && pod.Name == p.Metadata.Name })
	if v.Record == nil || v.Phase.Over() || rank < 0 {
		return Sample{}, false
	}
	one = Sample{id, rank, p.Timestamp.UTC(), p.used(), p.used()}
	for _, known := range s.Of(id) {
		if known.Rank == rank {
			one.Max = one.Max.Max(known.Max)
		}
	}
	return one, true
}

// report remembers the error of a list as a sentence for users, and logs each new one. absent means
// that the cluster must change first: it has no metrics API, or does not let the server read it.
func (s *Sampler) report(ctx context.Context, err error) (absent bool) {
	before, level := s.problem, slog.LevelInfo
	switch {
	case err == nil:
		s.problem = ""
	case apierrors.IsNotFound(err):
		s.problem, absent = "The cluster has no metrics API; install metrics-server", true
	case apierrors.IsForbidden(err):
		s.problem, absent = "The server may not read the metrics API; grant its service account the right to list pods.metrics.k8s.io", true
	default:
		s.problem, level = "The server cannot read the metrics API of the cluster; the log of the server has the reason", slog.LevelWarn
	}
	switch s.problem {
	case before:
	case "":
		s.logger.Info("metrics API available again")
	default:
		s.logger.Log(ctx, level, "no samples of CPUs and memory", "problem", s.problem, "err", err)
	}
	return absent
}

// publish sends the samples to all servers. A message that is lost is not repeated: the next one has
// newer samples.
func (s *Sampler) publish(all []Sample) {
	parts := slices.Collect(slices.Chunk(all, samplesPerMessage))
	if len(parts) == 0 {
		parts = [][]Sample{nil}
	}
	for _, part := range parts {
		raw, err := json.Marshal(message{part, s.problem})
		if err == nil {
			err = s.send(raw)
		}
		if err != nil {
			s.logger.Debug("sending samples failed", "err", err)
		}
	}
}
