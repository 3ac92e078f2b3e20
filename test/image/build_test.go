//go:build linux

package image

import (
	"context"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// version is what the tests build.
const version = "v9.8.7-test"

// built are the programs by architecture; each is built once.
var built sync.Map

// build runs the Dockerfile's build command for an architecture and returns the
// program.
func build(t *testing.T, arch string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("builds a program, which -short leaves out")
	}
	once, _ := built.LoadOrStore(arch, sync.OnceValues(func() (string, error) { return compile(t, arch) }))
	program, err := once.(func() (string, error))()
	if err != nil {
		t.Fatal(err)
	}
	return program
}

func compile(t *testing.T, arch string) (string, error) {
	dir, err := os.MkdirTemp("", "dogear-image-") // outlives the test that is the first
	if err != nil {
		return "", err
	}
	cleanups = append(cleanups, func() error { return os.RemoveAll(dir) })
	program := filepath.Join(dir, "dogear")
	command := strings.Replace(instruction(t, "RUN CGO_ENABLED=0"), " /out/dogear ", " "+program+" ", 1)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-ec", "CGO_ENABLED=0 "+command)
	cmd.Dir = root(t)
	cmd.Env = append(os.Environ(), "TARGETOS=linux", "TARGETARCH="+arch, "VERSION="+version)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Logf("%s:\n%s", command, out)
		return "", err
	}
	return program, nil
}

func TestProgramsAreStatic(t *testing.T) {
	t.Parallel()
	for arch, machine := range map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64} {
		t.Run(arch, func(t *testing.T) {
			t.Parallel()
			program, err := elf.Open(build(t, arch))
			if err != nil {
				t.Fatal(err)
			}
			defer program.Close() //nolint:errcheck // it is read only
			if program.Machine != machine || program.Type != elf.ET_EXEC && program.Type != elf.ET_DYN {
				t.Errorf("it is %v for %v", program.Type, program.Machine)
			}
			for _, part := range program.Progs {
				if part.Type == elf.PT_INTERP || part.Type == elf.PT_DYNAMIC {
					t.Errorf("it has a %v: nothing would load its libraries", part.Type)
				}
			}
			if program.Section(".symtab") != nil || program.Section(".debug_info") != nil {
				t.Error("it has symbols, of which nobody makes use")
			}
		})
	}
}
