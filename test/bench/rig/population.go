package rig

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"k8s-cli/pkg/cache"
	"k8s-cli/pkg/queue"
	"k8s-cli/pkg/queue/natsconn"
	"k8s-cli/pkg/queue/natsserver"
	"k8s-cli/pkg/task"
)

// PerUser is the number of tasks of each user. The last user has the remaining tasks.
const PerUser = 800

const (
	atOnce  = 1024    // tasks that are seeded concurrently, so that they share writes to the log
	putters = 4       // concurrent transactions of etcd
	maxPuts = 100     // keys in one transaction; etcd accepts 128
	maxSent = 1 << 19 // bytes in one transaction
)

// A Population is the tasks of a log and a namespace. All of them run.
type Population struct {
	Namespace string
	DataDir   string
	Tasks     []Owned // in no particular order
}

// An Owned is a task and its user.
type Owned struct{ User, ID string }

// User returns the name of user i, from 0. All names have the same length.
func User(i int) string { return fmt.Sprintf("user-%04d@example.com", i) }

// Seed fills a new log and a new namespace with n tasks like t. Each task has one Job and
// one running pod. Seed calls report with the progress.
func (p *Place) Seed(ctx context.Context, n int, t task.Spec, image string, report func(done int)) (*Population, error) {
	namespace, err := p.Namespace(ctx, "population")
	if err != nil {
		return nil, err
	}
	all := &Population{Namespace: namespace, DataDir: filepath.Join(p.Work, namespace), Tasks: make([]Owned, n)}
	err = p.seed(ctx, all, t, image, report)
	if err != nil {
		return nil, fmt.Errorf("seed %d tasks: %w", n, err)
	}
	return all, nil
}

func (p *Place) seed(ctx context.Context, all *Population, t task.Spec, image string, report func(int)) error {
	log, err := openLog(ctx, all.DataDir)
	if err != nil {
		return err
	}
	defer log.close()
	puts := make(chan []put, atOnce)
	g, ctx := errgroup.WithContext(ctx)
	for range putters {
		g.Go(func() error { return p.store.fill(ctx, puts) })
	}
	g.Go(func() error {
		defer close(puts)
		return p.live(ctx, log, all, t, image, puts, report)
	})
	return g.Wait()
}

// live appends to the log what happens to a task until it runs, and sends the Kubernetes
// objects of the task to puts.
func (p *Place) live(ctx context.Context, log *seedLog, all *Population, t task.Spec, image string, puts chan<- []put, report func(int)) error {
	var done atomic.Int64
	var once sync.Once
	var pattern *cast
	var patternErr error
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(atOnce)
	for i := range all.Tasks {
		g.Go(func() error {
			submit := task.Submit{ID: task.NewID(), User: User(i / PerUser), Task: t, Image: image}
			record, err := log.submit(ctx, &submit)
			if err != nil {
				return err
			}
			once.Do(func() { pattern, patternErr = p.newCast(ctx, all.Namespace, record) })
			if patternErr != nil {
				return patternErr
			}
			job, pod := pattern.pair(record)
			pair, err := pattern.puts(job, pod)
			if err != nil {
				return err
			}
			select {
			case puts <- pair:
			case <-ctx.Done():
				return ctx.Err()
			}
			all.Tasks[i] = Owned{submit.User, submit.ID}
			key := task.Key{Kind: task.KindTask, ID: submit.ID}
			if err := log.append(ctx, task.Command{Applied: &task.Applied{Key: key, UIDs: []string{string(job.UID)}}}); err != nil {
				return err
			}
			if err := log.append(ctx, task.Command{Started: &task.Started{ID: submit.ID, Nodes: []task.Node{node(job, pod)}}}); err != nil {
				return err
			}
			if n := done.Add(1); n%10_000 == 0 {
				report(int(n))
			}
			return nil
		})
	}
	return g.Wait()
}

// fill stores the puts that it receives, in transactions as large as etcd accepts.
func (s *store) fill(ctx context.Context, puts <-chan []put) error {
	var waiting []put
	size := 0
	send := func() error {
		if len(waiting) == 0 {
			return nil
		}
		err := s.putAll(ctx, waiting)
		waiting, size = waiting[:0], 0
		return err
	}
	for more := range puts {
		for _, p := range more {
			waiting, size = append(waiting, p), size+len(p.value)
		}
		if len(waiting)+2 > maxPuts || size > maxSent {
			if err := send(); err != nil {
				return err
			}
		}
	}
	return send()
}

// A seedLog is a new log that only this process writes.
type seedLog struct {
	server *natsserver.Server
	conn   *natsconn.Conn
	log    *queue.Log
	store  *cache.Store
	stop   context.CancelFunc
	ended  chan struct{}
}

func openLog(ctx context.Context, dir string) (*seedLog, error) {
	server, err := natsserver.Start(natsserver.Config{Dir: dir})
	if err != nil {
		return nil, err
	}
	conn, err := server.Connect()
	if err != nil {
		server.Close()
		return nil, err
	}
	l := &seedLog{server: server, conn: conn, store: cache.New(), ended: make(chan struct{})}
	if l.log, err = queue.Open(ctx, conn, queue.Config{SingleWriter: true, Dir: dir, Store: server}); err != nil {
		conn.Close()
		server.Close()
		return nil, err
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	l.stop = stop
	go func() {
		_ = l.log.Run(running, l.store) // an append returns the reason why the log ended
		close(l.ended)
	}()
	if err := l.log.WaitCaughtUp(ctx); err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

func (l *seedLog) close() {
	l.stop()
	<-l.ended
	l.conn.Close()
	l.server.Close()
}

// submit appends a submission and returns its record. If the id is taken, submit appends
// again with another id.
func (l *seedLog) submit(ctx context.Context, s *task.Submit) (*task.Record, error) {
	for {
		verdict, err := l.log.Append(ctx, task.Command{Submit: s})
		switch {
		case err != nil:
			return nil, err
		case verdict.Rejection == task.RejectedIDExists:
			s.ID = task.NewID()
			continue
		case verdict.Rejection != "":
			return nil, fmt.Errorf("the log refused a task: %s", verdict.Rejection)
		}
		record := l.store.TaskView(s.ID).Record
		if record == nil {
			return nil, errors.New("the log took a task that it does not have")
		}
		return record, nil
	}
}

func (l *seedLog) append(ctx context.Context, c task.Command) error {
	verdict, err := l.log.Append(ctx, c)
	if err == nil && verdict.Rejection != "" {
		err = fmt.Errorf("the log refused a fact: %s", verdict.Rejection)
	}
	return err
}
