package columnstore

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/granarydb/granary/internal/crashfs"
	"github.com/granarydb/granary/internal/disk"
	"github.com/granarydb/granary/internal/files"
)

// writeOps are the calls that change a file system.
var writeOps = []crashfs.Op{crashfs.Create, crashfs.Remove, crashfs.SyncDir, crashfs.WriteAt, crashfs.Sync, crashfs.Reserve}

// writeAfter is when the log writes an entry without a sync.
const writeAfter = 10 * time.Millisecond

// inSmallDir is inDir with segments of 8 KiB.
func inSmallDir(dir disk.FS) Options {
	opts := inDir(dir)
	opts.segmentBytes = 8 << 10
	return opts
}

// crashed returns the disk of a store with files, a log of several segments and a history that ended
// with the machine: its log can end amid an entry.
func crashed(t *testing.T, seed uint64) *crashfs.FS {
	t.Helper()
	dir := crashfs.New(crashfs.Options{Seed: seed, Keep: 0.5})
	opts := inSmallDir(dir)
	at := time.Now()
	opts.Now = func() time.Time { at = at.Add(writeAfter); return at } // so that each step writes
	opts.SyncEvery = time.Hour
	store, table := open(t, opts, samples(100))
	if _, err := store.CreateHistory("states", HistoryOptions{}); err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(seed, 2))
	fill(t, table, rng, 10)
	if err := store.flusher.flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 1 + rng.IntN(30) {
		fill(t, table, rng, 1)
		store.log.Step()
	}
	return dir.Crash()
}

// contents returns the bytes of all files.
func contents(t *testing.T, dir *crashfs.FS) map[string][]byte {
	t.Helper()
	names, err := dir.List()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]byte{}
	for _, name := range names {
		out[name] = dir.Get(name)
	}
	return out
}

// Readers write nothing, whatever end a crash has left, and several have the rows at once that an
// opening for writing has next.
func TestReadOnly(t *testing.T) {
	torn := 0
	for seed := range uint64(30) {
		dir := crashed(t, seed)
		before := contents(t, dir)
		if tornBytes(t, dir) > 0 {
			torn++
		}
		fault := &crashfs.Fault{Err: syscall.EROFS, Ops: writeOps, Forever: true}
		dir.Fail(fault)
		opts := inSmallDir(dir)
		opts.ReadOnly = true
		store, table := reopen(t, opts)
		got := rowsNow(t, store, table)
		second, sameTable := reopen(t, opts)
		if again := rowsNow(t, second, sameTable); !slices.Equal(got, again) {
			t.Fatalf("seed %d: a second reader has %d rows, the first %d", seed, len(again), len(got))
		}
		if _, err := Open(inSmallDir(dir)); !errors.Is(err, disk.ErrLocked) {
			t.Fatalf("open for writing beside readers: %v, want %v", err, disk.ErrLocked)
		}
		for _, err := range []error{store.Maintain(t.Context()), store.Compact(t.Context())} {
			if err != nil {
				t.Fatal(err)
			}
		}
		if again := rowsNow(t, store, table); !slices.Equal(got, again) {
			t.Fatalf("seed %d: %d rows after maintenance, %d before", seed, len(again), len(got))
		}
		if s := store.Stats(); s.LogBytes == 0 || s.Files == 0 || s.FileBytes == 0 {
			t.Fatalf("%d bytes of log, %d files of %d bytes", s.LogBytes, s.Files, s.FileBytes)
		}
		for _, s := range []*Store{store, second} {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if fault.Fired > 0 {
			t.Fatalf("seed %d: %d calls write", seed, fault.Fired)
		}
		after := contents(t, dir)
		for name, b := range before {
			if !bytes.Equal(b, after[name]) || len(after) != len(before) {
				t.Fatalf("seed %d: %s has changed, or one of %d files", seed, name, len(after))
			}
		}
		dir.Heal()
		writer, table := reopen(t, inSmallDir(dir))
		if want := rowsNow(t, writer, table); !slices.Equal(got, want) {
			t.Fatalf("seed %d: %d rows for readers, %d for a writer", seed, len(got), len(want))
		}
		if _, err := Open(opts); !errors.Is(err, disk.ErrLocked) {
			t.Fatalf("read beside a writer: %v, want %v", err, disk.ErrLocked)
		}
		_ = writer.Close()
	}
	if torn == 0 {
		t.Error("no log ends amid an entry")
	}
}

// tornBytes returns the bytes behind the end of the log.
func tornBytes(t *testing.T, dir disk.FS) int64 {
	t.Helper()
	id, _, err := disk.Identify(dir)
	if err != nil {
		t.Fatal(err)
	}
	_, m, err := files.OpenDir(dir, id)
	if err != nil {
		t.Fatal(err)
	}
	r, err := disk.ReadLog(dir, id, m.Segment)
	for err == nil {
		_, err = r.Next()
	}
	if !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	return r.Torn()
}

// Each call that writes returns ErrReadOnly.
func TestReadOnly_Writes(t *testing.T) {
	opts := inSmallDir(crashed(t, 1))
	opts.ReadOnly = true
	store, table := reopen(t, opts)
	want := rowsNow(t, store, table)
	b, _ := batch(rand.New(rand.NewPCG(1, 2)), 10, 100)
	commit := func(do func(tx *Tx) error) error {
		tx := store.Begin()
		defer tx.Abort()
		if err := do(tx); err != nil {
			return err
		}
		_, err := tx.Commit()
		return err
	}
	for name, do := range map[string]func() error{
		"create a table":     func() error { _, err := store.CreateTable("other", samples(10)); return err },
		"create a history":   func() error { _, err := store.CreateHistory("other", HistoryOptions{}); return err },
		"insert":             func() error { _, err := table.Insert(t.Context(), b); return err },
		"insert in a commit": func() error { return commit(func(tx *Tx) error { return tx.Insert(t.Context(), table, b) }) },
		"note":               func() error { return commit(func(tx *Tx) error { tx.Note(table, "a note"); return nil }) },
		"drop":               func() error { _, err := table.DropBefore(t.Context(), 1000); return err },
		"commit nothing":     func() error { return commit(func(*Tx) error { return nil }) },
		"codes":              func() error { _, err := table.Codes(100); return err },
		"states": func() error {
			return commit(func(tx *Tx) error { _, err := tx.History(store.History("states")); return err })
		},
	} {
		if err := do(); !errors.Is(err, ErrReadOnly) {
			t.Errorf("%s: %v, want %v", name, err, ErrReadOnly)
		}
	}
	if got := rowsNow(t, store, table); !slices.Equal(got, want) {
		t.Errorf("%d rows, want %d", len(got), len(want))
	}
}

// Reading makes no store.
func TestReadOnly_Nothing(t *testing.T) {
	dir := crashfs.New(crashfs.Options{})
	if _, err := Open(Options{FS: dir, ReadOnly: true}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("read an empty directory: %v, want %v", err, fs.ErrNotExist)
	}
	if n := len(contents(t, dir)); n > 0 {
		t.Errorf("%d files", n)
	}
	if _, err := Open(Options{ReadOnly: true}); !errors.Is(err, ErrOptions) {
		t.Errorf("read without a directory: %v, want %v", err, ErrOptions)
	}
}

// Two readers have a directory of the system, and exclude a writer.
func TestReadOnly_System(t *testing.T) {
	opts := Options{Dir: t.TempDir(), PastLimit: -1}
	store, table := open(t, opts, samples(100))
	fill(t, table, rand.New(rand.NewPCG(1, 2)), 10)
	want := rowsNow(t, store, table)
	opts.ReadOnly = true
	if _, err := Open(opts); !errors.Is(err, disk.ErrLocked) {
		t.Fatalf("read beside a writer: %v, want %v", err, disk.ErrLocked)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		reader, table := reopen(t, opts) // the first stays open
		if got := rowsNow(t, reader, table); !slices.Equal(got, want) {
			t.Fatalf("%d rows, want %d", len(got), len(want))
		}
	}
	opts.ReadOnly = false
	if _, err := Open(opts); !errors.Is(err, disk.ErrLocked) {
		t.Fatalf("open for writing beside readers: %v, want %v", err, disk.ErrLocked)
	}
}
