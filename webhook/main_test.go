package webhook

import (
	"testing"

	"github.com/dogear-dev/dogear/test/rig/rigtest"
)

func TestMain(m *testing.M) { rigtest.Main(m) }
