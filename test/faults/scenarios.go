package main

import (
	"context"
	"slices"
	"strconv"
	"time"

	"k8s-cli/test/faults/load"
)

// A scenario is a sequence of faults and the work of the clients meanwhile.
type scenario struct {
	name, help string
	sizes      sizes // the defaults of its sizes
	flags      []string
	steady     bool // all servers are always available
	wires      bool // a rig.Wire between each server and NATS
	links      bool // links between all NATS nodes, and between them and the servers
	forgets    bool // submissions may be unavailable: the log is lost, or an older release answers
	cuts       bool // the log is compacted during the run
	run        func(context.Context, *performance) error
}

// scenarios are all scenarios. The same rules check the history of each one.
var scenarios = []scenario{
	{
		name: "kills", help: "SIGKILL of servers at random moments (-rounds) while all that users do goes on (-tasks, -clients); -servers 3 for three on three NATS nodes",
		sizes: sizes{servers: 1, rounds: 20, tasks: 2000, clients: 64},
		run:   func(ctx context.Context, p *performance) error { return p.under(ctx, load.Mix, p.killServer) },
	},
	{
		name: "all", help: "every fault there is, in random order (-rounds), on three servers and three NATS nodes, while all that users do goes on",
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
		name: "rolling", help: "SIGTERM and start of one server after the other (-rounds)",
		sizes: sizes{servers: 3, nodes: 3, rounds: 9, tasks: 3000, clients: 64}, cuts: true,
		run: func(ctx context.Context, p *performance) error { return p.under(ctx, load.Mix, p.restartServer) },
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
		name: "away", help: "the API server is away for -away while -tasks are submitted; reads go on and say so",
		sizes: sizes{servers: 3, nodes: 3, tasks: 1000, clients: 64, away: 10 * time.Second}, steady: true,
		run: absence,
	},
	{
		name: "duplicates", help: "-copies of one submission at once, on all servers, -tasks times",
		sizes: sizes{servers: 3, nodes: 3, tasks: 5, copies: 200, clients: 4}, steady: true,
		run: func(ctx context.Context, p *performance) error {
			p.load.Run(ctx, p.tasks, func(ctx context.Context, a *load.Actor) { load.Copies(ctx, a, p.copies) })
			return nil
		},
	},
	{
		name: "stops", help: "-tasks pairs of a submission and its stop",
		sizes: sizes{servers: 3, nodes: 3, tasks: 1000, clients: 64}, steady: true,
		run: plainly(load.StopAfterSubmit),
	},
	{
		name: "churn", help: "the same while servers are killed (-rounds): the most changes of phase that a small cluster can have",
		sizes: sizes{servers: 3, nodes: 3, rounds: 20, tasks: 1000, clients: 64},
		run: func(ctx context.Context, p *performance) error {
			return p.under(ctx, load.StopAfterSubmit, p.killServer)
		},
	},
	{
		name: "pairs", help: "-tasks pairs of a write and a read on another server",
		sizes: sizes{servers: 3, nodes: 3, tasks: 2000, clients: 16}, steady: true,
		run: plainly(load.WriteRead),
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
		name: "repeats", help: "acknowledgements of NATS are lost, so that entries are stored twice (-rounds)",
		sizes: sizes{servers: 1, nodes: 1, rounds: 5, tasks: 100_000, clients: 1}, steady: true, wires: true, run: repeats,
	},
	{
		name: "partition", help: "a NATS node and a server are separated from the others by resets, black holes, in one direction, on one link or by slowness (-rounds), some while others are killed",
		sizes: sizes{servers: 2, nodes: 3, rounds: 10, tasks: 2000, clients: 16}, links: true, run: partition,
		flags: []string{maxJobsFlag, "5000"}, // the control plane of a small machine stays responsive
	},
	{
		name: "lagging", help: "a NATS node is away while the log is cut, and catches up slowly while servers are started and lead (-rounds, with -tasks in every snapshot)",
		sizes: sizes{servers: 2, nodes: 3, rounds: 2, tasks: 150, clients: 8}, links: true, cuts: true, run: lagging,
	},
	{
		name: "flags", help: "somebody starts a server that is not told how many copies NATS keeps (-rounds)",
		sizes: sizes{servers: 2, nodes: 3, rounds: 1, tasks: 20, clients: 8}, run: flags,
	},
	{
		name: "crowd", help: "more tasks (-tasks) than Jobs may be active at once, while servers are killed (-rounds)",
		sizes: sizes{servers: 2, nodes: 3, rounds: 5, tasks: 500, clients: 16}, flags: []string{maxJobsFlag, "20"},
		run: func(ctx context.Context, p *performance) error { return p.under(ctx, load.EndingMix(15), p.killServer) }, // a task of three nodes still fits
	},
	{
		name: "full", help: "one user's -tasks wait for 500 places while the leader is killed every 20 s for -away, and another user's do not wait",
		sizes: sizes{servers: 2, nodes: 3, tasks: 100_000, clients: 16, away: 10 * time.Minute}, flags: []string{maxJobsFlag, "500", "--history-tasks", "200000"},
		run: full,
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
	{
		name: "lostlog", help: "a server is killed and started again without its log (-rounds, of -tasks each)",
		sizes: sizes{servers: 1, rounds: 2, tasks: 40, clients: 8}, forgets: true, run: lostlog,
	},
	{
		name: "relog", help: "the log is purged, or deleted and made anew, while servers run (-rounds of twice -tasks)",
		sizes: sizes{servers: 3, nodes: 1, rounds: 2, tasks: 40, clients: 8}, forgets: true, run: relog,
	},
	{
		name: "stranger", help: "somebody puts a Job of the same name in the place of a task's (-rounds)",
		sizes: sizes{servers: 1, rounds: 2, clients: 1}, steady: true, run: stranger,
	},
}

// plainly returns a scenario in which clients work without faults.
func plainly(work func(context.Context, *load.Actor)) func(context.Context, *performance) error {
	return func(ctx context.Context, p *performance) error {
		p.load.Run(ctx, p.tasks, work)
		p.say("%d turns", p.tasks)
		return nil
	}
}

const maxJobsFlag = "--max-active-jobs"

// maxJobs returns how many Jobs may exist according to the flags of the servers. 0 means no
// limit.
func (s scenario) maxJobs() int {
	i := slices.Index(s.flags, maxJobsFlag)
	if i < 0 || i+1 == len(s.flags) {
		return 0
	}
	n, _ := strconv.Atoi(s.flags[i+1]) // the server reports an invalid number
	return n
}
