package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// programAttacks are attacks on the client for TypeScript and on the script for CI systems.
func programAttacks() (all []attack) {
	all = append(all, scene("typescript: a server that redirects a submission", "the other server gets nothing", redirectTypeScript))
	for _, system := range []string{"GITHUB_ACTIONS", "TF_BUILD"} {
		all = append(all, scene("ci: commands in the log of a task, "+system, "the CI system reads none of them", func(ctx context.Context, w *environment) error {
			return commandCI(ctx, w, system)
		}))
	}
	return all
}

// source returns the path of a file of the project.
func source(name string) (string, error) {
	for dir := "."; ; dir = filepath.Join(dir, "..") {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return filepath.Abs(filepath.Join(dir, name))
		}
		if abs, err := filepath.Abs(dir); err != nil || abs == "/" {
			return "", fmt.Errorf("find %s: no directory above has go.mod", name)
		}
	}
}

func redirectTypeScript(ctx context.Context, _ *environment) error {
	client, err := source("clients/typescript/index.js")
	if err != nil {
		return err
	}
	elsewhere := newHostile(says(`{"task_id":"abcd1234"}`))
	defer elsewhere.Close()
	h := newHostile(func(rw http.ResponseWriter, r *http.Request) {
		http.Redirect(rw, r, elsewhere.URL+r.URL.Path, http.StatusTemporaryRedirect)
	})
	defer h.Close()
	program := `import { Client } from "` + client + `";
for (const who of [{ user: "ann" }, { token: "` + secretToken + `" }]) {
	const client = new Client({ url: process.argv[2], ...who });
	await client.submit({ run: "true", secrets: { PW: "hush" } }).then(console.log, (err) => console.log("refused:", err.reason));
}`
	c := exec.CommandContext(ctx, "node", "--input-type=module", "-", h.URL)
	c.Stdin = strings.NewReader(program)
	out, err := c.CombinedOutput()
	if err != nil || elsewhere.told() != "" || !strings.Contains(h.told(), "hush") || strings.Count(string(out), "refused:") != 2 {
		return fmt.Errorf("the other server was told %q: %w: %s", elsewhere.told(), err, out)
	}
	return nil
}

// commandCI runs the script for CI systems with a program in place of the CLI. The program prints a log
// with commands.
func commandCI(ctx context.Context, w *environment, system string) error {
	script, err := source("clients/ci/run.sh")
	if err != nil {
		return err
	}
	home, err := w.home()
	if err != nil {
		return err
	}
	cli := filepath.Join(home, "cli")
	const text = `#!/bin/sh
case $2 in
submit) echo abcd1234 ;;
logs) printf '::error::injected\nx##vso[task.setvariable variable=PATH]injected\n##[error]injected' ;;
esac
`
	if err := os.WriteFile(cli, []byte(text), 0o700); err != nil { //nolint:gosec // a program
		return err
	}
	c := exec.CommandContext(ctx, script, "task.yaml")
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "K8S_CLI=" + cli, system + "=true"}
	stdout, err := c.Output()
	if err != nil {
		return err
	}
	out, held := string(stdout), false
	switch system {
	case "GITHUB_ACTIONS":
		first, rest, _ := strings.Cut(out, "\n")
		token, stops := strings.CutPrefix(first, "::stop-commands::")
		before, after, resumes := strings.Cut(rest, "\n::"+token+"::\n")
		held = stops && len(token) == 32 && resumes && strings.Contains(before, "::error::injected") && !strings.Contains(after, "injected")
	case "TF_BUILD":
		held = strings.Contains(out, "injected") && !strings.Contains(out, "##vso[") && !strings.Contains(out, "##[")
	}
	if !held {
		return fmt.Errorf("the CI system reads %q", out)
	}
	return nil
}
