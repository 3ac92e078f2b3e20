package demo

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"
)

// paintEvery is the time between two looks at what there is to paint.
const paintEvery = 200 * time.Millisecond

// screen is the view of a terminal: lines that stay, and below them what is
// painted over and over. Each painting is a single write, and there is none
// without a change, so nothing flickers. It needs no more than moving the
// cursor up and clearing to the end of a line, and leaves the cursor alone.
type screen struct {
	out   io.Writer
	size  func() (columns, lines int)
	style style
	begin time.Time

	mu      sync.Mutex
	pending []string // lines that stay and are not there yet
	doing   string   // the step that is under way
	since   time.Time
	board   *board
	painted []string // what is below
	after   *lines   // what goes on after the end

	stop func()
}

func newScreen(out io.Writer, size func() (int, int), st style, begin time.Time) *screen {
	s := &screen{out: out, size: size, style: st, begin: begin}
	stopping := make(chan struct{})
	var painting sync.WaitGroup
	s.stop = sync.OnceFunc(func() { close(stopping); painting.Wait() })
	painting.Go(func() {
		tick := time.NewTicker(paintEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				s.paint(time.Now())
			case <-stopping:
				return
			}
		}
	})
	return s
}

func (s *screen) say(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pending = append(s.pending, text)
}

func (s *screen) step(name string, do func() (string, error)) error {
	began := time.Now()
	s.begins(name, began)
	detail, err := do()
	s.begins("", time.Time{})
	if err == nil {
		s.say(fmt.Sprintf("%s%s %s %s", s.style.paint(green, s.style.icon("✓")), pad(name, 13), pad(detail, 54),
			s.style.paint(faint, fmt.Sprintf("%5.1f s", time.Since(began).Seconds()))))
	}
	return err
}

func (s *screen) begins(name string, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.doing, s.since = name, at
}

func (s *screen) changed(changes []transition) {
	s.mu.Lock()
	after := s.after
	s.mu.Unlock()
	if after != nil {
		after.changed(changes)
	}
}

func (s *screen) live(b *board) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.board = b
}

// end leaves the table as it is.
func (s *screen) end() {
	s.stop()
	s.mu.Lock()
	s.doing = ""
	s.mu.Unlock()
	s.paint(time.Now())
	s.mu.Lock()
	defer s.mu.Unlock()
	s.board, s.painted = nil, nil
}

func (s *screen) goOn() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.after = &lines{out: s.out, begin: s.begin, style: s.style}
}

var spinner = []string{"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"}

// below is what to paint below the lines that stay.
func (s *screen) below(now time.Time, width int) []string {
	switch {
	case s.doing != "":
		turn := spinner[int(now.Sub(s.since)/paintEvery)%len(spinner)]
		return []string{fit(fmt.Sprintf("%s%s ... %.0f s", s.style.icon(turn), s.doing, now.Sub(s.since).Seconds()), width)}
	case s.board != nil:
		objects, _ := s.board.look()
		if len(objects) == 0 {
			return nil
		}
		return append([]string{""}, table(objects, now, width, s.style)...)
	}
	return nil
}

// paint brings the terminal up to date with one write, or none.
func (s *screen) paint(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	width, height := s.size()
	below := s.below(now, width-1) // a full line would wrap
	if most := height - 1; most > 0 && len(below) > most {
		below = below[:most]
	}
	if len(s.pending) == 0 && slices.Equal(below, s.painted) {
		return
	}
	var frame strings.Builder
	frame.WriteString("\x1b[?2026h") // terminals that know it show the frame at once
	if up := rows(s.painted, width); up > 0 {
		fmt.Fprintf(&frame, "\x1b[%dA\r", up)
	}
	for _, text := range slices.Concat(s.pending, below) {
		frame.WriteString(text + "\x1b[K\n")
	}
	frame.WriteString("\x1b[J\x1b[?2026l")
	_, _ = io.WriteString(s.out, frame.String()) // a terminal that is gone ends the demo by a signal
	s.pending, s.painted = nil, below
}

// rows is how many rows lines take, which wrap where the terminal was made
// narrower since.
func rows(lines []string, width int) int {
	n := 0
	for _, text := range lines {
		n += max(1, (columns(clean(text))+width-1)/max(width, 1))
	}
	return n
}
