// Command etcd is the stock etcd server. It has a module of its own because
// etcd's module replaces its siblings, which "go install" refuses.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() {
	etcdmain.Main(os.Args)
}
