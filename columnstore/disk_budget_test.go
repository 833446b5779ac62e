package columnstore

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/internal/crashfs"
	"github.com/granarydb/granary/internal/disk"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/schema"
)

// measured is a file system that records the greatest total size of its files, and the largest file
// outside the log.
type measured struct {
	*crashfs.FS
	mu      sync.Mutex
	sizes   map[string]int64
	peak    int64 // without segments in stuck
	largest int64
	segment int64 // the largest file of the log
	least   int64 // the least sum since it was set, if it is not 0

	failed map[string]bool // segments of which a call failed
	stuck  map[string]bool // failed files whose removal failed too: they stay until the next opening
}

type measuredFile struct {
	disk.File
	fs   *measured
	name string
}

func (m *measured) note(name string, size int64, removed bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sizes[name] = size
	if removed {
		delete(m.sizes, name)
	}
	sum := int64(0)
	for name, size := range m.sizes {
		if !m.stuck[name] {
			sum += size
		}
		if strings.HasPrefix(name, "log-") {
			m.segment = max(m.segment, size)
		} else {
			m.largest = max(m.largest, size)
		}
	}
	m.peak, m.least = max(m.peak, sum), min(m.least, sum)
}

func (m *measured) noteFailed(name string, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err != nil && m.failed != nil && strings.HasPrefix(name, "log-") {
		m.failed[name] = true
	}
}

// watchLeast has the least sum measured from now on.
func (m *measured) watchLeast() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.least == 0 {
		m.least = math.MaxInt64
	}
}

// seen returns the greatest total size, the least, and the largest file's size.
func (m *measured) seen() (peak, least, largest int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.peak, m.least, m.largest
}

func (m *measured) Create(name string) (disk.File, error) {
	f, err := m.FS.Create(name)
	m.noteFailed(name, err)
	return &measuredFile{f, m, name}, err
}

func (m *measured) Remove(name string) error {
	err := m.FS.Remove(name)
	if err != nil {
		m.noteStuck(name)
		return err
	}
	m.note(name, 0, true)
	return nil
}

// noteStuck notes that a removal failed.
func (m *measured) noteStuck(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.failed[name] {
		m.stuck[name] = true
	}
}

func (f *measuredFile) WriteAt(b []byte, at int64) (int, error) {
	n, err := f.File.WriteAt(b, at)
	f.fs.noteFailed(f.name, err)
	size, _ := f.Size()
	f.fs.note(f.name, size, false)
	return n, err
}

func (f *measuredFile) Sync() error {
	err := f.File.Sync()
	f.fs.noteFailed(f.name, err)
	return err
}

func (f *measuredFile) Reserve(size int64) error {
	err := f.File.Reserve(size)
	f.fs.noteFailed(f.name, err)
	size, _ = f.Size()
	f.fs.note(f.name, size, false)
	return err
}

// lowerDiskBudget lets a test have a small disk budget.
func lowerDiskBudget(t testing.TB) {
	before := leastDiskBudget
	leastDiskBudget = 1
	t.Cleanup(func() { leastDiskBudget = before })
}

// withDiskBudget returns options with a disk budget, and the file system that measures the files.
func withDiskBudget(t testing.TB, budget int64) (Options, *measured) {
	lowerDiskBudget(t)
	fs := &measured{FS: crashfs.New(crashfs.Options{}), sizes: map[string]int64{}}
	opts := inDir(fs)
	opts.segmentBytes, opts.DiskBudget, opts.GenerationBuckets = 0, budget, 2
	return opts, fs
}

// The files and the log exceed the budget by at most a segment and a file, whatever comes: rows in two
// tables, by values and codes, alone and in transactions, and states. The newest time ranges are left. A
// restart has the same rows.
func TestDiskBudget_Load(t *testing.T) {
	effort.Slow(t)
	for _, manual := range []bool{true, false} {
		if effort.Race && manual {
			continue // one goroutine inserts and maintains
		}
		t.Run(fmt.Sprint("manual=", manual), func(t *testing.T) {
			const budget = 512 << 10
			rng := rand.New(rand.NewPCG(1, 2))
			opts, fs := withDiskBudget(t, budget)
			opts.Manual = manual
			store, table := open(t, opts, samples(100))
			other, err := store.CreateTable("other", samples(300))
			if err != nil {
				t.Fatal(err)
			}
			h := createHistory(t, store, HistoryOptions{})
			inserted := int64(0)
			for i := range 2000 {
				if store.Stats().DiskDroppedRows > 0 {
					fs.watchLeast()
				}
				at := int64(i * 10)
				b, _ := batch(rng, 1+rng.IntN(60), at)
				inserted += int64(b.Rows)
				switch i % 4 {
				case 0:
					insert(t, table, b)
				case 1:
					tx := store.Begin()
					if err := tx.Insert(t.Context(), table, b); err != nil {
						t.Fatal(err)
					}
					if err := tx.Insert(t.Context(), other, b); err != nil {
						t.Fatal(err)
					}
					inserted += int64(b.Rows)
					commit(t, tx)
				case 2:
					insert(t, other, b)
					codes, err := other.Codes(at)
					if err != nil {
						t.Fatal(err)
					}
					tx := store.Begin()
					if err := tx.InsertCodes(t.Context(), codes, codedRow(t, codes, at)); err != nil {
						t.Fatal(err)
					}
					inserted++
					commit(t, tx)
				case 3:
					insert(t, table, b)
					if i < 400 {
						tx := store.Begin()
						change(t, writerOf(t, tx, h), at+1, fmt.Sprint("a", i%7), history.Int(at))
						commit(t, tx)
					}
				}
				if manual && i%50 == 0 {
					if err := store.Maintain(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
			}
			stats := store.Stats()
			segment := opts.DiskBudget / 32
			peak, least, largest := fs.seen()
			t.Logf("%d to %d bytes of %d, largest file %d, %d rows of %d, %+v", least, peak, budget, largest, stats.Rows, inserted, stats)
			if most := budget + segment + largest; peak > most {
				t.Errorf("%d bytes in the directory, want at most %d", peak, most)
			}
			want := int64(budget / 2) // a range has 3 % of the budget at most, and a log that is filed a third
			if !manual {              // rows come while ranges go
				want /= 2
			}
			if least < want {
				t.Errorf("ranges were dropped until %d bytes were left, want %d at least", least, want)
			}
			if stats.DiskDroppedRows == 0 || stats.Rows+stats.DroppedRows != inserted || stats.Rows < inserted/100 {
				t.Errorf("%d rows, %d dropped, %d of these for the disk, of %d", stats.Rows, stats.DroppedRows, stats.DiskDroppedRows, inserted)
			}
			rows := rowsNow(t, store, table)
			if err := store.Close(); err != nil {
				t.Fatal(err)
			}
			checkFiles(t, fs, store.dir.id)
			opts.DiskBudget = 0
			again, table := reopen(t, opts)
			got := rowsNow(t, again, table)
			if !manual { // Close can drop more
				rows = rows[max(0, len(rows)-len(got)):]
			}
			if len(got) == 0 || manual && !slices.Equal(got, rows) {
				t.Errorf("%d rows after a restart, %d before", len(got), len(rows))
			}
		})
	}
}

// If data that must stay fills the budget, commits are refused and nothing happens, and reads go on.
// Commits go on after a drop, with rows of a later range, and with a larger budget.
func TestDiskBudget_Full(t *testing.T) {
	const budget = 256 << 10
	for _, cure := range []string{"drop", "later rows", "larger budget", "states"} {
		t.Run(cure, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, 2))
			opts, fs := withDiskBudget(t, budget)
			store, table := open(t, opts, samples(1_000_000))
			h := createHistory(t, store, HistoryOptions{})
			var refused error
			for i := 0; refused == nil && i < 10_000; i++ {
				b, _ := batch(rng, 50, int64(i))
				_, refused = table.Insert(t.Context(), b)
			}
			if !errors.Is(refused, disk.ErrDisk) || !strings.Contains(refused.Error(), fmt.Sprintf("disk budget of %d", budget)) {
				t.Fatal(refused)
			}
			t.Log(refused)
			rows := rowsNow(t, store, table)
			for range 20 {
				b, _ := batch(rng, 50, 0)
				if _, err := table.Insert(t.Context(), b); !errors.Is(err, disk.ErrDisk) {
					t.Fatal(err)
				}
				tx := store.Begin()
				change(t, writerOf(t, tx, h), 1, "a", history.Int(1))
				if _, err := tx.Commit(); !errors.Is(err, disk.ErrDisk) {
					t.Fatal(err)
				}
				if err := store.Maintain(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := store.CreateTable("other", samples(10)); !errors.Is(err, disk.ErrDisk) {
				t.Error(err)
			}
			if got := rowsNow(t, store, table); !slices.Equal(got, rows) {
				t.Errorf("%d rows, want %d", len(got), len(rows))
			}
			if peak, _, largest := fs.seen(); peak > budget+budget/32+largest {
				t.Errorf("%d bytes in the directory, the largest file has %d", peak, largest)
			}
			at := int64(0)
			switch cure {
			case "drop", "states":
				if _, err := table.DropBefore(t.Context(), 1_000_000); err != nil {
					t.Fatal(err)
				}
				at = 1_000_000
			case "later rows":
				at = 1_000_000
			case "larger budget":
				if err := store.Close(); err != nil {
					t.Fatal(err)
				}
				opts.DiskBudget = 4 * budget
				store, table = reopen(t, opts)
				if got := rowsNow(t, store, table); !slices.Equal(got, rows) {
					t.Errorf("%d rows, want %d", len(got), len(rows))
				}
			}
			if cure == "states" {
				tx := store.Begin()
				change(t, writerOf(t, tx, h), 1, "a", history.Int(1))
				commit(t, tx)
			}
			b, _ := batch(rng, 50, at)
			insert(t, table, b)
			if stats := store.Stats(); at > 0 && stats.FileBytes+stats.LogBytes > budget/2 {
				t.Errorf("%+v", stats)
			}
		})
	}
}

// A snapshot keeps files of dropped ranges, and expires when they fill the budget.
func TestDiskBudget_Snapshot(t *testing.T) {
	effort.Long(t)
	const budget = 256 << 10
	rng := rand.New(rand.NewPCG(1, 2))
	opts, fs := withDiskBudget(t, budget)
	store, table := open(t, opts, samples(100))
	var snap *Snapshot
	var rows []string
	expired := false
	for i := range 1500 {
		b, _ := batch(rng, 150, int64(i*10))
		insert(t, table, b)
		if err := store.Maintain(t.Context()); err != nil {
			t.Fatal(err)
		}
		if snap == nil && store.Stats().FileBytes > budget*3/8 {
			if err := store.flusher.flush(t.Context()); err != nil {
				t.Fatal(err)
			}
			for _, v := range store.memory.unloadable(store.roots.Root().State) {
				store.memory.unload(v)
			}
			var err error
			if snap, err = store.Snapshot(); err != nil {
				t.Fatal(err)
			}
			defer snap.Close()
			rows = allRows(t, table, snap, ScanOptions{})
		}
		if snap != nil && i%20 == 0 && !expired {
			got := 0
			for rec, err := range table.Scan(t.Context(), snap, ScanOptions{}) {
				if errors.Is(err, ErrSnapshotExpired) {
					expired = true
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				got += int(rec.NumRows())
				rec.Release()
			}
			if !expired && got != len(rows) {
				t.Fatalf("%d rows of the snapshot, want %d", got, len(rows))
			}
		}
	}
	if !expired || store.Stats().Expired == 0 {
		t.Errorf("%+v", store.Stats())
	}
	if peak, _, largest := fs.seen(); peak > budget+budget/32+largest {
		t.Errorf("%d bytes in the directory, the largest file has %d", peak, largest)
	}
}

// A commit can have any number of new texts: their log entries are within the budget too. If they do not
// fit after a drop, the commit is refused, and later commits go on.
func TestDiskBudget_Dictionaries(t *testing.T) {
	const budget = 512 << 10
	for _, test := range []struct {
		name  string
		texts int
		fits  bool
	}{{"fits", 5000, true}, {"too large", 50_000, false}} {
		t.Run(test.name, func(t *testing.T) {
			opts, fs := withDiskBudget(t, budget)
			opts.imageBytes = 1 << 10
			store, table := open(t, opts, samples(100))
			rng := rand.New(rand.NewPCG(1, 2))
			at := int64(0)
			for ; store.flusher.space.Over(crowdedAt) < 0; at += 10 {
				b, _ := batch(rng, 50, at)
				insert(t, table, b)
			}
			texts := make([]string, test.texts)
			for i := range texts {
				texts[i] = fmt.Sprintf("%032x", rng.Uint64())
			}
			_, err := table.Insert(t.Context(), schema.Batch{Rows: test.texts, Columns: map[string]encoding.Vector{
				"kind": encoding.Strings("cpu"), "labels.text": encoding.Strings(texts...), "time": encoding.Int64s(at), "value": encoding.Int64s(1),
				"stack": encoding.UUIDLists(nil),
			}})
			if test.fits && err != nil || !test.fits && !errors.Is(err, disk.ErrDisk) {
				t.Errorf("%v", err)
			}
			b, _ := batch(rng, 50, at+1000)
			insert(t, table, b)
			peak, _, largest := fs.seen()
			t.Logf("at most %d bytes of %d, %d rows, refused: %v", peak, budget, store.Stats().Rows, err)
			if peak > budget+budget/32+largest {
				t.Errorf("%d bytes in the directory, the largest file has %d", peak, largest)
			}
		})
	}
}

// The options of the disk budget.
func TestDiskBudget_Options(t *testing.T) {
	for _, budget := range []int64{-1, 1, leastDiskBudget - 1} {
		if _, err := Open(Options{DiskBudget: budget, FS: crashfs.New(crashfs.Options{})}); !errors.Is(err, ErrOptions) {
			t.Errorf("%d: %v", budget, err)
		}
	}
	store, err := Open(Options{DiskBudget: leastDiskBudget, FS: crashfs.New(crashfs.Options{}), LogBytes: 1 << 30, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if used := store.Stats().LogBytes; store.opts.LogBytes > leastDiskBudget/4 || used > leastDiskBudget/16 {
		t.Errorf("%d bytes of log, %d used", store.opts.LogBytes, used)
	}
}

// Rows that the budget dropped stay dropped after a crash at any time, and nothing else is lost, because
// floors are commits.
func TestDiskBudget_Crash(t *testing.T) {
	if effort.Race {
		t.Skip("one goroutine does it all")
	}
	lowerDiskBudget(t)
	rng := rand.New(rand.NewPCG(1, 2))
	fs := crashfs.New(crashfs.Options{})
	opts := inDir(fs)
	opts.segmentBytes, opts.DiskBudget, opts.Sync = 0, 256<<10, disk.SyncEach
	store, table := open(t, opts, samples(100))
	dropped := int64(0)
	for i := range 600 {
		b, _ := batch(rng, 60, int64(i*10))
		insert(t, table, b)
		now := store.Stats().DroppedRows
		if now == dropped && i%100 > 0 {
			continue
		}
		dropped = now
		after := opts
		after.FS, after.DiskBudget = fs.Crash(), 0
		again, table2 := reopen(t, after)
		if got, want := rowsNow(t, again, table2), rowsNow(t, store, table); !slices.Equal(got, want) || table2.floor() != table.floor() {
			t.Fatalf("commit %d: %d rows from %d after a crash, want %d from %d", i, len(got), table2.floor(), len(want), table.floor())
		}
		_ = again.Close()
	}
	if dropped == 0 {
		t.Error("nothing was dropped")
	}
}
