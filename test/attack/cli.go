package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// commands are the commands of the CLI that send requests to a server.
var commands = []string{
	"auth whoami", "gpus", "nodes", "jobs list", "jobs submit -d task.yaml", "jobs submit --dry-run task.yaml", "jobs status abcd1234", "jobs stop abcd1234", "jobs stop --all", "jobs logs --no-follow abcd1234", "jobs events abcd1234", "jobs spec abcd1234", "jobs wait abcd1234",
	"jobs rerun abcd1234", "volumes list", "volumes create data 1Gi", "volumes status efgh5678", "volumes delete --force efgh5678", "volumes events efgh5678",
}

// cliAttacks are attacks of servers on users of the CLI. The tests of cmd/k8s-cli let servers redirect
// every command, and send control characters in every field.
func cliAttacks() []attack {
	return append(append(loginAttacks(), escapeAttacks()...), downloadAttacks()...)
}

const kubeconfigWithToken = `{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {user: u, cluster: c}}], clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}], users: [{name: u, user: {token: token-for-one-server-alone}}]}`

const kubeconfigWithCommand = `{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {user: u, cluster: c}}], clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}], users: [{name: u, user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: touch, args: [COMMAND-RAN]}}}]}`

// loginAttacks try to get a token, a user name or a file.
func loginAttacks() (all []attack) {
	review := map[string]string{"tokenreview": `{"identified_by":"tokenreview"}`, "tokenreview with an audience": `{"identified_by":"tokenreview","audience":"k8s-cli"}`, "a way that there is not": `{"identified_by":"kubeconfig"}`, "nothing": `{}`, "not JSON": `x`}
	for name, login := range byName(review) {
		for kind, kubeconfig := range byName(map[string]string{"a token": kubeconfigWithToken, "a command": kubeconfigWithCommand}) {
			all = append(all, scene("login: "+name+", kubeconfig with "+kind, "nothing of the kubeconfig is shown", func(ctx context.Context, w *environment) error {
				h := newHostile(says(login))
				defer h.Close()
				u, err := w.cliUser("KUBECONFIG=kubeconfig")
				if err == nil {
					err = u.write("kubeconfig", kubeconfig)
				}
				if err != nil {
					return err
				}
				out, err := u.run(ctx, h, "", "auth", "login")
				if _, ran := os.Stat(filepath.Join(u.home, "COMMAND-RAN")); err != nil || ran == nil || strings.Contains(h.told(), secretToken) {
					return fmt.Errorf("the server was told %q, %w: %s", h.told(), err, out)
				}
				return nil
			}))
		}
	}
	for _, args := range []string{"--token-stdin", "--token " + secretToken, "--from-kubeconfig"} {
		all = append(all, scene("plain HTTP to another machine: auth login "+args, "refused, the token unseen", func(ctx context.Context, w *environment) error {
			h := newHostile(says(`{"user":"ann","identified_by":"token"}`))
			defer h.Close()
			// A proxy for all requests to other machines sees what a network eavesdropper
			// would see.
			u, err := w.cliUser("HTTP_PROXY="+h.URL, "KUBECONFIG=kubeconfig")
			if err == nil {
				err = u.write("kubeconfig", kubeconfigWithToken)
			}
			if err != nil {
				return err
			}
			out, err := u.runAt(ctx, "http://k8s-cli.example:8000", h, secretToken+"\n", append([]string{"auth", "login"}, strings.Fields(args)...)...)
			if err != nil || strings.Contains(h.told(), secretToken) {
				return fmt.Errorf("on the way was seen %q, %w: %s", h.told(), err, out)
			}
			return nil
		}))
	}
	for _, args := range []string{"", "--device", "--no-browser"} {
		all = append(all, scene("login: an issuer that only the server names, "+args, "the issuer is not asked for a token", func(ctx context.Context, w *environment) error {
			asked := newHostile(says(`{}`))
			defer asked.Close()
			h := newHostile(says(`{"identified_by":"oidc","client_id":"k8s-cli","issuer":"` + asked.URL + `"}`))
			defer h.Close()
			u, err := w.cliUser()
			if err != nil {
				return err
			}
			out, err := u.run(ctx, h, "y\n", append([]string{"auth", "login"}, strings.Fields(args)...)...)
			if err != nil || asked.told() != "" || !strings.Contains(out, "--issuer") {
				return fmt.Errorf("the issuer was told %q, %w: %s", asked.told(), err, out)
			}
			return nil
		}))
	}
	all = append(all, modeAttacks()...)
	return append(all, control(scene("login: --from-kubeconfig", "the token is shown to the server", func(ctx context.Context, w *environment) error {
		h := newHostile(says(`{"user":"ann","identified_by":"tokenreview"}`))
		defer h.Close()
		u, err := w.cliUser("KUBECONFIG=kubeconfig")
		if err == nil {
			err = u.write("kubeconfig", kubeconfigWithToken)
		}
		if err != nil {
			return err
		}
		if out, err := u.run(ctx, h, "", "auth", "login", "--from-kubeconfig"); err != nil || !strings.Contains(h.told(), secretToken) {
			return fmt.Errorf("the server was told %q, %w: %s", h.told(), err, out)
		}
		return nil
	})))
}

// modeAttacks check the permissions of the files of a user who has logged in.
func modeAttacks() (all []attack) {
	for _, name := range []string{"", "credentials.json", "user.json"} {
		all = append(all, scene("modes: "+name, "nobody else may read it", func(ctx context.Context, w *environment) error {
			h := newHostile(nil)
			defer h.Close()
			u, err := w.loggedIn(ctx, h, name != "user.json")
			if err != nil {
				return err
			}
			info, err := os.Stat(u.config(name))
			if err == nil && info.Mode().Perm()&0o077 != 0 {
				err = fmt.Errorf("it has %v", info.Mode())
			}
			return err
		}))
	}
	for _, mode := range []os.FileMode{0o644, 0o640, 0o620, 0o602} {
		all = append(all, scene(fmt.Sprintf("modes: credentials with %o", mode), "they are not used", func(ctx context.Context, w *environment) error {
			h := newHostile(nil)
			defer h.Close()
			u, err := w.loggedIn(ctx, h, true)
			if err == nil {
				err = os.Chmod(u.config("credentials.json"), mode)
			}
			if err != nil {
				return err
			}
			h.turn(says(`{"tasks":[]}`))
			if out, err := u.run(ctx, h, "", "jobs", "list"); err != nil || strings.Contains(h.told(), secretToken) {
				return fmt.Errorf("the server was told %q, %w: %s", h.told(), err, out)
			}
			return nil
		}))
	}
	return append(all, scene("a token for another server", "it is not sent", func(ctx context.Context, w *environment) error {
		h, other := newHostile(nil), newHostile(says(`{"tasks":[]}`))
		defer h.Close()
		defer other.Close()
		u, err := w.loggedIn(ctx, h, true)
		if err != nil {
			return err
		}
		for _, command := range commands {
			if _, err := u.run(ctx, other, "", strings.Fields(command)...); err != nil {
				return err
			}
		}
		if strings.Contains(other.told(), secretToken) {
			return fmt.Errorf("the other server was told %q", other.told())
		}
		return nil
	}))
}
