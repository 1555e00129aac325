package objects

import "k8s-cli/pkg/task"

// Constants of the script peers.
const (
	peersFile    = task.NodeIPs
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
const peers = `k8s_cli_wait() {
  if [ -n "$k8s_cli_ending" ]; then exit 143; fi
  k8s_cli_pause 1
  k8s_cli_left=$((k8s_cli_left - 1))
}
k8s_cli_known() {
  if command -v getent >/dev/null; then getent hosts "$1" >/dev/null; return; fi
  if ! command -v nslookup >/dev/null; then return 0; fi
  case $(nslookup "$1" 2>/dev/null) in *Name:*) return 0 ;; esac
  return 1
}
k8s_cli_left=` + peersTimeout + `
while ! [ -s ` + task.ScriptDir + `/` + peersFile + ` ]; do
  if [ $k8s_cli_left -le 0 ]; then
    k8s_cli_why="gave up waiting: after ` + peersTimeout + ` s, some of the $2 nodes have no address; the status of the task says what they wait for"
    echo "k8s-cli: $k8s_cli_why" >&2
    { echo "k8s-cli: $k8s_cli_why" >/dev/termination-log; } 2>/dev/null
    exit 1
  fi
  k8s_cli_wait
done
SKYPILOT_NODE_IPS=$(cat ` + task.ScriptDir + `/` + peersFile + `) || exit
SKYPILOT_SETUP_NODE_IPS=$SKYPILOT_NODE_IPS
export SKYPILOT_NODE_IPS SKYPILOT_SETUP_NODE_IPS
k8s_cli_domain=$3
while read -r k8s_cli_ip k8s_cli_name k8s_cli_rest; do case $k8s_cli_name in node-*".$3."*) k8s_cli_domain=${k8s_cli_name#*.} ;; esac; done <` + hostsFile + `
k8s_cli_left=` + nameTimeout + `
until k8s_cli_known "node-$NODE_RANK.$k8s_cli_domain" || [ $k8s_cli_left -le 0 ]; do k8s_cli_wait; done
if [ $k8s_cli_left -le 0 ]; then
  echo "k8s-cli: the cluster's DNS does not resolve node-$NODE_RANK.$3; the addresses of all nodes are in SKYPILOT_NODE_IPS" >&2
else
  k8s_cli_left=` + namesTimeout + ` k8s_cli_rank=0
  while [ $k8s_cli_rank -lt "$2" ] && [ $k8s_cli_left -gt 0 ]; do
    if k8s_cli_known "node-$k8s_cli_rank.$k8s_cli_domain"; then k8s_cli_rank=$((k8s_cli_rank + 1)); else k8s_cli_wait; fi
  done
fi
`
