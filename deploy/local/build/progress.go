package build

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// quiet is how long a log that is not a terminal stays without a sign of life.
const quiet = 15 * time.Second

// A Teller says what is going on, and how long it has been going on.
type Teller struct {
	out      io.Writer
	terminal bool // lines may be written over
	mu       *sync.Mutex
}

// NewTeller returns a Teller that writes to out.
func NewTeller(out *os.File) Teller {
	_, err := unix.IoctlGetTermios(int(out.Fd()), unix.TCGETS)
	return Teller{out: out, terminal: err == nil, mu: new(sync.Mutex)}
}

// Say writes one line. The next status of During follows below that line.
func (t Teller) Say(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.terminal {
		fmt.Fprint(t.out, "\r\033[K")
	}
	fmt.Fprintf(t.out, format+"\n", args...)
}

// During calls work, and shows what status returns until work returns: a terminal has one
// line, which changes, and a log gets a line every 15 seconds.
func (t Teller) During(status func() string, work func() error) error {
	stop := make(chan struct{})
	shown := make(chan struct{})
	go func() {
		defer close(shown)
		t.show(status, stop)
	}()
	err := work()
	close(stop)
	<-shown
	return err
}

func (t Teller) show(status func() string, stop <-chan struct{}) {
	every := quiet
	if t.terminal {
		every = time.Second
		t.draw(status())
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			t.draw("")
			return
		case <-tick.C:
			t.draw(status())
		}
	}
}

// draw writes a line. On a terminal, the next line replaces it.
func (t Teller) draw(line string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.terminal:
		fmt.Fprint(t.out, "\r\033[K"+line)
	case line != "":
		fmt.Fprintln(t.out, line)
	}
}

// The estimate starts with an assumption: an idle processor compiles assumedPace bytes of
// source in a second. The assumption counts as much as a measurement of assumedWeight.
const (
	assumedPace   = 150 << 10
	assumedWeight = 15 * time.Second
)

// A progress counts packages that are compiled. It reads the output of go build -v, which
// contains the name of each package when the compiler starts with the package.
type progress struct {
	mu         sync.Mutex
	title      string
	processors int
	sizes      map[string]int64 // of the packages that remain, by name
	total      int
	todo, done int64 // bytes of source
	began      time.Time
	rest       []byte // of an incomplete line
	now        func() time.Time
}

func newProgress(processors int) *progress {
	return &progress{processors: processors, sizes: map[string]int64{}, now: time.Now}
}

// expect adds packages that have to be compiled. Two programs may share a package.
func (p *progress) expect(sizes map[string]int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for name, size := range sizes {
		if _, ok := p.sizes[name]; !ok {
			p.sizes[name] = size
			p.total++
			p.todo += size
		}
	}
}

// begin sets the title of the component that is built now.
func (p *progress) begin(title string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.title = title
	if p.began.IsZero() {
		p.began = p.now()
	}
}

// Write reads output of go build.
func (p *progress) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rest = append(p.rest, b...)
	for {
		line, rest, found := bytes.Cut(p.rest, []byte("\n"))
		if !found {
			return len(b), nil
		}
		p.rest = rest
		if size, ok := p.sizes[string(line)]; ok {
			delete(p.sizes, string(line))
			p.todo -= size
			p.done += size
		}
	}
}

// status returns the line that users see.
func (p *progress) status() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.title == "" {
		return "counting what has to be built"
	}
	if p.total == 0 || len(p.sizes) == 0 {
		return fmt.Sprintf("building %s: linking", p.title)
	}
	return fmt.Sprintf("building %s: %d of %d packages, %s", p.title, p.total-len(p.sizes), p.total, about(p.left()))
}

// left estimates how long the rest takes. The longer the build runs, the less the
// assumption counts.
func (p *progress) left() time.Duration {
	assumed := float64(assumedPace * p.processors)
	pace := (assumed*assumedWeight.Seconds() + float64(p.done)) / (assumedWeight.Seconds() + p.now().Sub(p.began).Seconds())
	return time.Duration(float64(p.todo) / pace * float64(time.Second))
}

// about rounds a duration to what the estimate can tell.
func about(d time.Duration) string {
	switch {
	case d < 50*time.Second:
		return "less than a minute left"
	case d < 100*time.Second:
		return "about a minute left"
	default:
		return fmt.Sprintf("about %d minutes left", int(d.Minutes()+0.5))
	}
}

func since(start time.Time) time.Duration { return time.Since(start).Round(time.Second) }
