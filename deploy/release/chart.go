package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const (
	chartDir = "deploy/kubernetes/chart"

	// chartImage is the text with the image in values.yaml of a checkout.
	chartImage = "  repository: k8s-cli.local/server\n  tag: dev\n"
)

// chart packages the Helm chart with the version of the release. It repacks the package
// of Helm, which contains the time of the build, to make the package reproducible.
func (r request) chart(ctx context.Context, from origin) error {
	dir, err := os.MkdirTemp("", "k8s-cli-chart-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // if RemoveAll fails, the directory remains among the temporary files
	source := filepath.Join(dir, "chart")
	if err := os.CopyFS(source, os.DirFS(filepath.Join(r.source, chartDir))); err != nil {
		return err
	}
	if r.image != "" {
		if err := install(filepath.Join(source, "values.yaml"), r.image, from.version); err != nil {
			return err
		}
	}
	if _, err := output(ctx, dir, r.helm, "package", source, "--version", from.version, "--app-version", from.version, "--destination", dir); err != nil {
		return err
	}
	name := "k8s-cli-" + from.version + ".tgz"
	packed, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return err
	}
	files, err := readTar(bytes.NewReader(packed))
	if err != nil {
		return fmt.Errorf("read the package of the chart: %w", err)
	}
	var again bytes.Buffer
	if err := writeTar(&again, under("", files), from.time); err != nil {
		return fmt.Errorf("pack the chart: %w", err)
	}
	return os.WriteFile(filepath.Join(r.out, name), again.Bytes(), 0o644)
}

// install replaces the image in values.yaml by the image of the release.
func install(values, image, version string) error {
	text, err := os.ReadFile(values)
	if err != nil {
		return err
	}
	if strings.Count(string(text), chartImage) != 1 {
		return fmt.Errorf("the chart's values.yaml does not name the image as expected: %q", chartImage)
	}
	released := "  repository: " + image + "\n  tag: v" + version + "\n"
	return os.WriteFile(values, []byte(strings.Replace(string(text), chartImage, released, 1)), 0o644)
}
