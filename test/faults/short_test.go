package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"k8s-cli/test/faults/bugs"
	"k8s-cli/test/faults/check"
	"k8s-cli/test/faults/rig"
	"k8s-cli/test/testkit"
)

const envKubeconfig = "K8S_CLI_TEST_FAULTS_KUBECONFIG" // kubeconfig of a cluster with fake nodes

func TestMain(m *testing.M) {
	rig.RunNode()
	m.Run()
}

// Short schedules of faults: a server with an embedded NATS is killed; three servers on
// three NATS nodes get one fault of each kind; the network separates two servers, by resets
// and by a black hole.
func TestShortSchedule(t *testing.T) {
	testkit.Need(t, envKubeconfig, testkit.EnvPrograms)
	server := filepath.Join(os.Getenv(testkit.EnvPrograms), "k8s-cli-server")
	for _, o := range []options{
		{scenario: "kills", rounds: 3, tasks: 200},
		{scenario: "short", tasks: 300},
		{scenario: "partition", rounds: 2, tasks: 300},
	} {
		t.Run(o.scenario, func(t *testing.T) {
			o.seed, o.kubeconfig, o.patience = 1, os.Getenv(envKubeconfig), 3*time.Minute
			s, err := find(o.scenario)
			if err != nil {
				t.Fatal(err)
			}
			s.sizes.clients = min(s.sizes.clients, 32)
			found, err := perform(t.Context(), o, s, server, t.Output())
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range found {
				if v.Rule == check.Cutoff { // depends on time, and the machine may be too slow
					t.Logf("too late: %s", v)
					continue
				}
				t.Errorf("violation: %s", v)
			}
		})
	}
}

// The scenario of every seeded bug exists.
func TestEveryBugHasAScenario(t *testing.T) {
	for _, b := range bugs.All {
		if _, err := find(b.Scenario); err != nil {
			t.Errorf("%s: %v", b.Name, err)
		}
	}
}
