package demo

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// view shows how the demo gets on. Its methods may be called from several
// goroutines.
type view interface {
	// step runs one step of the start; do returns a few words about what is there now.
	step(name string, do func() (string, error)) error
	// say shows a line that stays.
	say(text string)
	// changed is told what has changed on the board.
	changed([]transition)
	// live shows the board from now on, if the view can.
	live(*board)
	// end shows what is still to be shown, and leaves the rest to others. It may
	// be called again.
	end()
	// goOn shows changes after the end, a line for each.
	goOn()
}

func newView(o Options, begin time.Time) view {
	if o.Size != nil && !o.JSON {
		return newScreen(o.Stdout, o.Size, style{o.Color}, begin)
	}
	out := o.Stdout
	if o.JSON {
		out = o.Stderr
	}
	return &lines{out: out, begin: begin, style: style{o.Color && !o.JSON}}
}

// stillEvery is how often a long step says that it goes on.
const stillEvery = 5 * time.Second

// lines is the view of everything that is no terminal: a line per change, with
// the time since the start.
type lines struct {
	begin time.Time
	style style

	mu  sync.Mutex
	out io.Writer
}

func (l *lines) say(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, _ = fmt.Fprintf(l.out, "[%5.1fs] %s\n", time.Since(l.begin).Seconds(), strings.TrimRight(text, " "))
}

func (l *lines) step(name string, do func() (string, error)) error {
	l.say(name + " ...")
	began, done := time.Now(), make(chan struct{})
	var ticking sync.WaitGroup
	ticking.Go(func() {
		tick := time.NewTicker(stillEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				l.say(fmt.Sprintf("%s ... (%.0f s)", name, time.Since(began).Seconds()))
			case <-done:
				return
			}
		}
	})
	detail, err := do()
	close(done)
	ticking.Wait()
	if err == nil {
		l.say(fmt.Sprintf("%s: %s (%.1f s)", name, detail, time.Since(began).Seconds()))
	}
	return err
}

func (l *lines) changed(changes []transition) {
	for _, t := range changes {
		l.say(t.text(l.style))
	}
}

func (l *lines) live(*board) {}
func (l *lines) end()        {}
func (l *lines) goOn()       {}

// text is a transition in one line.
func (t transition) text(st style) string {
	color, icon := st.of(t.State)
	text := fmt.Sprintf("%s  %s  %s", pad(clean(t.Object), 17), pad(clean(t.Handler), 15),
		st.paint(color, st.icon(icon)+pad(clean(string(t.State)), 9)))
	if t.Attempts > 0 {
		text += fmt.Sprintf("  tries=%d", t.Attempts)
	}
	if left := time.Until(t.Next); !t.Next.IsZero() && left > 0 {
		text += fmt.Sprintf("  next in %.1fs", left.Seconds())
	}
	if payload := payloadText(t.Payload); payload != "" {
		text += "  " + payload
	}
	if t.Message != "" {
		text += "  (" + clean(t.Message) + ")"
	}
	return text
}
