package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"k8s-cli/deploy/local/existing"
)

// find tells deploy/try.sh which cluster to use, and how the pods of that cluster reach
// the server. It prints assignments for the shell, and nothing if there is no cluster to
// use.
func find(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("find", flag.ContinueOnError)
	listen := flags.String("listen", "127.0.0.1:8000", "`address` on which the server listens")
	files := flags.String("kubeconfig", "", "use the cluster of these kubeconfig `files`, whatever the cluster is (default: look for a cluster on this machine)")
	base := flags.String("base", ".", "`directory` of relative files")
	ask := flags.Bool("ask", false, "ask on the terminal before a cluster is used that --kubeconfig does not name")
	quiet := flags.Bool("quiet", false, "print no messages")
	if err := flags.Parse(args); err != nil {
		return flag.ErrHelp // Parse printed the reason
	}
	choice := existing.Choose(candidate(*base, *files), *files != "", *ask, func(c existing.Cluster) bool { return c.Answers(ctx) })
	if choice.Say != "" && !*quiet {
		fmt.Fprintln(os.Stderr, choice.Say)
	}
	if choice.Use == nil {
		return ctx.Err()
	}
	if choice.Ask != "" {
		if yes, err := agreed(ctx, choice.Ask, choice.Default); err != nil || !yes {
			return err
		}
	}
	reach := choice.Use.Reach(ctx, *listen)
	if err := ctx.Err(); err != nil {
		return err
	}
	if reach.Advertise == "" && !*quiet {
		fmt.Fprintln(os.Stderr, "The address at which the pods of this cluster reach this machine is unknown: tasks with workdir or file_mounts will be rejected. If you know the address, set K8S_CLI_LISTEN=ADDRESS:8000.")
	}
	fmt.Print(assignments(*choice.Use, *listen, reach))
	return nil
}

// assignments returns what deploy/try.sh evaluates.
func assignments(c existing.Cluster, listen string, reach existing.Reach) string {
	server := []string{"--listen", word(listen)}
	if reach.FilesListen != "" {
		server = append(server, "--files-listen", word(reach.FilesListen))
	}
	if reach.Advertise != "" {
		server = append(server, "--advertise-url", word(reach.Advertise))
	}
	return fmt.Sprintf("KUBECONFIG=%s\ncontext=%s\nflags=(%s)\n", word(c.Files), word(c.Context), strings.Join(server, " "))
}

// candidate returns the cluster that files name. Without files, candidate returns the
// first local cluster in the usual places, or else the first cluster. It returns nil if
// there is no cluster.
func candidate(base, files string) *existing.Cluster {
	if files != "" {
		all := filepath.SplitList(files)
		for i, file := range all {
			if file != "" && !filepath.IsAbs(file) {
				all[i] = filepath.Join(base, file)
			}
		}
		files = strings.Join(all, string(filepath.ListSeparator))
		c, err := existing.Current(files)
		if err != nil {
			c = existing.Cluster{Files: files} // the server reports the error
		}
		return &c
	}
	var own string
	if home, err := os.UserHomeDir(); err == nil {
		own = filepath.Join(home, ".kube", "config")
	}
	return existing.First([]string{own, "/etc/rancher/k3s/k3s.yaml", "/var/snap/microk8s/current/credentials/client.config"})
}

// agreed asks the question on the terminal. It returns byDefault for an empty line, and
// false at the end of the input.
func agreed(ctx context.Context, question string, byDefault bool) (bool, error) {
	fmt.Fprint(os.Stderr, question)
	answers := make(chan string, 1)
	go func() { // Read cannot be cancelled
		answer, err := bufio.NewReader(os.Stdin).ReadString('\n')
		if err != nil {
			fmt.Fprintln(os.Stderr)
			answer = "no"
		}
		answers <- answer
	}()
	select {
	case <-ctx.Done():
		return false, ctx.Err()
	case answer := <-answers:
		switch strings.ToLower(strings.TrimSpace(answer)) {
		case "":
			return byDefault, nil
		case "y", "yes":
			return true, nil
		}
		return false, nil
	}
}
