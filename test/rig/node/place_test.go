package node

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

func TestPlaceChangesAllFilesAtOnce(t *testing.T) {
	folder := t.TempDir()
	version := func(text string) map[string]file {
		long := []byte(strings.Repeat(text, 100_000))
		return map[string]file{"a": {long, 0o644}, "in/b": {long, 0o600}}
	}
	if err := place(folder, version("0")); err != nil {
		t.Fatal(err)
	}
	var over atomic.Bool
	var reading sync.WaitGroup
	reading.Go(func() {
		for !over.Load() {
			// A reader that wants both takes the folder that is current, once.
			at, err := filepath.EvalSymlinks(filepath.Join(folder, current))
			if err != nil {
				t.Error(err)
				return
			}
			a, errA := os.ReadFile(filepath.Join(at, "a"))
			b, errB := os.ReadFile(filepath.Join(at, "in/b"))
			if errA != nil || errB != nil {
				continue // replaced meanwhile
			}
			if string(a) != string(b) || len(a) != 100_000 {
				t.Errorf("files of two versions, or a half: %d and %d bytes", len(a), len(b))
				return
			}
		}
	})
	for i := range 50 {
		if err := place(folder, version(string(rune('1'+i%9)))); err != nil {
			t.Fatal(err)
		}
	}
	over.Store(true)
	reading.Wait()
}

func TestPlaceRemovesWhatIsNoLongerThere(t *testing.T) {
	folder := t.TempDir()
	first := map[string]file{"a": {[]byte("1"), 0o640}, "b": {[]byte("2"), 0o640}}
	for range 2 {
		if err := place(folder, first); err != nil {
			t.Fatal(err)
		}
	}
	if info, err := os.Stat(filepath.Join(folder, "a")); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("%v, %v", info, err)
	}
	if err := place(folder, map[string]file{"b": {[]byte("2"), 0o640}}); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(folder)
	if err != nil || len(entries) != 3 { // b, the link and its folder
		t.Errorf("left are %v (%v)", entries, err)
	}
}
