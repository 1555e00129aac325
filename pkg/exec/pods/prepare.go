package pods

import "k8s-cli/pkg/task"

const nodeIPs = task.ScriptDir + "/" + task.NodeIPs

// prepare is the script that starts the command of a session where the scripts of the task run: the
// first process of the container is the entrypoint, which starts them in its own directory. The
// command also gets the variables that only the entrypoint sets: the addresses of several nodes, and
// the home directory of a user who cannot write to that of the image.
const prepare = `unset ` + task.VariablesEnv + `
cd -P /proc/1/cwd 2>/dev/null || :
if [ -s ` + nodeIPs + ` ]; then
  SKYPILOT_NODE_IPS=$(cat ` + nodeIPs + `)
  export SKYPILOT_NODE_IPS SKYPILOT_SETUP_NODE_IPS="$SKYPILOT_NODE_IPS"
fi
for k8s_cli_home in ` + task.OtherHomes + `; do
  if [ -d "$k8s_cli_home" ]; then
    export HOME="$k8s_cli_home"
    break
  fi
done
unset k8s_cli_home
exec "$@"`

// prepared returns the command that starts args by prepare. Every image has /bin/sh, which also starts
// the entrypoint.
func prepared(args []string) []string {
	return append([]string{"/bin/sh", "-c", prepare, "k8s-cli"}, args...)
}
