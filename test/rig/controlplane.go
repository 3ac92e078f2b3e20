package rig

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// startLimit bounds one try to start everything; 3 to 8 s are usual.
const startLimit = 2 * time.Minute

// Options say what Start starts. The zero value is a bare API server on etcd.
type Options struct {
	// Dir holds data, certificates and logs, and stays after Stop. It must be
	// empty or missing. Default: a temporary folder that Stop removes.
	Dir string
	// ControllerManager adds kube-controller-manager: without it namespaces are
	// not emptied, owned objects not collected, and no ServiceAccount "default"
	// is made.
	ControllerManager bool
	// Controllers are those that it runs, by name. Default: DefaultControllers.
	Controllers []string
	// EtcdArgs, APIServerArgs and ControllerManagerArgs are added last, and so win.
	EtcdArgs, APIServerArgs, ControllerManagerArgs []string
	// AuditPolicy has the API server write events by this policy (YAML) to the
	// file AuditLog. Default: none.
	AuditPolicy string
	// Log gets a line per step. Default: none.
	Log io.Writer
}

// A ControlPlane is a running etcd and API server, each on a loopback port of
// its own.
type ControlPlane struct {
	options   Options
	dir       string
	ports     ports
	authority *authority
	admin     pair
	processes map[Name]*Process
	keep      bool // the data stays after Stop
	client    func() (client.Client, error)
	first     []func() error // what Stop does before anything else
}

type ports struct{ etcd, peer, apiserver, manager int }

// Start starts a control plane and waits until it is ready: every post-start
// hook of the API server is done and the namespace "default" exists. ctx bounds
// the start alone. On an error nothing is left running. Missing programs are
// ErrNoAssets.
func Start(ctx context.Context, options Options) (*ControlPlane, error) {
	if options.Log == nil {
		options.Log = io.Discard
	}
	for try := 1; ; try++ {
		cp, err := start(ctx, options)
		if err == nil {
			return cp, nil
		}
		// Somebody was faster on a port: others are free.
		if try == 5 || !strings.Contains(err.Error(), "address already in use") {
			return nil, fmt.Errorf("start the control plane: %w", err)
		}
		fmt.Fprintln(options.Log, "rig: a port was taken meanwhile, trying others")
	}
}

func start(ctx context.Context, options Options) (*ControlPlane, error) {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	cp, err := prepare(options)
	if err == nil {
		err = cp.launch(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, cp.discard())
	}
	return cp, nil
}

// prepare makes folders, ports and certificates; nothing runs yet.
func prepare(options Options) (*ControlPlane, error) {
	cp := &ControlPlane{options: options, processes: map[Name]*Process{}, keep: options.Dir != ""}
	cp.client = sync.OnceValues(cp.newClient)
	var err error
	if cp.dir, err = dataDir(options.Dir); err != nil {
		return cp, err
	}
	free, err := freePorts(4)
	if err != nil {
		return cp, err
	}
	cp.ports = ports{etcd: free[0], peer: free[1], apiserver: free[2], manager: free[3]}
	if cp.authority, err = newAuthority(); err != nil {
		return cp, fmt.Errorf("make a certificate authority: %w", err)
	}
	if cp.admin, err = cp.authority.pki(cp.dir, cp.ports.apiserver); err != nil {
		return cp, fmt.Errorf("make certificates: %w", err)
	}
	return cp, nil
}

func (cp *ControlPlane) launch(ctx context.Context) error {
	steps := []func() (*Process, error){cp.etcd, cp.apiserver}
	if cp.options.ControllerManager {
		steps = append(steps, cp.controllerManager)
	}
	for _, step := range steps {
		process, err := step()
		if err != nil {
			return err
		}
		cp.processes[process.name] = process
		begin := time.Now()
		if err := process.Restart(ctx); err != nil {
			return err
		}
		fmt.Fprintf(cp.options.Log, "rig: %s ready in %.1f s\n", process.name, time.Since(begin).Seconds())
	}
	return nil
}

// Process returns a process of the control plane, nil if it has no such.
func (cp *ControlPlane) Process(name Name) *Process { return cp.processes[name] }

// Dir returns the folder with data, certificates (ca.crt) and logs.
func (cp *ControlPlane) Dir() string { return cp.dir }

// Keep lets Stop leave the data and logs, for a look at what failed.
func (cp *ControlPlane) Keep() { cp.keep = true }

// BeforeStop has do called when Stop begins, for what runs on the control plane
// and must not outlive it. The last one given is called first.
func (cp *ControlPlane) BeforeStop(do func() error) { cp.first = append(cp.first, do) }

// Stop kills all processes and removes the data, unless Options.Dir was set or
// Keep called. It may be called again.
func (cp *ControlPlane) Stop() error {
	var errs []error
	for _, do := range slices.Backward(cp.first) {
		errs = append(errs, do())
	}
	cp.first = nil
	for _, name := range []Name{ControllerManager, APIServer, Etcd} {
		if process := cp.processes[name]; process != nil {
			errs = append(errs, process.Kill())
		}
	}
	if !cp.keep {
		errs = append(errs, os.RemoveAll(cp.dir))
	}
	return errors.Join(errs...)
}

// discard is Stop after a failed start: its Dir is emptied for another try.
func (cp *ControlPlane) discard() error {
	if cp.dir == "" {
		return nil
	}
	if err := cp.Stop(); err != nil || cp.options.Dir == "" {
		return err
	}
	entries, err := os.ReadDir(cp.dir)
	for _, entry := range entries {
		err = errors.Join(err, os.RemoveAll(filepath.Join(cp.dir, entry.Name())))
	}
	return err
}
