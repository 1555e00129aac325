package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"regexp"
	"sync"
	"sync/atomic"
)

// A transfer is many concurrent downloads of one archive, with concurrent submissions.
type transfer struct {
	once sync.Once
	err  error

	whole, cut atomic.Int64
	broken     string // the first truncated download
	submitted  int
	failed     string // the first failed submission
	log        string // log lines of the server about NATS
}

const downloadsAtOnce = 64

// natsTrouble matches log lines of a server whose connection to NATS has problems.
var natsTrouble = regexp.MustCompile(`(?m)^.*(outbound buffer|closed pipe|[Ss]low consumer|was delivered after).*$`)

// downloadAttacks read an archive with as many concurrent downloads as a large task has
// nodes.
func downloadAttacks() []attack {
	t := &transfer{}
	found := func(find func() string) func(context.Context, *environment) error {
		return func(ctx context.Context, w *environment) error {
			if t.once.Do(func() { t.err = t.run(ctx, w) }); t.err != nil {
				return t.err
			}
			if text := find(); text != "" {
				return fmt.Errorf("%s", text)
			}
			return nil
		}
	}
	return []attack{
		scene("64 downloads at once", "all are whole", found(func() string {
			if n := t.cut.Load(); n > 0 {
				return fmt.Sprintf("%d of %d are not: %s", n, downloadsAtOnce, t.broken)
			}
			return ""
		})),
		scene("submissions meanwhile", "all succeed", found(func() string { return t.failed })),
		scene("the log of the server", "no word of NATS", found(func() string { return t.log })),
	}
}

func (t *transfer) run(ctx context.Context, w *environment) error {
	s, err := w.serve(ctx, transfers)
	if err != nil {
		return err
	}
	size := 24 << 20
	if w.options.short {
		size = 4 << 20
	}
	content, err := s.keep(ctx, "ann", size)
	if err != nil {
		return err
	}
	sum := hashOf(content)
	var running sync.WaitGroup
	var first sync.Once
	for range downloadsAtOnce {
		running.Go(func() {
			if err := s.download(ctx, "ann", sum, content); err != nil {
				t.cut.Add(1)
				first.Do(func() { t.broken = err.Error() })
				return
			}
			t.whole.Add(1)
		})
	}
	ended := make(chan struct{})
	go func() { running.Wait(); close(ended) }()
	for over := false; !over || t.submitted < 20; t.submitted++ {
		if a := s.send(ctx, request{method: "POST", path: "/tasks/submit", body: task14, header: s.as("bob")}); a.code != 200 && t.failed == "" {
			t.failed = fmt.Sprintf("the submission %d: %s", t.submitted, a)
		}
		select {
		case <-ended:
			over = true
		default:
		}
	}
	t.log = natsTrouble.FindString(s.Said())
	return nil
}

// keep uploads an archive of random bytes and returns its content.
func (s *server) keep(ctx context.Context, user string, size int) (string, error) {
	raw := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{byte(size >> 16)}).Read(raw) // Read of ChaCha8 never fails
	content := string(raw)
	a := s.send(ctx, request{method: "PUT", path: "/uploads/" + hashOf(content), body: content, header: append([]string{"Content-Type", "application/gzip"}, s.as(user)...)})
	if a.code != 200 {
		return "", fmt.Errorf("upload %d bytes: %s", size, a)
	}
	return content, nil
}

// download downloads an archive and compares its content.
func (s *server) download(ctx context.Context, user, sum, content string) error {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/uploads/"+sum, nil)
	if err != nil {
		return err
	}
	header := s.as(user)
	q.Header.Set(header[0], header[1])
	response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(q)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	got, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != 200 || string(got) != content {
		return fmt.Errorf("%d, %d of %d bytes: %w", response.StatusCode, len(got), len(content), err)
	}
	return nil
}
