package build

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
)

// debianPackages are unpacked into the cache and not installed, so that the machine does
// not change.
var debianPackages = []string{"runc", "bash-static", "busybox-static"}

var errNoDebian = errors.New("this machine has no apt-get and dpkg-deb: a kubelet needs runc, bash-static, busybox-static and nft from Debian or Ubuntu packages (NODES=kwok needs none of them)")

// unpackDebian downloads the packages with the apt configuration of the machine.
func unpackDebian(ctx context.Context, k builder) error {
	args := []string{"download", "-q", "-o", "APT::Sandbox::User=root"} // the sandbox user cannot write here
	if err := k.unpack(ctx, append(args, debianPackages...)...); err != nil {
		return err
	}
	if err := k.run(ctx, k.dir, nil, k.out("usr/sbin/runc"), "--version"); err != nil {
		return errors.Join(errors.New("the runc of Debian does not start here; install libseccomp2"), err)
	}
	return nil
}

// unpackNFT downloads nft, with which kube-proxy configures the kernel, and the libraries
// of nft that the machine lacks. unpackNFT does nothing if the machine has nft.
func unpackNFT(ctx context.Context, k builder) error {
	if _, err := exec.LookPath("nft"); err == nil {
		return nil
	}
	if err := os.Mkdir(k.out("partial"), 0o755); err != nil {
		return err
	}
	return k.unpack(ctx, "install", "-y", "-q", "--no-install-recommends", "--download-only",
		"-o", "Dir::Cache::archives="+k.dir, "-o", "APT::Sandbox::User=root", "nftables")
}

// unpack downloads packages into the directory of the builder with apt-get, and unpacks
// them there.
func (k builder) unpack(ctx context.Context, fetch ...string) error {
	for _, tool := range []string{"apt-get", "dpkg-deb"} {
		if _, err := exec.LookPath(tool); err != nil {
			return errNoDebian
		}
	}
	if err := k.run(ctx, k.dir, nil, "apt-get", fetch...); err != nil {
		// A new machine may have no package lists yet.
		if err := k.run(ctx, k.dir, nil, "apt-get", "update", "-q"); err != nil {
			return err
		}
		if err := k.run(ctx, k.dir, nil, "apt-get", fetch...); err != nil {
			return err
		}
	}
	debs, err := filepath.Glob(k.out("*.deb"))
	if err != nil {
		return err
	}
	for _, deb := range debs {
		if err := k.run(ctx, k.dir, nil, "dpkg-deb", "-x", deb, k.dir); err != nil {
			return err
		}
		if err := os.Remove(deb); err != nil {
			return err
		}
	}
	return nil
}
