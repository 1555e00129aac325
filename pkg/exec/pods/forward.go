package pods

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/streaming/pkg/httpstream"

	"k8s-cli/pkg/exec"
)

// Forward connects to a port of the pod of the target, and copies both directions until the
// container closes the connection or ctx ends.
func (p *Pods) Forward(ctx context.Context, t exec.Target, port uint16, s exec.Streams) error {
	conn, err := p.dial(ctx, t)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	// Without this, the copies below could wait for their streams after the end of ctx.
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	failure, data, err := openStreams(conn, port)
	if err != nil {
		return fmt.Errorf("connect to port %d: %w", port, err)
	}
	go func() {
		_, _ = io.Copy(data, s.Stdin)
		_ = data.Close() // the other direction stays open
	}()
	_, err = io.Copy(s.Stdout, data)
	_ = data.Reset() // unread data would delay the error of the API server
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	message, _ := io.ReadAll(io.LimitReader(failure, maxMessage))
	text := strings.TrimSpace(string(message))
	switch {
	case strings.Contains(text, "connection refused"):
		return fmt.Errorf("nothing listens on port %d in node %d", port, t.Node)
	case text != "":
		return fmt.Errorf("connect to port %d: %s", port, text)
	}
	return err
}

const maxMessage = 4 << 10 // bytes of an error of the kubelet

// openStreams opens the streams of one connection to a port.
func openStreams(conn httpstream.Connection, port uint16) (failure, data httpstream.Stream, err error) {
	header := http.Header{}
	header.Set(corev1.StreamType, corev1.StreamTypeError)
	header.Set(corev1.PortHeader, strconv.Itoa(int(port)))
	header.Set(corev1.PortForwardRequestIDHeader, "0")
	if failure, err = conn.CreateStream(header); err != nil {
		return nil, nil, err
	}
	_ = failure.Close() // only the kubelet writes errors
	header.Set(corev1.StreamType, corev1.StreamTypeData)
	data, err = conn.CreateStream(header)
	return failure, data, err
}

// dial returns a connection for streams to ports of the target.
func (p *Pods) dial(ctx context.Context, t exec.Target) (httpstream.Connection, error) {
	dialer, err := p.dialer(t)
	if err != nil {
		return nil, fmt.Errorf("make a client for connections to ports: %w", err)
	}
	type result struct {
		conn httpstream.Connection
		err  error
	}
	dialed := make(chan result)
	go func() { // Dial takes no context
		conn, _, err := dialer.Dial(portforward.PortForwardProtocolV1Name)
		select {
		case dialed <- result{conn, err}:
		case <-ctx.Done():
			if err == nil {
				_ = conn.Close()
			}
		}
	}()
	select {
	case r := <-dialed:
		return r.conn, r.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (p *Pods) dialer(t exec.Target) (httpstream.Dialer, error) {
	address := p.address(t, "portforward", &corev1.PodPortForwardOptions{})
	transport, upgrader, err := spdy.RoundTripperFor(p.config)
	if err != nil {
		return nil, err
	}
	plain := spdy.NewDialerForStreaming(upgrader, &http.Client{Transport: transport}, http.MethodPost, address)
	tunnel, err := portforward.NewSPDYOverWebsocketDialerForStreaming(address, p.config)
	if err != nil {
		return nil, err
	}
	return portforward.NewFallbackDialerForStreaming(tunnel, plain, lacksWebSockets), nil
}
