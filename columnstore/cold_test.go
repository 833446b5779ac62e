package columnstore

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/granarydb/granary/internal/crashfs"
	"github.com/granarydb/granary/internal/disk"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/internal/files"
)

// coolAll writes files, and unloads all that they have.
func coolAll(t *testing.T, store *Store) {
	t.Helper()
	if err := store.flusher.flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, v := range store.memory.unloadable(store.roots.Root().State) {
		store.memory.unload(v)
	}
	store.cache.Shrink(math.MaxInt64)
}

// A bucket that begins with a cut while memory is short has no granules, and its file has none. Rows
// that come for it after a restart are read, and filed.
func TestCold_BucketWithoutGranules(t *testing.T) {
	opts := inDir(crashfs.New(crashfs.Options{}))
	opts.BucketRows = 10
	store, table := open(t, opts, samples(1000))
	rng := rand.New(rand.NewPCG(3, 4))
	b, _ := batch(rng, 12, 100)
	tx := store.Begin()
	if err := tx.Insert(t.Context(), table, b); err != nil {
		t.Fatal(err)
	}
	store.memory.budget.Store(1)
	if _, err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	store.memory.budget.Store(0)
	state := store.roots.Root().State.Table(table.ordinal)
	if buckets, granules := state.Buckets.Len(), state.Granules.Len(); buckets != 2 || granules != 1 {
		t.Fatalf("%d buckets, %d granules", buckets, granules)
	}
	for range 2 {
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
		store, table = reopen(t, opts)
		b, _ := batch(rng, 1, 500)
		insert(t, table, b)
		want := int(store.Stats().Rows)
		if got := rowsNow(t, store, table); len(got) != want {
			t.Errorf("%d rows of %d", len(got), want)
		}
		coolAll(t, store)
		if got := rowsNow(t, store, table); len(got) != want {
			t.Errorf("%d rows of %d from files", len(got), want)
		}
	}
}

// A store that was closed has no row in memory when it is open again, and reads each when it is asked
// for.
func TestCold_Restart(t *testing.T) {
	opts := inDir(crashfs.New(crashfs.Options{}))
	opts.GenerationBuckets = 2
	store, table := open(t, opts, samples(100))
	rng := rand.New(rand.NewPCG(1, 2))
	memory, same := open(t, Options{Manual: true, FutureLimit: -1, PastLimit: -1}, samples(100))
	for round := range 6 {
		for i := range 20 {
			b, _ := batch(rng, 1+rng.IntN(40), int64(round*60+i*13+rng.IntN(30)))
			insert(t, table, b)
			insert(t, same, b)
		}
		want := rowsNow(t, memory, same)
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
		store, table = reopen(t, opts)
		if s := store.Stats(); s.ColdRows != s.Rows || s.StackBytes+s.SeriesBytes > 0 || s.Parts > 0 {
			t.Errorf("open: %+v", s)
		}
		for range 2 { // from files, and from the cache
			if got := rowsNow(t, store, table); !slices.Equal(got, want) {
				t.Fatalf("%d rows came back, want %d", len(got), len(want))
			}
		}
		if s := store.Stats(); s.CacheBytes == 0 || s.Parts > 0 {
			t.Errorf("read: %+v", s)
		}
	}
}

// A damaged file costs the rows of its times, and the error names it. Others are read, and written.
func TestCold_DamagedFile(t *testing.T) {
	for _, kind := range []string{"rows", "shared rows", "dicts"} {
		t.Run(kind, func(t *testing.T) {
			fs := crashfs.New(crashfs.Options{})
			opts := inDir(fs)
			opts.GenerationBuckets, opts.BucketRows = 1, -1
			if kind == "rows" {
				opts.smallBucket = -1
			}
			store, table := open(t, opts, samples(100))
			rng := rand.New(rand.NewPCG(1, 2))
			for i := range 30 {
				b, _ := batch(rng, 20, int64(10*i))
				insert(t, table, b)
			}
			want := rowsNow(t, store, table)
			if err := store.Close(); err != nil {
				t.Fatal(err)
			}
			_, m, err := files.OpenDir(fs, store.dir.id)
			if err != nil {
				t.Fatal(err)
			}
			bucket, at := m.Tables[0].Buckets[1], int64(100)
			name := disk.FileName(files.RowsKind, bucket.File)
			switch kind {
			case "shared rows":
				at = bucket.Place.Offset
			case "dicts":
				number := m.Tables[0].Generations[1].Files[0]
				r, err := disk.OpenFile(fs, store.dir.id, files.DictsKind, number, files.VersionOf(files.DictsKind))
				if err != nil {
					t.Fatal(err)
				}
				piece, _, _ := disk.CutPiece(r.Directory()[36:]) // that of the second generation
				name, at = disk.FileName(files.DictsKind, number), piece.Offset
			}
			fs.Flip(name, 8*at)
			store, table = reopen(t, opts)
			damaged := func(where Expr) error {
				return store.View(t.Context(), func(snap *Snapshot) error {
					_, err := table.Aggregate(t.Context(), snap, AggregateOptions{Where: where})
					return err
				})
			}
			for _, where := range []Expr{{}, Between("time", int64(100), int64(199)), Between("time", int64(150), int64(250))} {
				err := damaged(where)
				if d, ok := errors.AsType[*disk.DamagedError](err); !ok || d.File != name || !strings.Contains(err.Error(), `table "samples"`) {
					t.Errorf("a read of damaged rows: %v", err)
				}
			}
			var rows []string
			snap := snapshot(t, store)
			for _, where := range []Expr{Between("time", int64(0), int64(99)), Between("time", int64(200), int64(1000))} {
				rows = append(rows, allRows(t, table, snap, ScanOptions{Where: where})...)
			}
			if len(rows) != len(want)-200 {
				t.Errorf("%d rows beside the damaged ones, want %d", len(rows), len(want)-200)
			}
			b, _ := batch(rng, 20, 250)
			insert(t, table, b)
			if b, _ = batch(rng, 20, 150); kind == "dicts" {
				if _, err := table.Insert(t.Context(), b); err == nil {
					t.Error("rows got codes of damaged dictionaries")
				}
			}
		})
	}
}

// A snapshot reads the files of its time, whatever takes their place, and they go after it.
func TestCold_SnapshotKeepsFiles(t *testing.T) {
	for name, drop := range map[string]func(t *testing.T, store *Store, table *Table){
		"late rows": func(t *testing.T, store *Store, table *Table) {
			b, _ := batch(rand.New(rand.NewPCG(1, 3)), 20, 50)
			insert(t, table, b)
			coolAll(t, store)
		},
		"retention": func(t *testing.T, store *Store, table *Table) {
			b, _ := batch(rand.New(rand.NewPCG(1, 3)), 20, 3000)
			insert(t, table, b)
			if err := store.flusher.flush(t.Context()); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			fs := crashfs.New(crashfs.Options{})
			opts := inDir(fs)
			opts.Retention, opts.GenerationBuckets, opts.smallBucket = 2000, 1, -1
			store, table := open(t, opts, samples(100))
			fill(t, table, rand.New(rand.NewPCG(1, 2)), 20)
			coolAll(t, store)
			snap := snapshot(t, store)
			want := allRows(t, table, snap, ScanOptions{})
			files := func() []string {
				names, err := fs.List()
				if err != nil {
					t.Fatal(err)
				}
				return names
			}
			drop(t, store, table)
			store.cache.Shrink(math.MaxInt64)
			if got := allRows(t, table, snap, ScanOptions{}); !slices.Equal(got, want) {
				t.Errorf("the snapshot has %d rows, and had %d", len(got), len(want))
			}
			before := files()
			snap.Close()
			store.roots.Sweep()
			if err := store.flusher.clean(); err != nil {
				t.Fatal(err)
			}
			if after := files(); len(after) >= len(before) {
				t.Errorf("files %v stay after %v", after, before)
			}
			if err := readAll(t, store, table); err != nil {
				t.Error(err)
			}
		})
	}
}

// Codes outlive the memory of their dictionaries.
func TestCold_Codes(t *testing.T) {
	opts := inDir(crashfs.New(crashfs.Options{}))
	opts.GenerationBuckets = 1
	store, table := open(t, opts, samples(100))
	codes, err := table.Codes(50)
	if err != nil {
		t.Fatal(err)
	}
	first := codedRow(t, codes, 50)
	if _, err := codes.Insert(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	unused, err := codes.Series(map[string]string{"kind": "never inserted"})
	if err != nil {
		t.Fatal(err)
	}
	b, _ := batch(rand.New(rand.NewPCG(1, 2)), 20, 500)
	insert(t, table, b)
	coolAll(t, store)
	if table.generations.Find(codes.number) != nil {
		t.Fatal("the dictionaries are in memory")
	}
	again, err := codes.Series(map[string]string{"kind": "never inserted"})
	if err != nil || again != unused {
		t.Errorf("a series had the code %d, and has %d, %v", unused, again, err)
	}
	if _, err := codes.Insert(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	if got := len(rowsNow(t, store, table)); got != 22 {
		t.Errorf("%d rows", got)
	}
}

// A directory keeps rows of many times the budget. While the disk is full, inserts are refused
// eventually, and reads go on. Afterwards no inserted row is missing.
func TestCold_FullDisk(t *testing.T) {
	effort.Long(t)
	if effort.Race {
		t.Skip("one goroutine inserts, reads and maintains")
	}
	fs := crashfs.New(crashfs.Options{})
	now := time.Unix(0, 0)
	opts := Options{
		FS: fs, Manual: true, FutureLimit: -1, PastLimit: -1, MemoryBudget: 17 << 16, GenerationBuckets: 2, // of which 1 MiB is not room for filing
		Now: func() time.Time { return now }, segmentBytes: 1 << 20,
	}
	store, table := open(t, opts, samples(100))
	rng := rand.New(rand.NewPCG(1, 2))
	rows := 0
	step := func(i int) error {
		now = now.Add(100 * time.Millisecond)
		b, _ := batch(rng, 40, int64(13*i))
		_, err := table.Insert(context.Background(), b)
		if err == nil {
			rows += 40
		}
		_ = store.log.Step()
		return errors.Join(err, store.Maintain(t.Context()))
	}
	refused := 0
	for i := range 1600 {
		switch i {
		case 700:
			fs.Fail(&crashfs.Fault{Err: syscall.ENOSPC, Forever: true, Ops: []crashfs.Op{crashfs.Create, crashfs.WriteAt, crashfs.Reserve, crashfs.Sync}})
		case 1200:
			fs.Heal()
			now = now.Add(time.Minute)
		}
		err := step(i)
		switch {
		case err != nil && (i < 700 || i >= 1202):
			t.Fatalf("step %d: %v", i, err)
		case err != nil:
			refused++
			if !errors.Is(err, ErrMemory) && !errors.Is(err, disk.ErrDisk) {
				t.Fatalf("step %d: %v", i, err)
			}
			if refused%10 == 1 {
				if err := readAll(t, store, table); err != nil {
					t.Fatalf("read after step %d: %v", i, err)
				}
			}
		}
		if used := store.memory.used(); used > opts.MemoryBudget {
			t.Fatalf("step %d: %d bytes are used of %d", i, used, opts.MemoryBudget)
		}
	}
	s := store.Stats()
	if refused == 0 || s.ColdRows == 0 || s.EvictedRows > 0 || s.Rows != int64(rows) {
		t.Errorf("%d inserts were refused; %d rows of %d, %d of them cold, %d evicted", refused, s.Rows, rows, s.ColdRows, s.EvictedRows)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	store, table = reopen(t, opts)
	if got := len(rowsNow(t, store, table)); got != rows {
		t.Errorf("%d rows came back, want %d", got, rows)
	}
}

// A sum over a million rows in memory, of which the cache has all, and of which files alone have all (in
// the system's cache), by series and time, and by stack.
func BenchmarkCold(b *testing.B) {
	l := newLoader(1)
	store, err := Open(Options{Dir: b.TempDir(), FutureLimit: -1, PastLimit: -1, Manual: true, GenerationBuckets: loaderBuckets})
	if err != nil {
		b.Fatal(err)
	}
	defer store.Close()
	if l.table, err = store.CreateTable("samples", samples(loaderBucket*int64(time.Second))); err != nil {
		b.Fatal(err)
	}
	for n := range int64(1_000_000 / loaderProfile) {
		l.batch[0].fill(n)
		if _, err := l.table.Insert(b.Context(), l.batch[0].Batch); err != nil {
			b.Fatal(err)
		}
	}
	if err := store.Compact(b.Context()); err != nil {
		b.Fatal(err)
	}
	for _, state := range []string{"hot", "cached", "files"} {
		if state == "cached" {
			if err := store.flusher.flush(b.Context()); err != nil {
				b.Fatal(err)
			}
			for _, v := range store.memory.unloadable(store.roots.Root().State) {
				store.memory.unload(v)
			}
		}
		for _, by := range [][]string{{"labels.pod", "time"}, {"stack"}} {
			b.Run(state+" by "+strings.Join(by, " and "), func(b *testing.B) {
				for b.Loop() {
					if state == "files" {
						store.cache.Shrink(math.MaxInt64)
					}
					if err := store.View(b.Context(), func(snap *Snapshot) error {
						_, err := l.table.Aggregate(b.Context(), snap, AggregateOptions{Sum: "value", By: by, NoCounts: true})
						return err
					}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
