package main

import (
	"context"

	"k8s-cli/test/faults/load"
)

// sizes scale a scenario.
type sizes struct {
	servers int
	nodes   int // NATS nodes; 0 means NATS inside the only server
	rounds  int
	tasks   int
	clients int
}

// A scenario is a sequence of faults and the work of the clients meanwhile.
type scenario struct {
	name, help string
	sizes      sizes // the flags may change rounds and tasks
	maxJobs    int   // --max-active-jobs; 0 means the default
	steady     bool  // all servers are always available
	links      bool  // links between all NATS nodes, and between them and the servers
	cuts       bool  // the log is compacted during the run
	run        func(context.Context, *performance) error
}

// scenarios are all scenarios. The same rules check the history of each one.
var scenarios = []scenario{
	{
		name: "kills", help: "kills servers with SIGKILL at random moments (-rounds), while users send requests of every kind (-tasks)",
		sizes: sizes{servers: 1, rounds: 20, tasks: 2000, clients: 64},
		run:   func(ctx context.Context, p *performance) error { return p.under(ctx, load.Mix, p.killServer) },
	},
	{
		name: "all", help: "injects every fault in random order (-rounds) on three servers and three NATS nodes, while users send requests of every kind",
		sizes: sizes{servers: 3, nodes: 3, rounds: 30, tasks: 3000, clients: 64}, cuts: true,
		run: func(ctx context.Context, p *performance) error { return p.under(ctx, load.Mix, p.anyFault) },
	},
	{
		name: "short", help: "one fault of each kind in a fixed order (-rounds), as make test has it",
		sizes: sizes{servers: 3, nodes: 3, rounds: 4, tasks: 400, clients: 32},
		run:   func(ctx context.Context, p *performance) error { return p.under(ctx, load.Mix, p.oneOfEach) },
	},
	{
		name: "pauses", help: "SIGSTOP of the leader until another one leads, then SIGCONT (-rounds)",
		sizes: sizes{servers: 3, nodes: 3, rounds: 5, tasks: 2000, clients: 64}, cuts: true,
		run: func(ctx context.Context, p *performance) error { return p.under(ctx, load.Mix, p.pauseLeader) },
	},
	{
		name: "nats", help: "each NATS node is killed in turn (-rounds) during -tasks submissions to three servers",
		sizes: sizes{servers: 3, nodes: 3, rounds: 3, tasks: 2000, clients: 64}, steady: true,
		run: func(ctx context.Context, p *performance) error { return p.under(ctx, load.Plain, p.killNode) },
	},
	{
		name: "api", help: "what an API server may do: 429, 500, answers lost after the commit, stalled watches, latency, absence (-rounds)",
		sizes: sizes{servers: 3, nodes: 3, rounds: 12, tasks: 2000, clients: 64}, steady: true,
		run: func(ctx context.Context, p *performance) error { return p.under(ctx, load.Mix, p.apiFault) },
	},
	{
		name: "away", help: "the API server is away for ten seconds while -tasks are submitted; reads go on and say so",
		sizes: sizes{servers: 3, nodes: 3, tasks: 1000, clients: 64}, steady: true,
		run: absence,
	},
	{
		name: "late", help: "a leader dies while its creations are under way, and they arrive after their tasks were stopped (-rounds)",
		sizes: sizes{servers: 2, nodes: 3, rounds: 2, clients: 1}, run: late,
	},
	{
		name: "deposed", help: "a leader loses its Lease while the answers to its creations are under way (-rounds)",
		sizes: sizes{servers: 2, nodes: 3, rounds: 2, clients: 1}, steady: true, run: deposed,
	},
	{
		name: "partition", help: "a NATS node and a server are separated from the others by resets, black holes, in one direction, on one link or by slowness (-rounds), some while others are killed",
		sizes: sizes{servers: 2, nodes: 3, rounds: 10, tasks: 2000, clients: 16}, links: true, run: partition,
		maxJobs: 5000, // the control plane of a small machine stays responsive
	},
	{
		name: "lagging", help: "a NATS node is away while the log is cut, and catches up slowly while servers are started and lead (-rounds, with -tasks in every snapshot)",
		sizes: sizes{servers: 2, nodes: 3, rounds: 2, tasks: 150, clients: 8}, links: true, cuts: true, run: lagging,
	},
	{
		name: "crowd", help: "more tasks (-tasks) than Jobs may be active at once, while servers are killed (-rounds)",
		sizes: sizes{servers: 2, nodes: 3, rounds: 5, tasks: 500, clients: 16}, maxJobs: 20,
		run: func(ctx context.Context, p *performance) error { return p.under(ctx, load.EndingMix(15), p.killServer) }, // a task of three nodes still fits
	},
	{
		name: "chains", help: "-tasks chains of five tasks, and some graphs of fifty, under every fault there is (-rounds)",
		sizes: sizes{servers: 3, nodes: 3, rounds: 10, tasks: 200, clients: 16},
		run:   func(ctx context.Context, p *performance) error { return p.under(ctx, load.ChainOrGraph, p.anyFault) },
	},
	{
		name: "claims", help: "claims are created late while tasks mount them (-tasks)",
		sizes: sizes{servers: 1, tasks: 30, clients: 4}, steady: true, run: claims,
	},
}
