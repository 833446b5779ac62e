package columnstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/internal/crashfs"
	"github.com/granarydb/granary/internal/disk"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/schema"
	"github.com/granarydb/granary/txn"
)

// openBackup opens a copy, closes it at the test's end, and returns its rows.
func openBackup(t *testing.T, opts Options) []string {
	t.Helper()
	store, table := reopen(t, opts)
	defer store.Close()
	return rowsNow(t, store, table)
}

// A backup has all that was committed before it, durable or not, and the store goes on.
func TestBackup_HasWhatReturned(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	opts := inSmallDir(crashfs.New(crashfs.Options{}))
	opts.SyncEvery = time.Hour
	store, table := open(t, opts, samples(100))
	history, err := store.CreateHistory("states", HistoryOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 4 {
		fill(t, table, rng, 10)
		want := rowsNow(t, store, table)
		target := crashfs.New(crashfs.Options{})
		if err := store.Backup(t.Context(), target); err != nil {
			t.Fatal(err)
		}
		if err := store.Backup(t.Context(), target); !errors.Is(err, fs.ErrExist) {
			t.Fatalf("a backup into a directory with files: %v, want %v", err, fs.ErrExist)
		}
		for _, dir := range []*crashfs.FS{target.Crash(), target} {
			reading := inSmallDir(dir)
			reading.ReadOnly = true
			if got := openBackup(t, reading); !slices.Equal(got, want) {
				t.Fatalf("backup %d has %d rows for a reader, want %d", i, len(got), len(want))
			}
			if got := openBackup(t, inSmallDir(dir)); !slices.Equal(got, want) {
				t.Fatalf("backup %d has %d rows, want %d", i, len(got), len(want))
			}
			if got := openBackup(t, inSmallDir(dir)); !slices.Equal(got, want) {
				t.Fatalf("backup %d has %d rows when it is opened again, want %d", i, len(got), len(want))
			}
		}
		if i%2 == 1 {
			if err := store.flusher.flush(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	if history.Name() != "states" || store.History("states") == nil {
		t.Error("the history is lost")
	}
	if err := store.Backup(t.Context(), opts.FS); !errors.Is(err, disk.ErrLocked) {
		t.Errorf("a backup into its own directory: %v, want %v", err, disk.ErrLocked)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	if err := store.Backup(t.Context(), crashfs.New(crashfs.Options{})); !errors.Is(err, ErrClosed) {
		t.Errorf("a backup of a closed store: %v, want %v", err, ErrClosed)
	}
	memory, _ := open(t, Options{}, samples(100))
	if err := memory.Backup(t.Context(), crashfs.New(crashfs.Options{})); !errors.Is(err, ErrOptions) {
		t.Errorf("a backup of memory: %v, want %v", err, ErrOptions)
	}
}

// A reader backs up a directory that no process writes to, also after a crash.
func TestBackup_OfReader(t *testing.T) {
	for seed := range uint64(10) {
		opts := inSmallDir(crashed(t, seed))
		opts.ReadOnly = true
		store, table := reopen(t, opts)
		want := rowsNow(t, store, table)
		target := crashfs.New(crashfs.Options{})
		if err := store.Backup(t.Context(), target); err != nil {
			t.Fatal(err)
		}
		if got := openBackup(t, inSmallDir(target)); !slices.Equal(got, want) {
			t.Fatalf("seed %d: %d rows, want %d", seed, len(got), len(want))
		}
		_ = store.Close()
	}
}

// Whatever call of the target fails, once or for ever, and whenever the machine ends: a copy that
// opens is whole. The store is as before.
func TestBackup_FailingTarget(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	source := inSmallDir(crashfs.New(crashfs.Options{}))
	store, table := open(t, source, samples(100))
	fill(t, table, rng, 20)
	if err := store.flusher.flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	fill(t, table, rng, 20)
	want := rowsNow(t, store, table)
	check := func(n int, dir *crashfs.FS, err error) {
		t.Helper()
		opts := inSmallDir(dir)
		opts.ReadOnly = true
		copied, openErr := Open(opts)
		switch {
		case openErr == nil:
			defer copied.Close()
			if got := rowsNow(t, copied, copied.Table("samples")); !slices.Equal(got, want) {
				t.Fatalf("call %d: %d rows, want %d", n, len(got), len(want))
			}
		case err == nil:
			t.Fatalf("call %d: the backup is done, and does not open: %v", n, openErr)
		}
	}
	failed := 0
	for _, forever := range []bool{false, true} {
		for n := 0; ; n++ {
			target := crashfs.New(crashfs.Options{Seed: uint64(n), Keep: 0.5})
			fault := &crashfs.Fault{Err: syscall.EIO, After: n, Forever: forever}
			target.Fail(fault)
			err := store.Backup(t.Context(), target)
			target.Heal()
			check(n, target, err)
			for range 3 {
				check(n, target.Crash(), err)
			}
			if err == nil {
				break
			}
			if failed++; !errors.Is(err, syscall.EIO) {
				t.Fatal(err)
			}
		}
	}
	if failed < 20 {
		t.Errorf("%d calls failed", failed)
	}
	if got := rowsNow(t, store, table); !slices.Equal(got, want) {
		t.Errorf("the store has %d rows, want %d", len(got), len(want))
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	target := crashfs.New(crashfs.Options{})
	if err := store.Backup(canceled, target); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if left := contents(t, target); len(left) > 0 {
		t.Errorf("%d files are left", len(left))
	}
}

// Backups beside writers at full speed, while files are written and segments go, have the first
// commits, among them all that returned before.
func TestBackup_BesideWriters(t *testing.T) {
	effort.Slow(t)
	const backups, writers = 4, 3
	dir := t.TempDir()
	opts := Options{Dir: dir, FutureLimit: -1, PastLimit: -1, GranuleRows: 512, LogBytes: 32 << 10, segmentBytes: 64 << 10, SyncEvery: 100 * time.Millisecond}
	store, table := open(t, opts, samples(1000))
	w := numbered{table: table, at: map[txn.ID]string{}}
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	for i := range writers {
		running.Go(func() { w.write(ctx, t, i) })
	}
	before := make([]txn.ID, backups)
	names := make([]string, backups)
	filed := uint64(0)
	for i := range names {
		filed = awaitFiling(t, store, filed)
		names[i] = filepath.Join(dir, fmt.Sprint("backup", i))
		before[i] = txn.ID(w.newest.Load())
		if err := store.Backup(ctx, disk.System(names[i])); err != nil {
			t.Fatal(err)
		}
	}
	stop()
	running.Wait()
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	ids := slices.Sorted(maps.Keys(w.at))
	for i, name := range names {
		want := map[string]int{}
		opts.Dir, opts.ReadOnly = name, i%2 == 0
		copied, table := reopen(t, opts)
		got := w.count(t, copied, table)
		n := 0
		for n < len(ids) && got[w.at[ids[n]]] > 0 {
			want[w.at[ids[n]]] = rowsOfEach
			n++
		}
		if !maps.Equal(got, want) {
			t.Errorf("backup %d: %d commits, the first %d are among them", i, len(got), n)
		}
		if n == 0 || ids[n-1] < before[i] {
			t.Errorf("backup %d: %d commits, and not commit %d, which returned before", i, n, before[i])
		}
		_ = copied.Close()
	}
	t.Logf("%d commits, files up to commit %d", len(ids), filed)
}

// awaitFiling waits for files with a later commit than last, and returns their commit.
func awaitFiling(t *testing.T, store *Store, last uint64) uint64 {
	t.Helper()
	for range 60_000 {
		store.flusher.flushing.Lock()
		m := store.flusher.manifest
		store.flusher.flushing.Unlock()
		if m != nil && m.Commit > last {
			return m.Commit
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatal("no files are written")
	return 0
}

// rowsOfEach is the rows of a commit of numbered.
const rowsOfEach = 5

// numbered is commits with a name, their kind and time.
type numbered struct {
	table  *Table
	newest atomic.Uint64 // of the commits that have returned
	mu     sync.Mutex
	at     map[txn.ID]string
}

// write commits until ctx ends.
func (w *numbered) write(ctx context.Context, t *testing.T, writer int) {
	for i := 0; ctx.Err() == nil; i++ {
		kind := fmt.Sprint(writer)
		id, err := w.table.Insert(context.Background(), schema.Batch{Rows: rowsOfEach, Columns: map[string]encoding.Vector{
			"kind": encoding.Strings(kind), "time": encoding.Int64s(int64(i)),
			"stack": encoding.UUIDLists(nil), "value": encoding.Int64s(1, 2, 3, 4, 5),
		}})
		if err != nil {
			t.Error(err)
			return
		}
		w.mu.Lock()
		w.at[id] = nameOf(kind, int64(i))
		w.mu.Unlock()
		for {
			if newest := w.newest.Load(); newest >= uint64(id) || w.newest.CompareAndSwap(newest, uint64(id)) {
				break
			}
		}
	}
}

// count returns each commit's rows by its name.
func (w *numbered) count(t *testing.T, store *Store, table *Table) map[string]int {
	t.Helper()
	snap, err := store.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Close()
	groups, err := table.Aggregate(t.Context(), snap, AggregateOptions{By: []string{"kind", "time"}})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]int{}
	for i, n := range groups.Counts {
		out[nameOf(groups.Columns[0].Values.Strings[i], groups.Columns[1].Values.Int64s[i])] = int(n)
	}
	return out
}

func nameOf(kind string, at int64) string { return fmt.Sprint(kind, "/", at) }
