//go:build linux

package main

import (
	"context"
	"fmt"
	"os"

	"k8s-cli/deploy/local/build"
)

// kubectlScript is DIR/bin/kubectl. Neither the cluster nor its first task needs kubectl,
// so the script builds kubectl when it is called for the first time. The messages of the
// build go to standard error.
const kubectlScript = `#!/bin/sh
# The first call builds kubectl.
kubectl=%s
[ -x "$kubectl" ] || kubectl=$(go -C %s run . kubectl --cache %s) || exit
exec "$kubectl" "$@"
`

// offerKubectl writes the script DIR/bin/kubectl.
func (c command) offerKubectl(kit build.Artifacts) error {
	if err := os.MkdirAll(c.layout.Path("bin"), 0o755); err != nil {
		return err
	}
	path := c.layout.Path("bin", "kubectl")
	if err := os.RemoveAll(path); err != nil { // an older checkout made a link, which WriteFile would follow
		return err
	}
	text := fmt.Sprintf(kubectlScript, word(kit.Kubectl()), word(c.source), word(c.layout.Cache))
	return os.WriteFile(path, []byte(text), 0o755)
}

// kubectl builds kubectl and prints its path.
func (c command) kubectl(ctx context.Context) error {
	kit, err := build.Ensure(ctx, c.source, c.layout, build.Kubectl, build.NewTeller(os.Stderr))
	if err != nil {
		return err
	}
	fmt.Println(kit.Kubectl())
	return nil
}
