package columnstore

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/granarydb/granary/internal/crashfs"
	"github.com/granarydb/granary/internal/disk"
)

// Rows in files do not depend on the log: with any byte changed in the remaining log entries, all rows
// come back. Only the segment's header is needed.
func TestDir_DamagedLogOfFiledRows(t *testing.T) {
	for _, closed := range []bool{false, true} {
		fs := crashfs.New(crashfs.Options{Keep: 1})
		opts := inDir(fs)
		opts.segmentBytes = 32 << 10
		store, table := open(t, opts, samples(100))
		fill(t, table, rand.New(rand.NewPCG(1, 2)), 30)
		want := rowsNow(t, store, table)
		err := store.flusher.flush(t.Context())
		if closed {
			err = store.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		names, err := fs.List()
		if err != nil {
			t.Fatal(err)
		}
		changed := 0
		for _, name := range names {
			bits := int64(8 * len(fs.Get(name)))
			if !strings.HasPrefix(name, "log-") {
				continue
			}
			for bit := int64(8 * 4096); bit < bits; bit += 8 * 251 {
				damaged := fs.Crash()
				damaged.Flip(name, bit)
				opts.FS = damaged
				again, err := Open(opts)
				if err != nil {
					t.Fatalf("closed %v: byte %d of %s is changed: %v", closed, bit/8, name, err)
				}
				if got := rowsNow(t, again, again.Table("samples")); !slices.Equal(got, want) {
					t.Fatalf("closed %v: %d rows came back, want %d", closed, len(got), len(want))
				}
				_ = again.Close()
				changed++
				if changed > 50 {
					break
				}
			}
			if size := bits / 8; closed && size != 4096 {
				t.Errorf("a segment has %d bytes after Close, want its header alone", size)
			}
		}
		if !closed && changed == 0 {
			t.Error("no byte was changed")
		}
	}
}

// Several failed runs of the flusher begin one segment, not a segment each.
func TestDir_FailedFilingsBeginOneSegment(t *testing.T) {
	fs := crashfs.New(crashfs.Options{})
	opts := inDir(noManifests{fs})
	store, table := open(t, opts, samples(100))
	before := 0
	for i := range 10 {
		fill(t, table, rand.New(rand.NewPCG(1, 2)), 2)
		if err := store.flusher.flush(t.Context()); err == nil {
			t.Fatal("a manifest was written")
		}
		if n := len(store.log.Segments()); i > 0 && n != before {
			t.Fatalf("%d segments after %d runs that failed, %d before", n, i+1, before)
		}
		before = len(store.log.Segments())
	}
}

// If both copies of the manifest are damaged, the error names them, and not the log that they
// replaced.
func TestDir_DamagedManifests(t *testing.T) {
	for _, closed := range []bool{false, true} {
		fs := crashfs.New(crashfs.Options{Keep: 1})
		opts := inDir(fs)
		opts.segmentBytes = 32 << 10
		store, table := open(t, opts, samples(100))
		fill(t, table, rand.New(rand.NewPCG(1, 2)), 10)
		err := store.flusher.flush(t.Context())
		if closed {
			err = store.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		names, err := fs.List()
		if err != nil {
			t.Fatal(err)
		}
		opts.FS = fs.Crash()
		var manifests []string
		for _, name := range names {
			if strings.HasPrefix(name, "manifest-") {
				opts.FS.(*crashfs.FS).Flip(name, 8*100)
				manifests = append(manifests, name)
			}
		}
		_, err = Open(opts)
		damaged, ok := errors.AsType[*disk.DamagedError](err)
		if !ok || !slices.Contains(manifests, damaged.File) {
			t.Fatalf("both manifests are damaged, and the error is %v", err)
		}
		for _, name := range manifests {
			if !strings.Contains(err.Error(), name) {
				t.Errorf("the error %q does not name %s", err, name)
			}
		}
	}
}

// Manifests that a crash left unfinished are no damage while the log has everything.
func TestDir_UnfinishedManifests(t *testing.T) {
	fs := crashfs.New(crashfs.Options{Keep: 1})
	opts := inDir(fs)
	store, table := open(t, opts, samples(100))
	fill(t, table, rand.New(rand.NewPCG(1, 2)), 10)
	want := rowsNow(t, store, table)
	crashed := fs.Crash()
	store.opts.Yield = func(point string) {
		if point == "file/clean" {
			names, err := fs.List()
			if err != nil {
				t.Error(err)
			}
			crashed = fs.Crash()
			for _, name := range names {
				if strings.HasPrefix(name, "manifest-") {
					crashed.Flip(name, 8*100)
				}
			}
		}
	}
	if err := store.flusher.flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	opts.FS = crashed
	store, table = reopen(t, opts)
	if got := rowsNow(t, store, table); !slices.Equal(got, want) {
		t.Fatalf("%d rows came back, want %d", len(got), len(want))
	}
}
