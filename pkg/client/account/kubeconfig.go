package account

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"gopkg.in/yaml.v3"
)

// A KubeContext is a context of kubeconfig files. Every command reads the files
// again, because a token in them may be short-lived.
type KubeContext struct {
	Files   []string `json:"files"` // the first file that defines a name wins, as in kubectl
	Context string   `json:"context"`
}

// kubeconfig is the part of a kubeconfig file with contexts, clusters and users.
type kubeconfig struct {
	Current  string `yaml:"current-context"`
	Contexts []struct {
		Name    string `yaml:"name"`
		Context struct {
			Cluster string `yaml:"cluster"`
			User    string `yaml:"user"`
		} `yaml:"context"`
	} `yaml:"contexts"`
	Clusters []struct {
		Name    string `yaml:"name"`
		Cluster struct {
			Server string `yaml:"server"`
		} `yaml:"cluster"`
	} `yaml:"clusters"`
	Users []struct {
		Name string   `yaml:"name"`
		User kubeUser `yaml:"user"`
	} `yaml:"users"`
}

type kubeUser struct {
	Token     string `yaml:"token"`
	TokenFile string `yaml:"tokenFile"`
	Exec      *struct {
		APIVersion string   `yaml:"apiVersion"`
		Command    string   `yaml:"command"`
		Args       []string `yaml:"args"`
		Env        []struct {
			Name  string `yaml:"name"`
			Value string `yaml:"value"`
		} `yaml:"env"`
	} `yaml:"exec"`

	dir string // of the kubeconfig file with this user
}

const execTimeout = 5 * time.Minute // a credential plugin may ask for a password

// CurrentContext returns the current context of the user's kubeconfig files.
func CurrentContext(lookup func(string) (string, bool)) (KubeContext, error) {
	files, _ := lookup("KUBECONFIG")
	if files == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return KubeContext{}, fmt.Errorf("find your kubeconfig: %w", err)
		}
		files = filepath.Join(home, ".kube", "config")
	}
	var place KubeContext
	for _, file := range filepath.SplitList(files) {
		path, err := filepath.Abs(file)
		if err != nil {
			return place, fmt.Errorf("find your kubeconfig: %w", err)
		}
		place.Files = append(place.Files, path)
	}
	all, _, err := place.read()
	for _, c := range all {
		place.Context = cmp.Or(place.Context, c.Current)
	}
	if err == nil && place.Context == "" {
		err = fmt.Errorf("%s: no current context; set one with kubectl config use-context", files)
	}
	return place, err
}

func (k KubeContext) read() (all []kubeconfig, dirs []string, err error) {
	for _, path := range k.Files {
		data, err := os.ReadFile(path)
		if errors.Is(err, os.ErrNotExist) && len(k.Files) > 1 {
			continue
		}
		if err != nil {
			return nil, nil, fmt.Errorf("read your kubeconfig: %w", err)
		}
		var c kubeconfig
		if err := yaml.Unmarshal(data, &c); err != nil {
			return nil, nil, fmt.Errorf("read your kubeconfig %s: %w", path, err)
		}
		all, dirs = append(all, c), append(dirs, filepath.Dir(path))
	}
	return all, dirs, nil
}

// user returns the user of the context.
func (k KubeContext) user() (kubeUser, error) {
	all, dirs, err := k.read()
	if err != nil {
		return kubeUser{}, err
	}
	name, _ := k.names(all)
	for i, c := range all {
		for _, u := range c.Users {
			if u.Name == name && name != "" {
				u.User.dir = dirs[i]
				return u.User, nil
			}
		}
	}
	return kubeUser{}, fmt.Errorf("your kubeconfig has no user for the context %q", k.Context)
}

// names returns the names of the context's user and cluster.
func (k KubeContext) names(all []kubeconfig) (user, cluster string) {
	for _, c := range all {
		for _, context := range c.Contexts {
			if context.Name == k.Context {
				return context.Context.User, context.Context.Cluster
			}
		}
	}
	return "", ""
}

// Cluster returns the URL of the context's cluster.
func (k KubeContext) Cluster() (string, error) {
	all, _, err := k.read()
	if err != nil {
		return "", err
	}
	_, name := k.names(all)
	for _, c := range all {
		for _, cluster := range c.Clusters {
			if cluster.Name == name {
				return cluster.Cluster.Server, nil
			}
		}
	}
	return "", fmt.Errorf("your kubeconfig has no cluster for the context %q", k.Context)
}

// token returns the token with which the context authenticates to Kubernetes. A
// credential plugin writes its messages to talk.
func (k KubeContext) token(ctx context.Context, talk io.Writer) (string, error) {
	u, err := k.user()
	switch {
	case err != nil:
		return "", err
	case u.Exec != nil:
		return u.run(ctx, talk)
	case u.TokenFile != "":
		path := u.TokenFile
		if !filepath.IsAbs(path) {
			path = filepath.Join(u.dir, path)
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return "", fmt.Errorf("read the token of your kubeconfig: %w", err)
		}
		return strings.TrimSpace(string(raw)), nil
	case u.Token != "":
		return u.Token, nil
	}
	return "", fmt.Errorf("the context %q has no token, and other servers do not accept its certificate; create a token with kubectl create token and pass it with --token-stdin", k.Context)
}

// run gets a token from the credential plugin of the context, as client-go does.
func (u kubeUser) run(ctx context.Context, talk io.Writer) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, execTimeout)
	defer cancel()
	path := u.Exec.Command
	if strings.ContainsRune(path, filepath.Separator) && !filepath.IsAbs(path) {
		path = filepath.Join(u.dir, path)
	}
	question, err := json.Marshal(map[string]any{
		"apiVersion": u.Exec.APIVersion, "kind": "ExecCredential", "spec": map[string]bool{"interactive": false},
	})
	if err != nil {
		return "", err
	}
	var answer bytes.Buffer
	cmd := exec.CommandContext(ctx, path, u.Exec.Args...)
	cmd.Env = append(os.Environ(), "KUBERNETES_EXEC_INFO="+string(question))
	for _, v := range u.Exec.Env {
		cmd.Env = append(cmd.Env, v.Name+"="+v.Value)
	}
	cmd.Stdout, cmd.Stderr = &answer, talk
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("run the credential plugin %s of your kubeconfig: %w", u.Exec.Command, err)
	}
	var got struct {
		Status struct {
			Token string `json:"token"`
		} `json:"status"`
	}
	if err := json.Unmarshal(answer.Bytes(), &got); err != nil || got.Status.Token == "" {
		return "", fmt.Errorf("the credential plugin %s of your kubeconfig returned no token", u.Exec.Command)
	}
	return got.Status.Token, nil
}

// once returns a function that calls ask until the first token, and then returns that
// token.
func once(ask func(context.Context) (string, error)) func(context.Context) (string, error) {
	var mu sync.Mutex
	known := ""
	return func(ctx context.Context) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		if known != "" {
			return known, nil
		}
		token, err := ask(ctx)
		known = token
		return token, err
	}
}
