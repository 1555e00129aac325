package objects

import "k8s-cli/pkg/task"

// What the script of peers is made of.
const (
	peersFile    = "node-ips" // beside the scripts: the addresses of all nodes, by rank
	hostsFile    = "/etc/hosts"
	peersTimeout = "3600" // seconds that a node waits for the others to have an address
	nameTimeout  = "35"   // seconds that it waits for the cluster's DNS to know its own name: a denial may be cached for 30
	namesTimeout = "10"   // seconds that it waits from then for the names of the others
)

// peers is the part of the launcher that is for several nodes. The addresses
// come as a file, from the controller, and so need nothing of the image and no
// other node that is still there: one that has much to load may begin when
// another has ended. Their names should mean something too before a script
// begins: that is asked of the cluster's DNS with what the image has, getent or
// nslookup, and is no reason to fail. DNS that works knows the node that asks,
// and what it does not know soon after is a node that has ended, and has no name
// any more. What the names end in stands in /etc/hosts, where Kubernetes has
// written the node's own.
// A task that is told to end meanwhile does. Why a node gives up stands in its
// log and, by /dev/termination-log, in the status of the task.
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
