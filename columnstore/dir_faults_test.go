package columnstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/internal/catalog"
	"github.com/granarydb/granary/internal/crashfs"
	"github.com/granarydb/granary/internal/disk"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/internal/files"
	"github.com/granarydb/granary/schema"
	"github.com/granarydb/granary/txn"
)

// A dictionary with one long repetitive value compresses to less than a thousandth.
func TestDir_CompressibleDictionary(t *testing.T) {
	fs := crashfs.New(crashfs.Options{})
	store, table := open(t, inDir(fs), samples(100))
	b, _ := batch(rand.New(rand.NewPCG(1, 2)), 1, 5)
	for i := range 4 { // the values differ
		b.Columns["labels.review"] = encoding.Strings(strings.Repeat("a", schema.MaxString-i))
		insert(t, table, b)
	}
	want := rowsNow(t, store, table)
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	store, table = reopen(t, inDir(fs))
	if got := rowsNow(t, store, table); !slices.Equal(got, want) {
		t.Fatalf("%d rows, want %d", len(got), len(want))
	}
}

// Names of tables are any bytes, and JSON has UTF-8 alone.
func TestDir_TableNames(t *testing.T) {
	for _, names := range [][]string{{"a\xff"}, {"a\xff", "a\xfe"}} {
		t.Run(fmt.Sprintf("%q", names), func(t *testing.T) {
			fs := crashfs.New(crashfs.Options{})
			store, err := Open(inDir(fs))
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range names {
				if _, err := store.CreateTable(name, samples(100)); err != nil {
					_ = store.Close()
					t.Skip("refused: ", err)
				}
			}
			if err := store.Close(); err != nil {
				t.Fatal(err)
			}
			store, _ = reopen(t, inDir(fs))
			for _, name := range names {
				if store.Table(name) == nil {
					t.Errorf("table %q is lost", name)
				}
			}
		})
	}
}

// The caller of CreateTable may reuse its definition.
func TestDir_DefinitionIsCopied(t *testing.T) {
	fs := crashfs.New(crashfs.Options{})
	def := samples(100)
	store, table := open(t, inDir(fs), def)
	fill(t, table, rand.New(rand.NewPCG(1, 2)), 5)
	want := rowsNow(t, store, table)
	def.Columns[0].Name, def.Columns[1].Name = "other", "kind"
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	store, table = reopen(t, inDir(fs))
	if got := rowsNow(t, store, table); !slices.Equal(got, want) {
		t.Fatalf("%d rows, want %d", len(got), len(want))
	}
}

// Close waits for a call of Maintain that writes files.
func TestDir_CloseBesideMaintain(t *testing.T) {
	dir := t.TempDir()
	opts := Options{Dir: dir, Manual: true, FutureLimit: -1, PastLimit: -1, LogBytes: 1}
	at, goOn := make(chan bool), make(chan bool)
	var once sync.Once // Close files too
	opts.Yield = func(point string) {
		if point == "file/manifest" {
			once.Do(func() {
				at <- true
				<-goOn
			})
		}
	}
	store, table := open(t, opts, samples(100))
	fill(t, table, rand.New(rand.NewPCG(1, 2)), 5)
	want := rowsNow(t, store, table)
	ended, closed := make(chan error, 1), make(chan error, 1)
	go func() { ended <- store.Maintain(context.Background()) }()
	<-at
	go func() { closed <- store.Close() }()
	for !store.closed.Load() {
		time.Sleep(time.Millisecond)
	}
	if _, err := Open(Options{Dir: dir}); !errors.Is(err, disk.ErrLocked) {
		t.Errorf("the directory of a store that is closing: %v, want %v", err, disk.ErrLocked)
	}
	goOn <- true
	<-ended
	if err := <-closed; err != nil {
		t.Fatal(err)
	}
	opts.Yield = nil
	second, table := reopen(t, opts)
	if got := rowsNow(t, second, table); !slices.Equal(got, want) {
		t.Fatalf("%d rows came back, want %d", len(got), len(want))
	}
}

// A range is dropped while files are written: its dictionaries go before the root is published.
func TestDir_FileBesideDrop(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	fs := crashfs.New(crashfs.Options{})
	opts := inDir(fs)
	opts.GenerationBuckets = 1
	store, table := open(t, opts, samples(100))
	fill(t, table, rng, 40)
	if err := store.flusher.flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	var crashed disk.FS
	filed := make(chan error, 1)
	store.roots.Rewrite(func(current *txn.Root[*catalog.Database]) (txn.Next[*catalog.Database], bool) { // as account.drop
		edit := current.State.Table(table.ordinal).Edit(table.ordinal)
		defer edit.Release()
		edit.Evict(200)
		next := txn.Next[*catalog.Database]{State: current.State}
		table.finish(edit, current.Version+1, &next)
		// The goroutine is put off here, and the flusher's runs.
		go func() { filed <- store.flusher.flush(context.Background()) }()
		for limit := time.Now().Add(200 * time.Millisecond); len(filed) == 0 && time.Now().Before(limit); { // or it waits for the commit lock
			time.Sleep(time.Millisecond)
		}
		crashed = fs.Crash()
		return next, true
	})
	if err := <-filed; err != nil { // Close files too, and is not safe beside it
		t.Fatal(err)
	}
	opts.FS = crashed
	again, err := Open(opts)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
}

// An opened store has both copies of its manifest until the next one.
func TestDir_ManifestCopies(t *testing.T) {
	fs := crashfs.New(crashfs.Options{})
	opts := inDir(fs)
	store, table := open(t, opts, samples(100))
	fill(t, table, rand.New(rand.NewPCG(1, 2)), 5)
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	count := func(when string) {
		n := 0
		names, _ := fs.List()
		for _, name := range names {
			if strings.HasPrefix(name, "manifest-") {
				n++
			}
		}
		if n != 2 {
			t.Errorf("%s: %d manifests, want 2", when, n)
		}
	}
	count("closed")
	reopen(t, opts)
	count("open")
}

// A commit that began before Close gets the ErrClosed that its documentation has.
func TestDir_ErrClosed(t *testing.T) {
	for _, fs := range []disk.FS{nil, crashfs.New(crashfs.Options{})} {
		opts := Options{Manual: true, FutureLimit: -1, PastLimit: -1, FS: fs}
		store, table := open(t, opts, samples(100))
		tx := store.Begin()
		b, _ := batch(rand.New(rand.NewPCG(1, 2)), 5, 5)
		if err := tx.Insert(t.Context(), table, b); err != nil {
			t.Fatal(err)
		}
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Commit(); !errors.Is(err, ErrClosed) {
			t.Errorf("directory %v: commit: %v, want %v", fs != nil, err, ErrClosed)
		}
		if _, err := store.CreateTable("other", samples(100)); !errors.Is(err, ErrClosed) {
			t.Errorf("directory %v: create: %v, want %v", fs != nil, err, ErrClosed)
		}
	}
}

// A manifest with numbers that no store writes is an error.
func TestDir_HostileManifest(t *testing.T) {
	for name, change := range map[string]func(m *files.Manifest){
		"no ranges":       func(m *files.Manifest) { m.Tables[0].Ranges = 0 },
		"negative ranges": func(m *files.Manifest) { m.Tables[0].Ranges = -1 },
		"bucket twice": func(m *files.Manifest) {
			f := &m.Tables[0]
			f.Buckets = append(f.Buckets, f.Buckets[len(f.Buckets)-1])
		},
		"buckets out of order": func(m *files.Manifest) { slices.Reverse(m.Tables[0].Buckets) },
		"through later":        func(m *files.Manifest) { m.Tables[0].Buckets[0].Through = m.Commit + 1000 },
		"no entries":           func(m *files.Manifest) { m.Tables[0].Generations[0].Entries = 0 },
		"last commit":          func(m *files.Manifest) { m.Commit = 1<<64 - 1 },
		"newest":               func(m *files.Manifest) { m.Tables[0].State.Newest = 1<<63 - 1 },
		"lowest":               func(m *files.Manifest) { m.Tables[0].State.Newest = -1 << 63 },
		"last":                 func(m *files.Manifest) { m.Tables[0].State.Last = 1<<63 - 1 },
		"generation":           func(m *files.Manifest) { m.Tables[0].Generations[0].Number = -1 << 63 },
		"table twice":          func(m *files.Manifest) { m.Tables = append(m.Tables, m.Tables[0]) },
		"width":                func(m *files.Manifest) { m.Tables[0].Definition.Bucket.Width = -1 },
		"file of tomorrow":     func(m *files.Manifest) { m.Tables[0].Buckets[0].File = 1 << 60 },
		"huge ranges":          func(m *files.Manifest) { m.Tables[0].Ranges = 1<<63 - 1 },
	} {
		t.Run(name, func(t *testing.T) {
			fs := crashfs.New(crashfs.Options{})
			opts := inDir(fs)
			store, table := open(t, opts, samples(100))
			fill(t, table, rand.New(rand.NewPCG(1, 2)), 20)
			rows := len(rowsNow(t, store, table))
			if err := store.Close(); err != nil {
				t.Fatal(err)
			}
			d, m, err := files.OpenDir(fs, store.dir.id)
			if err != nil {
				t.Fatal(err)
			}
			change(m)
			if err := d.WriteManifest(m); err != nil {
				t.Fatal(err)
			}
			defer func() {
				if p := recover(); p != nil {
					t.Errorf("panic: %v", p)
				}
			}()
			again, err := Open(opts)
			if err != nil {
				t.Log("refused: ", err)
				return
			}
			defer again.Close()
			table = again.Table("samples")
			if err := readAll(t, again, table); err != nil {
				t.Log("a read is refused: ", err)
				return
			}
			if got := len(rowsNow(t, again, table)); got != rows || table.state().Rows != int64(rows) {
				t.Errorf("%d rows, the account has %d, want %d or an error", got, table.state().Rows, rows)
			}
			b, _ := batch(rand.New(rand.NewPCG(1, 2)), 5, 5)
			insert(t, table, b)
			if err := again.Close(); err != nil {
				t.Fatal(err)
			}
			third, err := Open(opts)
			if err != nil {
				t.Fatal("opened, written, closed: ", err)
			}
			defer third.Close()
			if got := len(rowsNow(t, third, third.Table("samples"))); got != rows+5 {
				t.Errorf("later %d rows, want %d", got, rows+5)
			}
		})
	}
}

// Tables without time buckets and without dictionaries, and stores without tables.
func TestDir_Plain(t *testing.T) {
	fs := crashfs.New(crashfs.Options{})
	opts := inDir(fs)
	for range 3 {
		store, _ := reopen(t, opts)
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
	}
	def := schema.Definition{Columns: []schema.Column{{Name: "value", Type: encoding.Int64, Encoding: encoding.Plain}}}
	store, table := open(t, opts, def)
	for i := range int64(3) {
		insert(t, table, schema.Batch{Rows: 2, Columns: map[string]encoding.Vector{"value": encoding.Int64s(i, 1<<62+i)}})
	}
	for range 3 {
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
		store, table = reopen(t, opts)
		if got := table.state().Rows; got != 6 {
			t.Fatalf("%d rows", got)
		}
	}
}

// The log of a store with a memory budget is replaced although one generation takes most of it.
func TestDir_LargeDictionary(t *testing.T) {
	effort.Long(t)
	if effort.Race {
		t.Skip("one goroutine inserts, maintains and files")
	}
	fs := crashfs.New(crashfs.Options{})
	opts := inDir(fs)
	opts.MemoryBudget, opts.GranuleRows, opts.LogBytes, opts.GenerationBuckets = 4<<20, 0, 64<<10, 1<<20
	store, table := open(t, opts, samples(100))
	n, failed, most := 0, 0, int64(0)
	for i := range 4000 {
		b, _ := batch(rand.New(rand.NewPCG(1, uint64(i))), 20, int64(i*10))
		stacks := make([][]uuid.UUID, 20)
		for k := range stacks {
			n++
			stacks[k] = []uuid.UUID{{byte(n), byte(n >> 8), byte(n >> 16)}, {1}}
		}
		b.Columns["stack"] = encoding.UUIDLists(stacks...)
		if _, err := table.Insert(t.Context(), b); err != nil {
			t.Log("insert ", i, ": ", err)
			break
		}
		if err := store.Maintain(t.Context()); err != nil {
			t.Fatal(err)
		}
		if i%100 == 0 {
			s := store.Stats()
			if s.FlushError != nil {
				failed++
				if failed < 3 {
					t.Logf("insert %d: %d rows, %d evicted, dictionaries %d KiB, log %d KiB: %v", i, s.Rows, s.EvictedRows, (s.StackBytes+s.SeriesBytes)>>10, s.LogBytes>>10, s.FlushError)
				}
			}
			most = max(most, s.LogBytes)
		}
	}
	s := store.Stats()
	t.Logf("at last: %d rows, %d evicted, dictionaries %d KiB, log %d KiB, bound %d KiB, %v", s.Rows, s.EvictedRows, (s.StackBytes+s.SeriesBytes)>>10, s.LogBytes>>10, store.flusher.bound.Load()>>10, s.FlushError)
	if failed > 1 {
		t.Errorf("flush failed at %d of 40 looks, the log has up to %d KiB", failed, most>>10)
	}
}
