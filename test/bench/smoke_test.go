package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dogear-dev/dogear/test/bench/subject"
	"github.com/dogear-dev/dogear/test/rig"
)

// The subjects are started from the binary of the test.
func TestMain(m *testing.M) {
	if subject.Is(os.Args[1:]) {
		main()
		return
	}
	os.Exit(m.Run())
}

// The whole benchmark runs, and its document has what is asked of it. Nothing
// is said about speed.
func TestBenchmarkRuns(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a control plane, which -short leaves out")
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "bench.json")
	var out, progress bytes.Buffer
	err := run(t.Context(), []string{"-quick", "-objects", "10", "-o", "json", "-out", file, "-cpuprofile", filepath.Join(dir, "p.")}, &out, &progress)
	if errors.Is(err, rig.ErrNoAssets) {
		t.Fatal(err)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, progress.String())
	}
	saved, err := os.ReadFile(file)
	if err != nil || !bytes.Equal(saved, out.Bytes()) {
		t.Errorf("the file is not what was printed: %v", err)
	}
	var d Document
	decoder := json.NewDecoder(&out)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&d); err != nil {
		t.Fatal(err)
	}
	checkDocument(t, &d)
	for _, name := range []string{"create", "restart", "http-restart", "http-dead-neighbour"} {
		if !strings.Contains(progress.String(), "\n"+name+" ") {
			t.Errorf("the table has no line of %q:\n%s", name, progress.String())
		}
	}
	if profile, err := os.Stat(filepath.Join(dir, "p.create.cpu.pprof")); err != nil || profile.Size() == 0 {
		t.Errorf("no CPU profile was written: %v", err)
	}
}

func checkDocument(t *testing.T, d *Document) {
	t.Helper()
	if d.Machine.CPUs < 1 || d.Versions.Kubernetes == "" || d.Versions.ControllerRuntime == "" || !d.Settings.Quick {
		t.Errorf("machine %+v, versions %+v, settings %+v", d.Machine, d.Versions, d.Settings)
	}
	var names []string
	for _, s := range d.Scenarios {
		names = append(names, s.Name)
	}
	want := []string{
		"create", "http-create", "http-dead-neighbour", "http-dead-backlog", "create-half", "http-create-half", "create-no-webhook",
		"update", "http-update", "retry-delete", "http-retry-delete", "restart", "http-restart", "admission-create", "admission-update",
	}
	if !slices.Equal(names, want) {
		t.Fatalf("scenarios %v, want %v", names, want)
	}
	for _, s := range d.Scenarios {
		switch {
		case strings.HasPrefix(s.Name, "admission"):
			checkAdmission(t, s)
		case strings.HasSuffix(s.Name, "restart"):
			checkRestart(t, s)
		default:
			checkLoad(t, s)
		}
		checkService(t, s)
	}
}

// checkService checks what is only said of the service, and of it beside a
// dead endpoint.
func checkService(t *testing.T, s Scenario) {
	t.Helper()
	service, beside := strings.HasPrefix(s.Name, "http-"), strings.HasPrefix(s.Name, "http-dead-")
	if got := s.RatioToSDK != nil && s.CPURatioToSDK != nil && s.References[theSDK] != nil; got != service {
		t.Errorf("%s: is compared to the SDK: %v, want %v", s.Name, got, service)
	}
	if got := s.RatioToAlone != nil && s.CPURatioToAlone != nil && s.References[alone] != nil; got != beside {
		t.Errorf("%s: is compared to the service alone: %v, want %v", s.Name, got, beside)
	}
}

func checkLoad(t *testing.T, s Scenario) {
	t.Helper()
	bare, top := s.References[subject.Bare], s.References[ceiling]
	if bare == nil || top == nil || top.Rate == nil {
		t.Fatalf("%s: references %v", s.Name, s.References)
	}
	name := strings.TrimPrefix(s.Name, "http-")
	for who, f := range map[string]*Figures{"dogear": &s.Figures, "bare": bare} {
		if f.Objects != 10 || f.Rate == nil || *f.Rate <= 0 || f.LatencyMs == nil || f.LatencyMs.P50 > f.LatencyMs.P99 ||
			f.CPUMsPerObject == nil || f.RSSMiB == nil || f.WritesPerObject == nil || f.ReadyMs != nil || f.HandlerRuns != nil {
			t.Errorf("%s: figures of %s: %+v", s.Name, who, f)
		}
	}
	if s.RatioToCeiling == nil || s.RatioToBare == nil || s.CPURatioToBare == nil || s.LatencyRatioToBare == nil || s.LatencyRatioToNoop != nil {
		t.Errorf("%s: ratios are missing, or too many: %+v", s.Name, s)
	}
	if noop := s.References[bareNoop]; noop != nil && (s.RatioToBareNoop == nil || s.CPURatioToBareNoop == nil || s.LatencyRatioToBareNoop == nil) {
		t.Errorf("%s: ratios to %s are missing: %+v", s.Name, bareNoop, s)
	}
	if behind := slices.Contains([]string{"create", "create-half", "update", "dead-neighbour", "dead-backlog"}, name); behind != (s.References[bareNoop] != nil) {
		t.Errorf("%s: has figures of %s: %v, want %v", s.Name, bareNoop, !behind, behind)
	}
	writes := Writes{Main: 1}
	switch name {
	case "retry-delete":
		writes = Writes{Main: 4, Events: 1}
	case "dead-neighbour", "dead-backlog":
		return // the handler that waits has a say in it
	}
	if got := s.WritesPerObject; got != nil && *got != writes {
		t.Errorf("%s: %+v an object, want %+v", s.Name, *got, writes)
	}
}

func checkRestart(t *testing.T, s Scenario) {
	t.Helper()
	if s.Objects != 50 || s.ReadyMs == nil || s.RSSMiB == nil || s.LatencyMs != nil || s.RatioToCeiling != nil {
		t.Errorf("restart: %+v", s)
	}
	if s.HandlerRuns == nil || *s.HandlerRuns != 0 || s.WritesPerObject == nil || *s.WritesPerObject != (Writes{}) {
		t.Errorf("restart: runs %v, writes %+v: want none", number(s.HandlerRuns, 0), s.WritesPerObject)
	}
}

func checkAdmission(t *testing.T, s Scenario) {
	t.Helper()
	if s.Rate != nil || s.WritesPerObject != nil || s.LatencyMs == nil || s.LatencyRatioToNoop == nil {
		t.Errorf("%s: %+v", s.Name, s)
	}
	for _, name := range []string{none, subject.Noop} {
		if r := s.References[name]; r == nil || r.LatencyMs == nil || r.LatencyMs.P50 <= 0 {
			t.Errorf("%s: reference %q: %+v", s.Name, name, r)
		}
	}
}

func TestFlagsAreChecked(t *testing.T) {
	for _, args := range [][]string{{"-rounds", "2"}, {"-objects", "1"}, {"-o", "xml"}, {"-scenario", "("}, {"-unknown"}} {
		var out, progress bytes.Buffer
		if err := run(t.Context(), args, &out, &progress); err == nil {
			t.Errorf("%v is no error", args)
		}
	}
}
