package build

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// quiet is how long a log that is not a terminal stays without a sign of life.
const quiet = 20 * time.Second

// A Teller says what is going on, and how long it has been going on.
type Teller struct {
	out      io.Writer
	terminal bool // lines may be written over
}

// NewTeller returns a Teller that writes to out.
func NewTeller(out *os.File) Teller {
	_, err := unix.IoctlGetTermios(int(out.Fd()), unix.TCGETS)
	return Teller{out: out, terminal: err == nil}
}

// Say writes one line.
func (t Teller) Say(format string, args ...any) {
	fmt.Fprintf(t.out, format+"\n", args...)
}

// During calls work and shows what until it returns.
func (t Teller) During(what string, work func() error) error {
	start := time.Now()
	stop := make(chan struct{})
	shown := make(chan struct{})
	go func() {
		defer close(shown)
		t.show(what, start, stop)
	}()
	err := work()
	close(stop)
	<-shown
	if err == nil {
		t.replace("%s ... done in %s", what, since(start))
		t.Say("")
	}
	return err
}

// show writes what over and over until stop is closed: on a terminal in place.
func (t Teller) show(what string, start time.Time, stop <-chan struct{}) {
	every := quiet
	if t.terminal {
		every = time.Second
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	t.line(what, start)
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
			t.line(what, start)
		}
	}
}

func (t Teller) line(what string, start time.Time) {
	t.replace("%s ... %s", what, since(start))
	if !t.terminal {
		t.Say("")
	}
}

func (t Teller) replace(format string, args ...any) {
	if t.terminal {
		fmt.Fprint(t.out, "\r\033[K")
	}
	fmt.Fprintf(t.out, format, args...)
}

func since(start time.Time) time.Duration { return time.Since(start).Round(time.Second) }
