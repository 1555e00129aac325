package existing

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"go.yaml.in/yaml/v3"
)

// patience is how long a cluster on this machine may take to answer.
const patience = 2 * time.Second

// An access contains what a request to the server of a context needs.
type access struct {
	ca, certificate, key []byte
	serverName           string // in the certificate of the server; empty: as in the URL
	token                string
	insecure             bool
}

type kubeconfig struct {
	CurrentContext string `yaml:"current-context"`
	Contexts       []struct {
		Name    string
		Context struct{ Cluster, User string }
	}
	Clusters []struct {
		Name    string
		Cluster struct {
			Server   string
			CA       string `yaml:"certificate-authority"`
			CAData   data   `yaml:"certificate-authority-data"`
			Name     string `yaml:"tls-server-name"`
			Insecure bool   `yaml:"insecure-skip-tls-verify"`
		}
	}
	Users []struct {
		Name string
		User struct {
			Token           string
			TokenFile       string `yaml:"tokenFile"`
			Certificate     string `yaml:"client-certificate"`
			CertificateData data   `yaml:"client-certificate-data"`
			Key             string `yaml:"client-key"`
			KeyData         data   `yaml:"client-key-data"`
		}
	}
}

// data is bytes in base64.
type data []byte

func (d *data) UnmarshalYAML(n *yaml.Node) error {
	quoted, err := json.Marshal(n.Value)
	if err != nil {
		return err
	}
	return json.Unmarshal(quoted, (*[]byte)(d))
}

// Current returns the current context of the files of a KUBECONFIG. If several files
// contain the same name, the first file wins.
func Current(files string) (Cluster, error) {
	var all kubeconfig
	for _, path := range filepath.SplitList(files) {
		text, err := os.ReadFile(path)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return Cluster{}, err
		}
		var one kubeconfig
		if err := yaml.Unmarshal(text, &one); err != nil {
			return Cluster{}, fmt.Errorf("read %s: %w", path, err)
		}
		one.resolve(filepath.Dir(path))
		if all.CurrentContext == "" {
			all.CurrentContext = one.CurrentContext
		}
		all.Contexts = append(all.Contexts, one.Contexts...)
		all.Clusters = append(all.Clusters, one.Clusters...)
		all.Users = append(all.Users, one.Users...)
	}
	c, err := all.current()
	c.Files = files
	return c, err
}

// resolve makes the relative paths in a file absolute. dir is the directory of the file.
func (k *kubeconfig) resolve(dir string) {
	abs := func(path *string) {
		if *path != "" && !filepath.IsAbs(*path) {
			*path = filepath.Join(dir, *path)
		}
	}
	for i := range k.Clusters {
		abs(&k.Clusters[i].Cluster.CA)
	}
	for i := range k.Users {
		abs(&k.Users[i].User.TokenFile)
		abs(&k.Users[i].User.Certificate)
		abs(&k.Users[i].User.Key)
	}
}

func (k *kubeconfig) current() (Cluster, error) {
	for _, context := range k.Contexts {
		if context.Name != k.CurrentContext {
			continue
		}
		c := Cluster{Context: context.Name}
		for _, cluster := range k.Clusters {
			if cluster.Name == context.Context.Cluster {
				c.Server = cluster.Cluster.Server
				c.access.insecure = cluster.Cluster.Insecure
				c.access.serverName = cluster.Cluster.Name
				c.access.ca = either(cluster.Cluster.CAData, cluster.Cluster.CA)
				break
			}
		}
		for _, user := range k.Users {
			if user.Name == context.Context.User {
				c.access.token = user.User.Token
				if c.access.token == "" {
					c.access.token = string(either(nil, user.User.TokenFile))
				}
				c.access.certificate = either(user.User.CertificateData, user.User.Certificate)
				c.access.key = either(user.User.KeyData, user.User.Key)
				break
			}
		}
		return c, nil
	}
	return Cluster{}, fmt.Errorf("the kubeconfig has no context %q", k.CurrentContext)
}

// either returns data, or the content of a file.
func either(b data, path string) []byte {
	if len(b) > 0 || path == "" {
		return b
	}
	content, _ := os.ReadFile(path) // without the content, the server rejects the request, and that is an answer
	return content
}

func (c Cluster) get(ctx context.Context, path string) (int, []byte, error) {
	config := &tls.Config{ServerName: c.access.serverName, InsecureSkipVerify: c.access.insecure} // as the kubeconfig says
	if len(c.access.ca) > 0 {
		config.RootCAs = x509.NewCertPool()
		config.RootCAs.AppendCertsFromPEM(c.access.ca)
	}
	if pair, err := tls.X509KeyPair(c.access.certificate, c.access.key); err == nil {
		config.Certificates = []tls.Certificate{pair}
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.Server+path, nil)
	if err != nil {
		return 0, nil, err
	}
	if c.access.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.access.token)
	}
	transport := &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return resp.StatusCode, body, err
}

// Answers reports whether the server answers in time, if only to reject the request.
func (c Cluster) Answers(ctx context.Context) bool {
	_, _, err := c.get(ctx, "/version")
	return err == nil
}

// Nodes returns the internal addresses of the nodes.
func (c Cluster) Nodes(ctx context.Context) ([]netip.Addr, error) {
	code, body, err := c.get(ctx, "/api/v1/nodes?limit=20")
	if err != nil {
		return nil, err
	}
	if code != http.StatusOK {
		return nil, fmt.Errorf("list the nodes: %s", http.StatusText(code))
	}
	var list struct {
		Items []struct {
			Status struct {
				Addresses []struct{ Type, Address string }
			}
		}
	}
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, err
	}
	var nodes []netip.Addr
	for _, node := range list.Items {
		for _, a := range node.Status.Addresses {
			if addr, err := netip.ParseAddr(a.Address); err == nil && a.Type == "InternalIP" {
				nodes = append(nodes, addr)
				break
			}
		}
	}
	return nodes, nil
}
