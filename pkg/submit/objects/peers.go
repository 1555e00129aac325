package objects

import "k8s-cli/pkg/task"

// Constants of the script peers.
const (
	peersFile    = "node-ips" // beside the scripts: the addresses of all nodes, by rank
	hostsFile    = "/etc/hosts"
	peersTimeout = "3600" // seconds that a node waits until all nodes have an address
	nameTimeout  = "35"   // seconds that a node waits until the cluster's DNS resolves its own name; a negative answer may be cached for 30
	namesTimeout = "10"   // seconds that a node then waits for the names of the others
)

// peers is the part of the entrypoint for several nodes. The addresses come from the
// controller as a file, and therefore need no program in the image and no other running node:
// a node with much to load may begin after another node has ended.
//
// Before a script begins, the names of the nodes should resolve too. The script checks this
// with getent or nslookup of the image against the cluster's DNS; a failure to resolve is no
// error. A working DNS knows the node that asks. A name that stays unknown shortly afterwards
// belongs to a node that has ended. The domain of the names is in /etc/hosts, where Kubernetes
// writes the node's own name.
//
// A task that receives SIGTERM while it waits ends. The reason of a failure is in the log of
// the node, and through /dev/termination-log in the status of the task.
const peers = `pause() {
  if [ -n "$ending" ]; then exit 143; fi
  sleep 1
  left=$((left - 1))
}
known() {
  if command -v getent >/dev/null; then getent hosts "$1" >/dev/null; return; fi
  if ! command -v nslookup >/dev/null; then return 0; fi
  case $(nslookup "$1" 2>/dev/null) in *Name:*) return 0 ;; esac
  return 1
}
left=` + peersTimeout + `
while ! [ -s ` + task.ScriptDir + `/` + peersFile + ` ]; do
  if [ $left -le 0 ]; then
    why="gave up waiting: after ` + peersTimeout + ` s, some of the $2 nodes have no address; the status of the task says what they wait for"
    echo "k8s-cli: $why" >&2
    { echo "k8s-cli: $why" >/dev/termination-log; } 2>/dev/null
    exit 1
  fi
  pause
done
SKYPILOT_NODE_IPS=$(cat ` + task.ScriptDir + `/` + peersFile + `) || exit
SKYPILOT_SETUP_NODE_IPS=$SKYPILOT_NODE_IPS
export SKYPILOT_NODE_IPS SKYPILOT_SETUP_NODE_IPS
domain=$3
while read -r _ name _; do case $name in node-*".$3."*) domain=${name#*.} ;; esac; done <` + hostsFile + `
left=` + nameTimeout + `
until known "node-$NODE_RANK.$domain" || [ $left -le 0 ]; do pause; done
if [ $left -le 0 ]; then
  echo "k8s-cli: the cluster's DNS does not resolve node-$NODE_RANK.$3; the addresses of all nodes are in SKYPILOT_NODE_IPS" >&2
else
  left=` + namesTimeout + ` rank=0
  while [ $rank -lt "$2" ] && [ $left -gt 0 ]; do
    if known "node-$rank.$domain"; then rank=$((rank + 1)); else pause; fi
  done
fi
`
