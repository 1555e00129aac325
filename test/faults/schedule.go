package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"k8s-cli/test/faults/check"
	"k8s-cli/test/faults/load"
	"k8s-cli/test/faults/rig"
	"k8s-cli/test/testkit"
)

// under runs the clients and one fault after the other. The faults are spread over the
// submissions, each at a random moment. All faults are over when under returns.
func (p *performance) under(ctx context.Context, work func(context.Context, *load.Actor), fault func(context.Context, int) (string, error)) error {
	working, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	p.load.Allow(0)
	go func() {
		defer close(done)
		p.load.Run(working, p.tasks, work)
	}()
	err := p.strike(ctx, done, fault)
	p.load.Allow(-1)
	if err != nil {
		stop()
	}
	<-done
	stop()
	p.say("all faults are over, all clients too")
	return err
}

const says = 20 // approximate number of progress lines

func (p *performance) strike(ctx context.Context, done <-chan struct{}, fault func(context.Context, int) (string, error)) error {
	for round := range p.rounds {
		if err := p.moment(ctx, done, round); err != nil {
			return err
		}
		striking, cancel := testkit.WithPatience(ctx, p.patience)
		what, err := fault(striking, round)
		cancel()
		if err != nil {
			return fmt.Errorf("round %d, %s: %w", round, what, err)
		}
		p.faults++
		if every := max(p.rounds/says, 1); round%every == 0 {
			p.say("round %d of %d: %s", round+1, p.rounds, what)
		}
	}
	return nil
}

// moment waits until the clients have begun the share of this round, and then for a random
// time. When the clients are done, moment does not wait for them.
func (p *performance) moment(ctx context.Context, done <-chan struct{}, round int) error {
	share := p.tasks / (p.rounds + 1)
	p.load.Allow((round + 2) * share) // leaves submissions for the time of the fault
	waiting, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(ctx, func() { cancel(ctx.Err()) })()
	go func() {
		select {
		case <-done:
			cancel(errClientsDone)
		case <-waiting.Done():
		}
	}()
	err := p.load.Await(waiting, round*share+p.rand.IntN(share+1))
	if err != nil && !errors.Is(err, errClientsDone) {
		return err
	}
	return testkit.Pause(ctx, time.Duration(p.rand.IntN(50))*time.Millisecond)
}

var errClientsDone = errors.New("the clients are done")

// anyServer returns a random server.
func (p *performance) anyServer() *rig.Server { return p.Servers[p.rand.IntN(len(p.Servers))] }

func (p *performance) killServer(ctx context.Context, _ int) (string, error) {
	s := p.anyServer()
	s.Kill()
	p.kills++
	err := testkit.Pause(ctx, time.Duration(p.rand.IntN(300))*time.Millisecond)
	return "SIGKILL of " + s.Name, errors.Join(err, s.Start(ctx))
}

func (p *performance) restartServer(ctx context.Context, round int) (string, error) {
	s := p.Servers[round%len(p.Servers)]
	return "SIGTERM of " + s.Name, errors.Join(s.Terminate(ctx), s.Start(ctx))
}

// pauseLeader stops the leader (SIGSTOP) for so long that it loses its Lease, and continues
// it when another server leads.
func (p *performance) pauseLeader(ctx context.Context, _ int) (string, error) {
	leader, others, err := p.Leader(ctx)
	if err != nil {
		return "SIGSTOP", err
	}
	what := "SIGSTOP of the leader " + leader.Name
	if len(others) == 0 {
		return what, errors.New("no other server could lead")
	}
	leader.Pause()
	defer leader.Resume()
	if err := awaitLeader(ctx, others); err != nil {
		return what, err
	}
	return what, testkit.Pause(ctx, time.Duration(p.rand.IntN(1000))*time.Millisecond)
}

// awaitLeader waits until one of these servers leads.
func awaitLeader(ctx context.Context, servers []*rig.Server) error {
	return testkit.Until(ctx, "another leader", func() (string, bool) {
		leads := slices.ContainsFunc(servers, func(s *rig.Server) bool { return s.Health(ctx).Leading })
		return "none leads", leads
	})
}

func (p *performance) killNode(ctx context.Context, round int) (string, error) {
	n := p.Nodes[round%len(p.Nodes)]
	n.Kill()
	p.kills++
	err := testkit.Pause(ctx, time.Duration(500+p.rand.IntN(2000))*time.Millisecond)
	return "SIGKILL of " + n.Name, errors.Join(err, n.Start(), p.AwaitNATS(ctx))
}

// killQuorum kills all NATS nodes but one, so that NATS cannot store anything.
func (p *performance) killQuorum(ctx context.Context, _ int) (string, error) {
	spared := p.rand.IntN(len(p.Nodes))
	for i, n := range p.Nodes {
		if i != spared {
			n.Kill()
			p.kills++
		}
	}
	err := testkit.Pause(ctx, time.Duration(500+p.rand.IntN(3000))*time.Millisecond)
	for i, n := range p.Nodes {
		if i != spared {
			err = errors.Join(err, n.Start())
		}
	}
	return "SIGKILL of all NATS nodes but one", errors.Join(err, p.AwaitNATS(ctx))
}

// apiFaults returns the faults that an API server may inject into the requests of a server.
func (p *performance) apiFaults() []*rig.Fault {
	return []*rig.Fault{
		{Name: "429 for writes", Match: rig.Writes, Code: http.StatusTooManyRequests, Chance: 0.7},
		{Name: "500 for half of all", Code: http.StatusInternalServerError, Chance: 0.5},
		{Name: "answers lost after the commit", Match: rig.Writes, Commit: true, Chance: 0.5},
		{Name: "stalled watches", Stall: true},
		{Name: "latency of writes", Match: rig.Writes, Delay: p.latency(), Chance: 0.3},
		{Name: "answers of creations late", Match: rig.On(http.MethodPost, "jobs"), Mute: true, Chance: 0.3},
		{Name: "no Leases", Match: rig.On("", "leases"), Code: http.StatusServiceUnavailable},
		{Name: "absence", Cut: true},
	}
}

func (p *performance) latency() time.Duration {
	return time.Duration(100+p.rand.IntN(3000)) * time.Millisecond
}

// apiFault injects one fault into the requests of one server, most often the leader, or of
// all servers.
func (p *performance) apiFault(ctx context.Context, round int) (string, error) {
	servers := p.Servers
	if p.rand.IntN(3) > 0 {
		leader, _, err := p.Leader(ctx)
		if err != nil {
			return "a fault of the API server", err
		}
		servers = []*rig.Server{leader}
	}
	what := ""
	for _, s := range servers {
		f := p.apiFaults()[round%len(p.apiFaults())]
		what = fmt.Sprintf("%s for %d servers", f.Name, len(servers))
		defer s.Proxy.Put(f)()
	}
	return what, testkit.Pause(ctx, time.Duration(500+p.rand.IntN(4000))*time.Millisecond)
}

// anyFault injects a random fault.
func (p *performance) anyFault(ctx context.Context, _ int) (string, error) {
	faults := []func(context.Context, int) (string, error){
		p.killServer, p.killServer, p.restartServer, p.pauseLeader, p.killNode, p.killQuorum, p.apiFault, p.apiFault, p.apiFault,
	}
	return faults[p.rand.IntN(len(faults))](ctx, p.rand.IntN(1000))
}

// oneOfEach injects the faults that find most violations, in a fixed order.
func (p *performance) oneOfEach(ctx context.Context, round int) (string, error) {
	faults := []func(context.Context, int) (string, error){p.killLeader, p.loseAnswers, p.killNode, p.pauseLeader}
	return faults[round%len(faults)](ctx, round)
}

func (p *performance) killLeader(ctx context.Context, _ int) (string, error) {
	leader, _, err := p.Leader(ctx)
	if err != nil {
		return "SIGKILL", err
	}
	leader.Kill()
	p.kills++
	return "SIGKILL of the leader " + leader.Name, leader.Start(ctx)
}

// loseAnswers drops the answers to random changes of the cluster after the API server has
// applied them, until enough answers were lost.
func (p *performance) loseAnswers(ctx context.Context, _ int) (string, error) {
	const what, enough = "answers lost after the commit", 10
	leader, _, err := p.Leader(ctx)
	if err != nil {
		return what, err
	}
	f := &rig.Fault{Name: what, Match: rig.Writes, Commit: true, Chance: 0.5}
	defer leader.Proxy.Put(f)()
	return what, leader.Proxy.Hits(ctx, f, enough)
}

// absence makes the API server unavailable, submits tasks meanwhile, and makes it available
// again.
func absence(ctx context.Context, p *performance) error {
	for _, s := range p.Servers {
		s.Proxy.Close()
	}
	p.faults++
	for _, s := range p.Servers {
		err := testkit.Until(ctx, s.Name+" to notice", func() (string, bool) {
			h := s.Health(ctx)
			return fmt.Sprintf("%+v", h), strings.Contains(strings.Join(h.Degraded, " "), "API server has not answered")
		})
		if err != nil {
			return err
		}
	}
	p.say("the API server is away")
	from := p.Recorder.Now()
	gone := make(chan error, 1)
	go func() { gone <- testkit.Pause(ctx, 10*time.Second) }()
	p.load.Run(ctx, p.tasks, load.Plain)
	p.say("all is submitted")
	err := <-gone
	p.expect.Away = append(p.expect.Away, check.Span{From: from, To: p.Recorder.Now()})
	for _, s := range p.Servers {
		err = errors.Join(err, s.Proxy.Open())
	}
	p.say("the API server is back")
	return err
}
