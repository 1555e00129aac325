// Command etcd is the unmodified etcd server. It has a separate module, because the go.mod
// of etcd has replace directives, which "go install" rejects.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() {
	etcdmain.Main(os.Args)
}
