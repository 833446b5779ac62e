package columnstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/granarydb/granary/internal/crashfs"
	"github.com/granarydb/granary/internal/disk"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/internal/files"
)

// inDir are options of a store in a directory.
func inDir(fs disk.FS) Options {
	return Options{FS: fs, segmentBytes: 1 << 20, Manual: true, FutureLimit: -1, PastLimit: -1, GranuleRows: 64, BucketRows: 200}
}

// reopen opens a store that has a table.
func reopen(t testing.TB, opts Options) (*Store, *Table) {
	t.Helper()
	store, err := Open(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return store, store.Table("samples")
}

// rowsNow returns the rows of a table as texts, sorted.
func rowsNow(t *testing.T, store *Store, table *Table) []string {
	t.Helper()
	snap, err := store.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Close()
	rows := allRows(t, table, snap, ScanOptions{})
	slices.Sort(rows)
	return rows
}

// fill inserts batches over several buckets, and late batches.
func fill(t *testing.T, table *Table, rng *rand.Rand, batches int) {
	t.Helper()
	for i := range batches {
		b, _ := batch(rng, 1+rng.IntN(40), int64(i*13+rng.IntN(30)))
		insert(t, table, b)
	}
}

// A store that was closed comes back, whatever part of it is in files, and goes on.
func TestDir_Restart(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	dir := filepath.Join(t.TempDir(), "made by open")
	opts := Options{Dir: dir, FutureLimit: -1, GranuleRows: 64, BucketRows: 200, LogBytes: 20 << 10}
	store, table := open(t, opts, samples(100))
	for range 3 {
		fill(t, table, rng, 40)
		want := rowsNow(t, store, table)
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
		opts.PastLimit = -1
		store, table = reopen(t, opts)
		if table == nil {
			t.Fatal("the table is lost")
		}
		if got := rowsNow(t, store, table); !slices.Equal(got, want) {
			t.Fatalf("%d rows came back, want %d", len(got), len(want))
		}
		if _, err := store.CreateTable("samples", samples(100)); !errors.Is(err, ErrTable) {
			t.Fatalf("create a table again: %v, want %v", err, ErrTable)
		}
	}
}

// Maintenance files when the log is large, and the log stays within its bound, with the
// heads of entries and two segments.
func TestDir_LogIsBounded(t *testing.T) {
	effort.Long(t)
	rng := rand.New(rand.NewPCG(1, 2))
	dir := t.TempDir()
	opts := Options{Dir: dir, Manual: true, FutureLimit: -1, GranuleRows: 512, LogBytes: 32 << 10, segmentBytes: 16 << 10}
	store, table := open(t, opts, samples(100))
	most := opts.LogBytes
	for i := range 400 {
		b, _ := batch(rng, 40, int64(i*3))
		insert(t, table, b)
		if err := store.Maintain(t.Context()); err != nil {
			t.Fatal(err)
		}
		bytes := int64(0)
		for _, s := range store.log.Segments() {
			bytes += s.Size
		}
		if most = max(most, store.flusher.bound.Load()); bytes > most*3/2+2*opts.segmentBytes {
			t.Fatalf("the log has %d bytes, its bound is %d", bytes, most)
		}
	}
	if store.Stats().Files == 0 {
		t.Fatal("nothing was filed")
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	checkFiles(t, disk.System(dir), store.dir.id)
}

// checkFiles fails unless all files are named, and all that are named are there.
func checkFiles(t *testing.T, fs disk.FS, id disk.StoreID) {
	t.Helper()
	_, m, err := files.OpenDir(fs, id)
	if err != nil || m == nil {
		t.Fatalf("manifest %v, %v", m, err)
	}
	want := map[string]bool{}
	for _, table := range m.Tables {
		for _, b := range table.Buckets {
			want[disk.FileName("rows", b.File)] = true
		}
		for _, g := range table.Generations {
			for _, file := range g.Files {
				want[disk.FileName("dicts", file)] = true
			}
		}
	}
	names, err := fs.List()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		kind, _, _ := disk.ParseName(name)
		if (kind == "rows" || kind == "dicts") && !want[name] {
			t.Errorf("%s is there, and no manifest names it", name)
		}
		delete(want, name)
	}
	for name := range want {
		t.Errorf("%s is named, and not there", name)
	}
}

// A file with a changed byte leads to an error that names it, or to nothing: no answer is wrong.
func TestDir_ChangedByte(t *testing.T) {
	effort.Slow(t)
	rng := rand.New(rand.NewPCG(1, 2))
	fs := crashfs.New(crashfs.Options{})
	opts := inDir(fs)
	opts.segmentBytes = 8 << 10
	store, table := open(t, opts, samples(100))
	fill(t, table, rng, 30)
	want := rowsNow(t, store, table)
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	names, err := fs.List()
	if err != nil {
		t.Fatal(err)
	}
	opened := map[string]int{}
	for _, name := range names {
		kind, _, ok := disk.ParseName(name)
		if !ok {
			continue
		}
		bits := 8 * len(fs.Get(name))
		for range min(bits, 100-88*boolInt(effort.Race)) { // one goroutine opens and reads
			damaged := fs.Crash()
			damaged.Flip(name, rng.Int64N(int64(bits)))
			opts.FS = damaged
			again, err := Open(opts)
			if err != nil {
				if !strings.Contains(err.Error(), name) {
					t.Fatalf("%s is damaged, and the error is %v", name, err)
				}
				continue
			}
			opened[kind]++
			table := again.Table("samples")
			if err := readAll(t, again, table); err != nil {
				if kind != "rows" && kind != "dicts" || !strings.Contains(err.Error(), name) {
					t.Fatalf("%s is damaged, and the error of a read is %v", name, err)
				}
				_ = again.Close()
				continue
			}
			if got := rowsNow(t, again, table); !slices.Equal(got, want) {
				t.Fatalf("%s is damaged, and %d rows came back, want %d", name, len(got), len(want))
			}
			if err := again.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if opened["manifest"] == 0 {
		t.Error("no damaged manifest had a copy")
	}
	t.Logf("opened with a changed byte: %v", opened)
}

// readAll reads all rows of a table, and returns the error.
func readAll(t *testing.T, store *Store, table *Table) error {
	return store.View(t.Context(), func(snap *Snapshot) error {
		for rec, err := range table.Scan(t.Context(), snap, ScanOptions{}) {
			if err != nil {
				return err
			}
			rec.Release()
		}
		return nil
	})
}

// Errors of Open name the fault.
func TestDir_Errors(t *testing.T) {
	dir := t.TempDir()
	store, _ := open(t, Options{Dir: dir}, samples(100))
	if _, err := Open(Options{Dir: dir}); !errors.Is(err, disk.ErrLocked) {
		t.Errorf("a directory in use: %v, want %v", err, disk.ErrLocked)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(Options{Dir: file}); err == nil {
		t.Error("a file is opened as a directory")
	}
	for _, opts := range []Options{{LogBytes: -1}, {Sync: disk.SyncNever + 1}, {SyncEvery: -1}} {
		if _, err := Open(opts); !errors.Is(err, ErrOptions) {
			t.Errorf("%+v: %v, want %v", opts, err, ErrOptions)
		}
	}
}

// Behind Sync a crash loses no commit, whatever the policy is.
func TestDir_Sync(t *testing.T) {
	opts := inSmallDir(crashfs.New(crashfs.Options{}))
	opts.Sync = disk.SyncNever
	store, table := open(t, opts, samples(100))
	insertAt(t, table, 1, 2, 3)
	if err := store.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	opts.FS = opts.FS.(*crashfs.FS).Crash()
	again, table := reopen(t, opts)
	if rows := again.Stats().Rows; rows != 3 {
		t.Errorf("%d rows after a crash, want 3", rows)
	}
	insertAt(t, table, 4)
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
	if err := again.Sync(t.Context()); err != nil { // Close has done it
		t.Errorf("closed: %v", err)
	}
	memory, _ := open(t, Options{}, samples(100))
	if err := memory.Sync(t.Context()); err != nil {
		t.Errorf("without a directory: %v", err)
	}
}

// While the disk is full, commits are refused and reads go on; when there is room, all goes on.
func TestDir_FullDisk(t *testing.T) {
	effort.Long(t)
	rng := rand.New(rand.NewPCG(1, 2))
	fs := crashfs.New(crashfs.Options{})
	fs.SetSpace(400 << 10)
	opts := inDir(fs)
	opts.segmentBytes, opts.queueBytes, opts.LogBytes = 16<<10, 8<<10, 1<<20
	store, table := open(t, opts, samples(100))
	refused := 0
	for i := range 2000 {
		b, _ := batch(rng, 40, int64(i))
		_, err := table.Insert(context.Background(), b)
		if err != nil {
			if !errors.Is(err, disk.ErrDisk) {
				t.Fatalf("insert: %v, want %v", err, disk.ErrDisk)
			}
			if refused++; refused > 3 {
				break
			}
		}
	}
	if refused == 0 {
		t.Fatal("the disk was never full")
	}
	before := len(rowsNow(t, store, table)) // reads go on
	fs.SetSpace(64 << 20)
	time.Sleep(1100 * time.Millisecond) // the log tries again each second
	for store.log.Step() {
	}
	b, _ := batch(rng, 40, 3000)
	insert(t, table, b)
	all := rowsNow(t, store, table)
	if len(all) != before+b.Rows {
		t.Fatalf("%d rows, want %d", len(all), before+b.Rows)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	opts.FS = fs.Crash()
	store, table = reopen(t, opts)
	if got := rowsNow(t, store, table); !slices.Equal(got, all) {
		t.Fatalf("%d rows came back, want %d", len(got), len(all))
	}
}

func ExampleOptions_dir() {
	dir, err := os.MkdirTemp("", "granary")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	store, err := Open(Options{Dir: dir, Sync: disk.SyncEach})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := store.CreateTable("samples", samples(0)); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(store.Close())
	store, err = Open(Options{Dir: dir})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
	fmt.Println(store.Table("samples").Name())
	// Output:
	// <nil>
	// samples
}
