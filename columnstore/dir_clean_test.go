package columnstore

import (
	"errors"
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/granarydb/granary/internal/crashfs"
	"github.com/granarydb/granary/internal/disk"
	"github.com/granarydb/granary/internal/effort"
)

// failRemovals makes all removals of files fail.
func failRemovals(fs *crashfs.FS) {
	fs.Fail(&crashfs.Fault{Err: syscall.EACCES, Forever: true, Ops: []crashfs.Op{crashfs.Remove}})
}

// A file that cannot be removed is no reason to refuse a store: Stats has the error, and the removal
// is tried again.
func TestDir_RemovalFailsAtOpen(t *testing.T) {
	t.Parallel() // it waits
	for _, manual := range []bool{true, false} {
		rng := rand.New(rand.NewPCG(1, 2))
		fs := crashfs.New(crashfs.Options{Keep: 1})
		opts := inDir(fs)
		store, table := open(t, opts, samples(100))
		fill(t, table, rng, 10)
		if err := store.flusher.flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		fill(t, table, rng, 10)
		failRemovals(fs)
		if err := store.flusher.flush(t.Context()); !errors.Is(err, syscall.EACCES) {
			t.Fatalf("files that cannot be removed: %v", err)
		}
		want := rowsNow(t, store, table)
		fs = fs.Crash()
		failRemovals(fs)
		opts.FS, opts.Manual = fs, manual
		store, table = reopen(t, opts)
		if got := rowsNow(t, store, table); !slices.Equal(got, want) {
			t.Fatalf("%d rows came back, want %d", len(got), len(want))
		}
		if err := store.Stats().FlushError; !errors.Is(err, syscall.EACCES) {
			t.Errorf("the error of Stats is %v, want %v", err, syscall.EACCES)
		}
		fs.Heal()
		checkCleaned(t, store, fs)
	}
}

// A removal that fails after files were written is tried again, although there is nothing to write.
func TestDir_RemovalFailsAfterFiling(t *testing.T) {
	for _, manual := range []bool{true, false} {
		rng := rand.New(rand.NewPCG(1, 2))
		fs := crashfs.New(crashfs.Options{})
		opts := inDir(fs)
		opts.Manual = manual
		store, table := open(t, opts, samples(100))
		t.Cleanup(func() { _ = store.Close() })
		for range 2 {
			fill(t, table, rng, 10)
			failRemovals(fs)
			store.flusher.flushing.Lock()
			err := store.flusher.flush(t.Context())
			store.flusher.flushing.Unlock()
			if err != nil && !errors.Is(err, syscall.EACCES) {
				t.Fatal(err)
			}
		}
		if err := store.Stats().FlushError; !errors.Is(err, syscall.EACCES) {
			t.Errorf("the error of Stats is %v, want %v", err, syscall.EACCES)
		}
		fs.Heal()
		store.flusher.look(false) // as the next commit does
		checkCleaned(t, store, fs)
	}
}

// checkCleaned lets the flusher work, and fails unless no file is left that no manifest names.
func checkCleaned(t *testing.T, store *Store, fs disk.FS) {
	t.Helper()
	for deadline := time.Now().Add(effort.Patience); store.Stats().FlushError != nil && time.Now().Before(deadline); {
		if store.opts.Manual {
			if err := store.Maintain(t.Context()); err != nil {
				t.Fatal(err)
			}
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if err := store.Stats().FlushError; err != nil {
		t.Errorf("the disk works, and the error is %v", err)
	}
	checkFiles(t, fs, store.dir.id)
}
