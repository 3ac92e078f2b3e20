package main

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/dogear-dev/dogear/test/bench/subject"
)

const eventHead = `{"type":"MODIFIED","object":{"apiVersion":"cert-manager.io/v1","kind":"Certificate","metadata":{"annotations":{`

func TestEventsShowWhatIsHandled(t *testing.T) {
	marker := func(state, generation string) string {
		return `"dogear.bench.example.com/handled":"{\"v\":1,\"uid\":\"u\",\"essence\":\"e\",\"generation\":` + generation + `,\"by\":{\"myapp\":{}}}",` +
			`"dogear.bench.example.com/progress":"{\"v\":1,\"name\":\"object-7\"}","dogear.bench.example.com/state":"` + state + `"`
	}
	service := func(state, generation string) string {
		return strings.ReplaceAll(marker(state, generation), "dogear.bench.example.com", "dogear.dev")
	}
	progress := func(dead, live string) string {
		return `"dogear.dev/progress":"{\"v\":1,\"uid\":\"u\",\"handlers\":{\"absent/dead\":{\"cause\":\"Create\",\"state\":\"` + dead +
			`\"},\"bench/myapp\":{\"cause\":\"Create\",\"state\":\"` + live + `\"}}}","dogear.dev/state":"` + dead + `"`
	}
	tail := `},"creationTimestamp":"2026-01-01T00:00:00Z","generation":2,"name":"object-12","namespace":"n","resourceVersion":"345","uid":"u"},"spec":{"issuerRef":{"name":"ca"}}}}`
	for _, c := range []struct {
		name, who, annotations string
		want                   bool
	}{
		{"handled as it is", subject.Dogear, marker("Succeeded", "2"), true},
		{"handled before the change", subject.Dogear, marker("Succeeded", "1"), false},
		{"under way", subject.Dogear, marker("Pending", "2"), false},
		{"not marked", subject.Dogear, ``, false},
		{"marked by the other", subject.Dogear, `"bare.bench.example.com/handled":"2"`, false},
		{"the service has handled it", subject.HTTP, service("Succeeded", "2"), true},
		{"the service had handled it", subject.HTTP, service("Succeeded", "1"), false},
		{"the service is not the SDK", subject.HTTP, marker("Succeeded", "2"), false},
		{"handled, the other handler is due", deadSame, progress("Retrying", "Succeeded"), true},
		{"handled, but not for all handlers", subject.HTTP, progress("Retrying", "Succeeded"), false},
		{"due, the other handler has succeeded", deadSame, progress("Succeeded", "Pending"), false},
		{"handled, beside objects that wait", deadOthers, service("Succeeded", "2"), true},
		{"bare has handled it", subject.Bare, `"bare.bench.example.com/handled":"2"`, true},
		{"bare had handled it", subject.Bare, `"bare.bench.example.com/handled":"1"`, false},
		{"bare has not", subject.Bare, `"bare.bench.example.com/attempt":"2"`, false},
	} {
		event := []byte(eventHead + c.annotations + tail)
		if got := handledBy(c.who, event); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
		if i, ok := numberOf(event); !ok || i != 12 {
			t.Errorf("%s: number %d, %v; want 12", c.name, i, ok)
		}
		if version := versionOf(event); version != "345" {
			t.Errorf("%s: version %q, want 345", c.name, version)
		}
	}
	if version := versionOf([]byte(`{"type":"BOOKMARK","object":{"kind":"Certificate"}}`)); version != "" {
		t.Errorf("version %q of nothing", version)
	}
	if _, ok := numberOf([]byte(`{"type":"BOOKMARK","object":{"kind":"Certificate"}}`)); ok {
		t.Error("a bookmark is taken for an object")
	}
}

func TestCPUTimeOfAProcess(t *testing.T) {
	got, err := parseStat("42 (a ) name) S 1 42 42 0 -1 4194560 900 0 3 0 123 45 6 7 20 0 9 0 100 200 300")
	if err != nil || got != 168*tick {
		t.Errorf("parsed %v, %v; want %v", got, err, 168*tick)
	}
	if _, err := parseStat("42 (short) S 1"); err == nil {
		t.Error("a short line is no error")
	}
	busy, err := cpuTime(os.Getpid())
	if err != nil || busy < 0 || busy > time.Hour {
		t.Errorf("own CPU time is %v, %v", busy, err)
	}
	if mib, err := residentMiB(os.Getpid()); err != nil || mib < 1 || mib > 10_000 {
		t.Errorf("own memory is %v MiB, %v", mib, err)
	}
}
