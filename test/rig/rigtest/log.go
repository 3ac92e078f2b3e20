package rigtest

import (
	"fmt"
	"io"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
)

// Log returns a log for what runs inside a test, such as an operator. Its
// lines are part of the test's output: go test shows them next to the failure
// of that test, and those of a test that passes not at all. What is logged
// after the end of the test is dropped.
func Log(t testing.TB) logr.Logger {
	l := &testLog{out: t.Output()}
	t.Cleanup(l.end)
	return funcr.New(l.line, funcr.Options{LogTimestamp: true, TimestampFormat: "15:04:05.000", Verbosity: 1})
}

// testLog writes to the output of a test while that may be written to.
type testLog struct {
	mu  sync.Mutex
	out io.Writer
}

func (l *testLog) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.out = io.Discard
}

func (l *testLog) line(name, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintf(l.out, "%s %s\n", name, text)
}
