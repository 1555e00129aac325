// Package parts defines the arguments and the configuration files of the programs of a
// local cluster. The package has no side effects: the same layout always gives the same
// text.
package parts

import (
	"encoding/json"
	"fmt"

	"k8s-cli/deploy/local/build"
	"k8s-cli/deploy/local/layout"
	"k8s-cli/deploy/local/supervise"
)

// Files holds the contents of the configuration files of a cluster by name; layout.Config
// has their paths.
func Files(l layout.Layout, kit build.Artifacts) map[string]string {
	files := map[string]string{auditFile: auditPolicy}
	if l.Nodes == layout.None {
		return files
	}
	files[schedulerFile] = schedulerConfig(l)
	if l.Nodes == layout.Kwok {
		files[kwokFile] = kwokConfig(l)
		return files
	}
	files[kubeletFile] = kubeletConfig(l)
	files[containerdFile] = containerdConfig(l, kit)
	files[corednsFile] = corefile(l)
	files[cniFile] = cniConfig(l)
	if l.Proxies() {
		files[proxyFile] = proxyConfig(l)
	}
	return files
}

// kubernetes returns one of the programs in the Kubernetes binary.
func kubernetes(l layout.Layout, kit build.Artifacts, name string, args ...string) supervise.Program {
	return supervise.Program{
		Name: name,
		Path: kit.Kubernetes(),
		Args: append([]string{name}, args...),
		Log:  l.Log(name),
	}
}

// document renders a configuration as JSON, which is also valid YAML.
func document(v any) string {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		panic(fmt.Sprintf("a configuration of plain maps does not marshal: %v", err))
	}
	return string(b) + "\n"
}

// object is a JSON object.
type object = map[string]any
