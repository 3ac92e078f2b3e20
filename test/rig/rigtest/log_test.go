package rigtest_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/go-logr/logr"

	"github.com/dogear-dev/dogear/test/rig/rigtest"
)

// noted is a testing.TB whose output can be read.
type noted struct {
	testing.TB
	out bytes.Buffer
}

func (n *noted) Output() io.Writer { return &n.out }

func TestLogIsPartOfItsTestAndEndsWithIt(t *testing.T) {
	var tb *noted
	var log logr.Logger
	t.Run("inner", func(t *testing.T) {
		tb = &noted{TB: t}
		log = rigtest.Log(tb)
		log.WithName("operator").Info("Started", "kind", "Widget")
		log.V(2).Info("Too detailed")
		log.Error(errors.New("no"), "Failed")
	})
	log.Info("After the end")
	text := tb.out.String()
	if lines := strings.Count(text, "\n"); lines != 2 {
		t.Errorf("%d lines, want 2:\n%s", lines, text)
	}
	for _, want := range []string{"operator ", `"msg"="Started"`, `"kind"="Widget"`, `"error"="no"`} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
}
