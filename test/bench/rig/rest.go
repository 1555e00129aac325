package rig

import (
	"context"
	"fmt"
	"io"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"k8s-cli/test/bench/baseline"
	"k8s-cli/test/testkit"
)

const (
	restSlice = time.Second
	restShare = 0.2 // share of a processor below which the API server is at rest
	restTime  = 2 * time.Minute
)

// Rest waits until the API server is at rest, which takes a while after a large population.
func (p *Place) Rest(ctx context.Context) error {
	pid, err := p.apiServer()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, restTime, fmt.Errorf("the API server is still busy after %s", restTime))
	defer cancel()
	for busy := restSlice; busy.Seconds() > restShare*restSlice.Seconds(); {
		before := CPU(pid)
		if err := testkit.Pause(ctx, restSlice); err != nil {
			return err
		}
		busy = CPU(pid) - before
	}
	return nil
}

// Lists returns how long a client takes to list every Job and pod of a namespace without
// decoding them, and their total size in bytes.
func (p *Place) Lists(ctx context.Context, namespace string) (took time.Duration, size int64, err error) {
	config, err := clientcmd.BuildConfigFromFlags("", p.Kubeconfig)
	if err != nil {
		return 0, 0, fmt.Errorf("the cluster: %w", err)
	}
	config.QPS, config.UserAgent, config.DisableCompression, config.NextProtos = -1, baseline.Agent, true, []string{"http/1.1"}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return 0, 0, fmt.Errorf("the cluster: %w", err)
	}
	began, sizes := time.Now(), make([]int64, 2)
	group, ctx := errgroup.WithContext(ctx)
	for i, path := range []string{"/apis/batch/v1/namespaces/" + namespace + "/jobs", "/api/v1/namespaces/" + namespace + "/pods"} {
		group.Go(func() error {
			body, err := client.Discovery().RESTClient().Get().AbsPath(path).SetHeader("Accept", "application/vnd.kubernetes.protobuf").Stream(ctx)
			if err != nil {
				return fmt.Errorf("list %s: %w", path, err)
			}
			defer func() { _ = body.Close() }()
			sizes[i], err = io.CopyBuffer(io.Discard, struct{ io.Reader }{body}, make([]byte, 256<<10))
			return err
		})
	}
	err = group.Wait()
	return time.Since(began), sizes[0] + sizes[1], err
}
