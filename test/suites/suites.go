package main

// A suite is a set of tests that run together. deploy/test.sh contains the commands of the suite
// under the same name.
type suite struct {
	name string
	// packages are the Go packages of the main module that the suite compiles. The suite reads
	// their files and the files of the packages that they import.
	packages []string
	// paths are the other files and directories that the suite reads.
	paths []string
}

const (
	server = "./cmd/k8s-cli-server"
	cli    = "./cmd/k8s-cli"
)

// common are the paths that every suite reads.
var common = []string{"go.mod", "go.sum", "deploy/test.sh"}

// suites lists the suites in the order in which they run: the suites on the cluster with a real
// kubelet, then the suites on the cluster with fake nodes.
var suites = []suite{
	{name: "unit", paths: []string{"."}},
	{name: "features", packages: []string{server, cli, "./test/features"}, paths: []string{"deploy/local", "deploy/kubernetes", "deploy/monitoring", "examples/hello.yaml"}},
	{name: "docs", packages: []string{server, cli, "./test/features"}, paths: []string{"deploy/local", "docs", "examples", "README.md", "CONTRIBUTING.md", "SECURITY.md", "clients"}},
	{name: "clients", packages: []string{server, cli, "./test/features"}, paths: []string{"deploy/local", "deploy/module.sh", "clients", "docs", "pkg/client", "test/fences"}},
	{name: "durability", packages: []string{server, "./test/durability"}, paths: []string{"deploy/local"}},
	{name: "buckets", packages: []string{server, cli, "./test/features"}, paths: []string{"deploy/local", "deploy/image", "deploy/bucket"}},
	{name: "faults", packages: []string{server, "./test/faults/..."}, paths: []string{"deploy/local", "test/faults"}},
	{name: "crash", packages: []string{server, "./test/crash"}, paths: []string{"deploy/local"}},
	{name: "attack", packages: []string{server, cli, "./test/attack"}, paths: []string{"deploy/local"}},
	{name: "ui", packages: []string{server, "./test/ui"}, paths: []string{"deploy/local", "deploy/ui.sh", "test/ui"}},
	{name: "openapi", packages: []string{server, "./test/openapi"}, paths: []string{"deploy/local", "deploy/openapi.sh", "test/openapi"}},
	{name: "deploy", packages: []string{server, cli, "./test/chart", "./test/features"}, paths: []string{"deploy", "Makefile", "clients"}},
}

func suiteNames() (names []string) {
	for _, s := range suites {
		names = append(names, s.name)
	}
	return names
}

// gate lists the steps of the gate. Only the last three run tests. A step without files runs each
// time: the linter and Go have caches of their own.
var gate = []suite{
	{name: "lint"},
	{name: "programs"},
	{name: "cluster"},
	{name: "gate-unit"},
	{name: "gate-features", packages: []string{server, cli, "./test/features"}, paths: []string{"deploy/local", "clients/python", "examples/hello.yaml"}},
	{name: "gate-crash", packages: []string{server, "./test/crash"}, paths: []string{"deploy/local"}},
}

// reads reports whether the table says which files the suite reads.
func (s suite) reads() bool { return len(s.packages)+len(s.paths) > 0 }
