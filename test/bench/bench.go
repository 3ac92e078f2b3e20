package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/test/rig"
)

// workers is the number of objects that Dogear and the bare reconciler handle
// at the same time, and that of the driver's own requests under way.
const workers = 16

// bench is a run of the benchmark.
type bench struct {
	objects, rounds        int
	quick                  bool
	cpuProfile, memProfile string
	progress               io.Writer

	began       time.Time
	dir         string
	cp          *rig.ControlPlane
	admin       client.Client
	http        *http.Client
	kubeconfigs map[string]string
	endpoints   *process // of handlers over HTTP; nil: not started
}

// measure runs the selected scenarios. The document is kept up to date in a
// file; one that is returned with an error lacks the scenarios after it.
func (b *bench) measure(ctx context.Context, selected *regexp.Regexp, out string) (d *Document, err error) {
	b.began = time.Now()
	d = &Document{
		Time: b.began.Format(time.RFC3339), Machine: machine(), Scenarios: []Scenario{},
		Settings: Settings{Objects: b.objects, Rounds: b.rounds, Workers: workers, Quick: b.quick},
	}
	if b.dir, err = os.MkdirTemp("", "dogear-bench-"); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.dir)) }()
	b.say("starting a control plane")
	defer func() {
		if b.cp != nil {
			err = errors.Join(err, b.cp.Stop())
		}
	}()
	defer func() { err = errors.Join(err, b.endpoints.stop()) }()
	if err := b.start(ctx); err != nil {
		return nil, err
	}
	if d.Versions, err = b.versions(); err != nil {
		return nil, err
	}
	if err := b.warmUp(ctx); err != nil {
		return nil, err
	}
	for _, s := range scenarios {
		if s = s.only(selected); len(s.results) == 0 {
			continue
		}
		measured, err := s.measure(ctx, b, s)
		if err != nil {
			return d, fmt.Errorf("scenario %q: %w", s.name(), err)
		}
		d.Scenarios = append(d.Scenarios, measured...)
		d.Machine.LoadAfter = loadAverage()
		if err := saveDocument(out, d); err != nil {
			return d, err
		}
	}
	return d, nil
}

// warmUp has the API server do everything once before it counts.
func (b *bench) warmUp(ctx context.Context) error {
	namespace := namespaceOf(ceiling)
	b.say("warming up")
	err := each(ctx, b.objects, workers, func(ctx context.Context, i int) error {
		return errors.Join(b.create(ctx, ceiling, i), b.change(ctx, namespace, i, 0))
	})
	return errors.Join(err, b.clear(ctx, namespace))
}

// say prints a line of progress.
func (b *bench) say(format string, args ...any) {
	fmt.Fprintf(b.progress, "[%4.0f s] %s\n", time.Since(b.began).Seconds(), fmt.Sprintf(format, args...))
}

func (b *bench) versions() (Versions, error) {
	v := Versions{Go: runtime.Version(), Dogear: "unknown", Etcd: "unknown"}
	client, err := discovery.NewDiscoveryClientForConfig(b.cp.AdminConfig())
	if err != nil {
		return v, err
	}
	server, err := client.ServerVersion()
	if err != nil {
		return v, err
	}
	v.Kubernetes = server.GitVersion
	if text, err := exec.Command("git", "describe", "--always", "--dirty").Output(); err == nil {
		v.Dogear = strings.TrimSpace(string(text))
	}
	if path, err := rig.Binary("etcd"); err == nil {
		if text, err := exec.Command(path, "--version").Output(); err == nil {
			first, _, _ := strings.Cut(string(text), "\n")
			v.Etcd = strings.TrimPrefix(first, "etcd Version: ")
		}
	}
	info, _ := debug.ReadBuildInfo()
	for _, module := range info.Deps {
		switch module.Path {
		case "sigs.k8s.io/controller-runtime":
			v.ControllerRuntime = module.Version
		case "github.com/cert-manager/cert-manager":
			v.CertManager = module.Version
		}
	}
	return v, nil
}

func saveDocument(file string, d *Document) error {
	if file == "" {
		return nil
	}
	var text bytes.Buffer
	if err := writeDocument(&text, d); err != nil {
		return err
	}
	return os.WriteFile(file, text.Bytes(), 0o644)
}

func writeDocument(w io.Writer, d *Document) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(d)
}
