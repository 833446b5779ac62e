package columnstore

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/granarydb/granary/internal/crashfs"
	"github.com/granarydb/granary/internal/disk"
	"github.com/granarydb/granary/internal/effort"
)

// An Open that fails gives the directory back and harms nothing.
func TestDir_FailingOpen(t *testing.T) {
	fs := crashfs.New(crashfs.Options{})
	opts := inDir(fs)
	opts.segmentBytes = 8 << 10
	store, table := open(t, opts, samples(100))
	fill(t, table, rand.New(rand.NewPCG(1, 2)), 10)
	if err := store.flusher.flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	fill(t, table, rand.New(rand.NewPCG(3, 2)), 10)
	want := rowsNow(t, store, table)
	for _, forever := range []bool{false, true} {
		for n := range 200 {
			if effort.Race && n%8 > 0 {
				continue // one goroutine opens and reads
			}
			crashed := fs.Crash()
			opts.FS = crashed
			fault := &crashfs.Fault{Err: syscall.EIO, After: n, Forever: forever}
			crashed.Fail(fault)
			again, err := Open(opts)
			if err == nil {
				_ = again.Close()
			}
			fired := fault.Fired
			crashed.Heal()
			got := 0
			for _, next := range []*crashfs.FS{crashed, crashed.Crash()} {
				opts.FS = next
				again, err := Open(opts)
				if err != nil {
					t.Fatalf("call %d failed: %v", n, err)
				}
				if got = len(rowsNow(t, again, again.Table("samples"))); got > len(want) || got == 0 {
					t.Fatalf("call %d failed: %d rows, want %d", n, got, len(want))
				}
				_ = again.Close()
			}
			if fired == 0 {
				break
			}
		}
	}
}

// noManifests is a file system that has no room for manifests.
type noManifests struct{ *crashfs.FS }

func (f noManifests) Create(name string) (disk.File, error) {
	if strings.HasPrefix(name, "manifest-") {
		return nil, syscall.ENOSPC
	}
	return f.FS.Create(name)
}

// Attempts to write files that fail do not fill the disk.
func TestDir_FailedAttemptsFillTheDisk(t *testing.T) {
	fs := crashfs.New(crashfs.Options{})
	opts := inDir(noManifests{fs})
	store, table := open(t, opts, samples(100))
	fill(t, table, rand.New(rand.NewPCG(1, 2)), 10)
	count := func() int {
		names, _ := fs.List()
		return len(names)
	}
	_ = store.flusher.flush(t.Context())
	one := count()
	for range 5 {
		if err := store.flusher.flush(t.Context()); !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
	}
	if n := count(); n > one {
		t.Errorf("%d files after one attempt, %d after six", one, n)
	}
}

// windows refuses to remove open files.
type windows struct {
	*crashfs.FS
	mu   *sync.Mutex
	open map[string]int
}

type windowsFile struct {
	disk.File
	fs   windows
	name string
}

func (f windows) of(file disk.File, err error, name string) (disk.File, error) {
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.open[name]++
	return &windowsFile{file, f, name}, nil
}

func (f windows) Create(name string) (disk.File, error) {
	file, err := f.FS.Create(name)
	return f.of(file, err, name)
}

func (f windows) Open(name string) (disk.File, error) {
	file, err := f.FS.Open(name)
	return f.of(file, err, name)
}

func (f windows) Remove(name string) error {
	f.mu.Lock()
	n := f.open[name]
	f.mu.Unlock()
	if n > 0 {
		return fmt.Errorf("%s is open %d times", name, n)
	}
	return f.FS.Remove(name)
}

func (f *windowsFile) Close() error {
	f.fs.mu.Lock()
	f.fs.open[f.name]--
	f.fs.mu.Unlock()
	return f.File.Close()
}

func TestDir_Windows(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	fs := windows{crashfs.New(crashfs.Options{}), new(sync.Mutex), map[string]int{}}
	opts := inDir(fs)
	opts.segmentBytes, opts.LogBytes = 8<<10, 8<<10
	store, table := open(t, opts, samples(100))
	for range 4 {
		for range 5 {
			fill(t, table, rng, 20)
			if err := store.Maintain(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := store.Stats().FlushError; err != nil {
				t.Fatal(err)
			}
		}
		want := rowsNow(t, store, table)
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
		checkFiles(t, fs, store.dir.id)
		for name, n := range fs.open {
			if n != 0 {
				t.Errorf("%s is open %d times", name, n)
			}
		}
		store, table = reopen(t, opts)
		if got := rowsNow(t, store, table); !slices.Equal(got, want) {
			t.Fatalf("%d rows, want %d", len(got), len(want))
		}
	}
}
