package main

// SkyPilot has commands and flags that have another name here, or no counterpart. The CLI names what to
// write instead.

// skyCommands maps the commands of SkyPilot without jobs, and those of kubectl, to what to do instead.
var skyCommands = map[string]string{
	"api":         "run 'k8s-cli auth login' or 'k8s-cli auth whoami'",
	"autostop":    "a task ends when its scripts end",
	"check":       "run 'k8s-cli auth whoami' or 'k8s-cli gpus'",
	"cost-report": "run 'k8s-cli jobs usage'",
	"cp":          "run 'k8s-cli jobs cp ID:PATH .'",
	"dashboard":   "run 'k8s-cli jobs open ID', or open the address of the server in a browser",
	"delete":      "run 'k8s-cli jobs stop ID'",
	"down":        "run 'k8s-cli jobs stop ID'",
	"exec":        "run 'k8s-cli jobs exec ID -- COMMAND'",
	"local":       "run 'make run' in a checkout of k8s-cli",
	"login":       "run 'k8s-cli auth login'",
	"rm":          "run 'k8s-cli jobs stop ID'",
	"serve":       "services are not supported; a task can serve a port, to which 'k8s-cli jobs port-forward' connects",
	"shell":       "run 'k8s-cli jobs shell ID'",
	"ssh":         "run 'k8s-cli jobs shell ID'",
	"start":       "run 'k8s-cli jobs rerun ID'",
	"storage":     "run 'k8s-cli volumes list'",
	"top":         "run 'k8s-cli nodes'",
	"validate":    "run 'k8s-cli jobs validate FILE...'",
	"wait":        "run 'k8s-cli jobs wait ID...'",
	"whoami":      "run 'k8s-cli auth whoami'",
}

// skySubcommands maps the commands of a group of commands in the same way.
var skySubcommands = map[string]map[string]string{
	"k8s-cli": skyCommands,
	"k8s-cli jobs": {
		"dashboard": skyCommands["dashboard"],
		"delete":    skyCommands["rm"],
		"down":      skyCommands["down"],
		"pool":      "no pool is necessary; 'k8s-cli jobs submit --num-jobs N' submits copies of a task",
		"rm":        skyCommands["rm"],
		"run":       "run 'k8s-cli jobs submit -- COMMAND'",
	},
	"k8s-cli volumes": {"apply": "run 'k8s-cli volumes create NAME SIZE'"},
}

const (
	inFile     = "write it under resources in the task file"
	endsItself = "not needed; a task ends when its scripts end"
	noCluster  = "a task has no cluster; --name NAME names the task"
	inWorkdir  = "write workdir: {url: URL, ref: REF} in the task file"

	reachesPort = "'k8s-cli jobs port-forward ID PORT' connects to a port of a task"
)

// skyFlags maps flags of SkyPilot to what to write instead.
var skyFlags = map[string]string{
	"autostop":                 endsItself,
	"backend":                  "not needed; all tasks run on Kubernetes",
	"clone-disk-from":          "put large data on a volume: 'k8s-cli volumes create NAME SIZE'",
	"cluster":                  noCluster,
	"config":                   "write config in the task file",
	"controller":               "the server has no controller of a user; its administrator reads its log",
	"disk-size":                "put large data on a volume: 'k8s-cli volumes create NAME SIZE'",
	"disk-tier":                inFile,
	"down":                     endsItself,
	"endpoint":                 reachesPort,
	"endpoints":                reachesPort,
	"fast":                     "not needed; a task has no cluster to set up",
	"git-ref":                  inWorkdir,
	"git-url":                  inWorkdir,
	"graceful":                 "not needed; a stop gives the scripts a grace period",
	"idle-minutes-to-autostop": endsItself,
	"ip":                       reachesPort,
	"instance-type":            "request --cpus, --memory and --gpus",
	"job-recovery":             inFile,
	"max-restarts-on-errors":   "write resources.job_recovery in the task file",
	"kubernetes":               "run 'k8s-cli nodes'",
	"no-setup":                 "remove setup from the task file",
	"pool":                     "no pool is necessary; --num-jobs N submits copies of a task",
	"ports":                    "write resources.ports in the task file, and run 'k8s-cli jobs port-forward ID PORT'",
	"priority":                 inFile,
	"provision":                "run 'k8s-cli jobs events ID'",
	"purge":                    "not needed; the server forgets ended tasks by itself",
	"refresh":                  "not needed; lists show the present state",
	"retry-until-up":           "not needed; a task waits until the cluster has room",
	"server":                   "--api-url URL selects the server",
	"sync-down":                "--download DIR writes the logs to files",
	"wait-for":                 endsItself,
	"worker":                   "--node RANK selects a node",
	"workdir":                  "write workdir in the task file",
}

// skyShorthands maps the short flags of sky launch in the same way.
var skyShorthands = map[string]string{
	"c": noCluster,
	"i": endsItself,
	"p": skyFlags["pool"],
	"r": skyFlags["retry-until-up"],
	"t": skyFlags["instance-type"],
}
