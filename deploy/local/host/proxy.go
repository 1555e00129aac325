package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"k8s-cli/deploy/local/layout"
)

// kube-proxy uses the same names of kernel tables in every cluster. An additional table
// marks the tables of kube-proxy as those of a local cluster.
const (
	proxyTable = "kube-proxy"
	markTable  = "k8s-cli-local"
)

// ErrForeignProxy means that another cluster owns the tables of kube-proxy on this machine.
var ErrForeignProxy = errors.New("this machine has a kube-proxy that is not of a local cluster, so that services have no addresses here but headless ones")

// An NFT runs the program nft, with the environment in which the shell finds nft.
type NFT []string

// ClaimProxy marks the tables of kube-proxy as those of l. ClaimProxy returns
// ErrForeignProxy if another cluster owns the tables, but takes over the tables of an
// earlier local cluster, which kube-proxy rewrites.
func (n NFT) ClaimProxy(ctx context.Context, l layout.Layout) error {
	_, marked := n.run(ctx, "list table ip "+markTable)
	if _, err := n.run(ctx, "list table ip "+proxyTable); err == nil && marked != nil {
		return ErrForeignProxy
	}
	script := fmt.Sprintf("add table ip %[1]s\ndelete table ip %[1]s\nadd table ip %[1]s { comment %[2]q; }\n", markTable, owner(l))
	if out, err := n.run(ctx, script); err != nil {
		return fmt.Errorf("mark the tables of kube-proxy: %w: %s", err, out)
	}
	return nil
}

// RemoveProxy removes the tables of kube-proxy if they are those of l.
func (n NFT) RemoveProxy(ctx context.Context, l layout.Layout) error {
	mark, err := n.run(ctx, "list table ip "+markTable)
	if err != nil || !strings.Contains(mark, fmt.Sprintf("%q", owner(l))) {
		return nil // no tables exist, or another cluster has taken over the tables
	}
	for _, family := range []string{"ip", "ip6"} {
		script := fmt.Sprintf("add table %[1]s %[2]s\ndelete table %[1]s %[2]s\n", family, proxyTable)
		if out, err := n.run(ctx, script); err != nil {
			return fmt.Errorf("remove the tables of kube-proxy: %w: %s", err, out)
		}
	}
	_, err = n.run(ctx, "delete table ip "+markTable)
	return err
}

func (n NFT) run(ctx context.Context, script string) (string, error) {
	// The shell finds nft in the given environment, not in the environment of this process.
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", "exec nft -f -")
	cmd.Env = append(os.Environ(), n...)
	cmd.Stdin = strings.NewReader(script)
	out, err := Run(cmd)
	return string(out), err
}
