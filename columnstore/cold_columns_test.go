package columnstore

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/internal/crashfs"
	"github.com/granarydb/granary/internal/disk"
	"github.com/granarydb/granary/internal/files"
	"github.com/granarydb/granary/schema"
)

// traced is a table with a column of ids, and one of texts, that store their values.
func traced(bucket int64) schema.Definition {
	return schema.Definition{
		Columns: []schema.Column{
			{Name: "pod", Type: encoding.String, Encoding: encoding.DictionaryRLE},
			{Name: "time", Type: encoding.Int64, Encoding: encoding.Delta},
			{Name: "trace", Type: encoding.UUID, Encoding: encoding.Plain, Nullable: true},
			{Name: "note", Type: encoding.String, Encoding: encoding.Plain, Nullable: true},
			{Name: "value", Type: encoding.Int64, Encoding: encoding.Plain},
		},
		SortingKey: []string{"pod", "time"},
		Bucket:     schema.Bucket{Column: "time", Width: bucket},
	}
}

const (
	traceMark = "a trace:" // the first bytes of each trace id
	noteMark  = "a note"
)

// traceOf returns a row's id.
func traceOf(row int) (id uuid.UUID) {
	copy(id[:], traceMark)
	binary.BigEndian.PutUint64(id[8:], uint64(row)*0x9e3779b97f4a7c15)
	return id
}

// tracedRows returns rows from lo to hi: a row's time is its number, and its pod too, by the thousand.
func tracedRows(lo, hi int, traces, notes bool) schema.Batch {
	b := schema.Batch{Rows: hi - lo, Columns: map[string]encoding.Vector{}}
	var pods, texts []string
	var times, values []int64
	var ids []uuid.UUID
	for row := lo; row < hi; row++ {
		pods, times, values = append(pods, fmt.Sprint("pod ", row/1000%10)), append(times, int64(row)), append(values, 1)
		ids, texts = append(ids, traceOf(row)), append(texts, noteMark)
	}
	b.Columns["pod"], b.Columns["time"], b.Columns["value"] = encoding.Strings(pods...), encoding.Int64s(times...), encoding.Int64s(values...)
	if traces {
		b.Columns["trace"] = encoding.UUIDs(ids...)
	}
	if notes {
		b.Columns["note"] = encoding.Strings(texts...)
	}
	return b
}

// readsFS records the reads of files.
type readsFS struct {
	*crashfs.FS
	mu    sync.Mutex
	reads map[string][][]byte // by kind
}

type readsFile struct {
	disk.File
	fs   *readsFS
	kind string
}

func (f *readsFS) Open(name string) (disk.File, error) {
	file, err := f.FS.Open(name)
	if err != nil {
		return nil, err
	}
	kind, _, _ := disk.ParseName(name)
	return readsFile{file, f, kind}, nil
}

func (f readsFile) ReadAt(b []byte, at int64) (int, error) {
	n, err := f.File.ReadAt(b, at)
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	f.fs.reads[f.kind] = append(f.fs.reads[f.kind], slices.Clone(b[:n]))
	return n, err
}

// take returns the bytes read from files of a kind since the last call, and the number of reads with the
// marks of traces and notes.
func (f *readsFS) take(kind string) (all, traces, notes int) {
	for _, b := range f.reads[kind] {
		all += len(b)
		traces += min(1, bytes.Count(b, []byte(traceMark)))
		notes += min(1, bytes.Count(b, []byte(noteMark)))
	}
	delete(f.reads, kind)
	return all, traces, notes
}

// coldTraces returns a store with n rows in files alone, in granules of at most 1,000 rows, two buckets in
// each generation.
func coldTraces(t testing.TB, fs disk.FS, n int) (*Store, *Table) {
	opts := inDir(fs)
	opts.GranuleRows, opts.BucketRows, opts.GenerationBuckets = 1000, -1, 2
	store, table := open(t, opts, traced(5000))
	for lo := 0; lo < n; lo += 500 {
		insert(t, table, tracedRows(lo, lo+500, lo%7500 != 0, lo%3 > 0))
	}
	compact(t, store)
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	return reopen(t, opts)
}

// askTraces returns the number of rows for which where holds.
func askTraces(t testing.TB, store *Store, table *Table, opts AggregateOptions) (rows int64, err error) {
	err = store.View(t.Context(), func(snap *Snapshot) error {
		groups, err := table.Aggregate(t.Context(), snap, opts)
		if err == nil {
			for _, n := range groups.Counts {
				rows += n
			}
		}
		return err
	})
	return rows, err
}

// A query of cold rows reads wide columns only if it needs one. A search for an id reads a page of at
// most 4 KiB for each granule, and then the granules with the id.
func TestCold_ReadsOfColumns(t *testing.T) {
	const n = 40_000
	fs := &readsFS{FS: crashfs.New(crashfs.Options{}), reads: map[string][][]byte{}}
	store, table := coldTraces(t, fs, n)
	granules := 0
	for _, err := range table.Inspect(t.Context(), snapshot(t, store)) {
		if granules++; err != nil {
			t.Fatal(err)
		}
	}
	ask := func(opts AggregateOptions, want int64) (rows, traces, notes, dicts int) {
		t.Helper()
		store.cache.Shrink(math.MaxInt64)
		fs.reads = map[string][][]byte{}
		got, err := askTraces(t, store, table, opts)
		if err != nil || got != want {
			t.Fatalf("%+v: %d rows, want %d: %v", opts, got, want, err)
		}
		rows, traces, notes = fs.take(files.RowsKind)
		dicts, _, _ = fs.take(files.DictsKind)
		return rows, traces, notes, dicts
	}
	all, traces, notes, _ := ask(AggregateOptions{Sum: "value", By: []string{"note", "trace"}}, n)
	if traces < granules/2 || notes < granules/2 {
		t.Fatalf("%d of %d granules with traces were read, %d with notes", traces, granules, notes)
	}
	for _, by := range [][]string{nil, {"pod"}, {"pod", "time"}, {"time", "value"}} {
		narrow, traces, notes, _ := ask(AggregateOptions{Sum: "value", By: by}, n)
		if traces+notes > 0 || narrow > all/2 {
			t.Errorf("by %v: %d bytes were read, and %d with all columns; %d traces, %d notes", by, narrow, all, traces, notes)
		}
	}
	const directory = 300 // bytes of a granule, and its share of header and trailer
	where := And(Equal("trace", traceOf(n+1)), AtLeast("value", int64(0)))
	pages, traces, notes, dicts := ask(AggregateOptions{Where: where}, 0)
	if pages > granules*(4096+directory) || pages < granules*1000 || traces+notes+dicts > 0 {
		t.Errorf("an absent id: %d bytes of %d granules, %d traces, %d notes, %d bytes of dictionaries", pages, granules, traces, notes, dicts)
	}
	for _, row := range []int{600, 20_111, n - 1} {
		read, traces, notes, _ := ask(AggregateOptions{Where: Equal("trace", traceOf(row))}, 1)
		if read > pages+2*all/granules || traces != 1 || notes > 1 {
			t.Errorf("row %d: %d bytes, %d of pages and %d of a granule; %d traces, %d notes", row, read, pages, all/granules, traces, notes)
		}
	}
	if got, err := askTraces(t, store, table, AggregateOptions{Where: Equal("trace", traceOf(3))}); err != nil || got != 0 {
		t.Errorf("the id of a row without one: %d rows, %v", got, err)
	}
}

// Few ids, and none: a page answers for a granule without a filter, and nothing is read for a granule
// without the column.
func TestCold_FewIDs(t *testing.T) {
	fs := &readsFS{FS: crashfs.New(crashfs.Options{}), reads: map[string][][]byte{}}
	opts := inDir(fs)
	opts.GranuleRows, opts.BucketRows = 1000, -1
	store, table := open(t, opts, traced(1000))
	for lo := 0; lo < 10_000; lo += 1000 {
		insert(t, table, tracedRows(lo, lo+800, false, true))
		if lo < 5000 {
			insert(t, table, tracedRows(lo+800, lo+1000, true, true))
		}
	}
	compact(t, store)
	coolAll(t, store)
	for row, want := range map[int]int64{801: 1, 4999: 1, 3: 0, 9999: 0} {
		store.cache.Shrink(math.MaxInt64)
		fs.reads = map[string][][]byte{}
		got, err := askTraces(t, store, table, AggregateOptions{Where: Equal("trace", traceOf(row))})
		if err != nil || got != want {
			t.Errorf("row %d: %d rows, want %d: %v", row, got, want, err)
		}
		if _, traces, notes := fs.take(files.RowsKind); int64(notes) != want || traces != 5+int(want) {
			t.Errorf("row %d: %d reads of traces of 5 granules, %d of notes", row, traces, notes)
		}
	}
	// Late rows are found beside granules that are passed over.
	insert(t, table, tracedRows(9999, 10_000, true, false))
	if got, err := askTraces(t, store, table, AggregateOptions{Where: Equal("trace", traceOf(9999))}); err != nil || got != 1 {
		t.Errorf("a late row: %d rows, %v", got, err)
	}
}

// Damage fails only queries that need the bytes, and the error names the file, the table and the times.
func TestCold_DamagedColumns(t *testing.T) {
	const n = 10_000
	sum := AggregateOptions{Sum: "value", By: []string{"pod"}}
	notes := AggregateOptions{By: []string{"note"}}
	absent := AggregateOptions{Where: Equal("trace", traceOf(n+1))}
	inside := AggregateOptions{Where: Equal("trace", traceOf(5600))}
	beside := AggregateOptions{Where: Equal("trace", traceOf(9100))}
	questions := map[string]AggregateOptions{"sum": sum, "notes": notes, "absent": absent, "inside": inside, "beside": beside}
	for name, test := range map[string]struct {
		at   func(file []byte) int
		fail []string
	}{
		"narrow": {func([]byte) int { return 64 + 9 }, []string{"sum", "notes", "inside"}},
		"wide":   {func(file []byte) int { return bytes.Index(file, []byte(noteMark)) }, []string{"notes", "inside"}},
		"filter": {func(file []byte) int {
			at := bytes.Index(file, []byte(traceMark))
			for bytes.HasPrefix(file[at:], []byte(traceMark)) {
				at += 16
			}
			return at
		}, []string{"notes", "absent", "inside", "beside"}},
	} {
		t.Run(name, func(t *testing.T) {
			fs := crashfs.New(crashfs.Options{})
			store, table := coldTraces(t, fs, n)
			_, m, err := files.OpenDir(fs, store.dir.id)
			if err != nil {
				t.Fatal(err)
			}
			file := disk.FileName(files.RowsKind, m.Tables[0].Buckets[1].File)
			fs.Flip(file, 8*int64(test.at(fs.Get(file))))
			for of, opts := range questions {
				_, err := askTraces(t, store, table, opts)
				if !slices.Contains(test.fail, of) {
					if err != nil {
						t.Errorf("%s: %v", of, err)
					}
					continue
				}
				d, ok := errors.AsType[*disk.DamagedError](err)
				if !ok || d.File != file || !strings.Contains(err.Error(), `table "samples": 5000 rows from 1970-01-01T00:00:00.000005Z`) {
					t.Errorf("%s: %v", of, err)
				}
			}
			if _, err := askTraces(t, store, table, AggregateOptions{By: []string{"note"}, Where: Less("time", int64(5000))}); err != nil {
				t.Errorf("other times: %v", err)
			}
		})
	}
}

// A search for a trace id among a million rows: in memory, in the store's cache, and only in files (in
// the system's cache).
func BenchmarkColdTrace(b *testing.B) {
	store, err := Open(Options{Dir: b.TempDir(), FutureLimit: -1, PastLimit: -1, Manual: true})
	if err != nil {
		b.Fatal(err)
	}
	defer store.Close()
	table, err := store.CreateTable("samples", traced(int64(100_000)))
	if err != nil {
		b.Fatal(err)
	}
	const n = 1_000_000
	for lo := 0; lo < n; lo += 1000 {
		insert(b, table, tracedRows(lo, lo+1000, true, false))
	}
	compact(b, store)
	rng := rand.New(rand.NewPCG(1, 2))
	for _, state := range []string{"hot", "cached", "files"} {
		if state == "cached" {
			if err := store.flusher.flush(b.Context()); err != nil {
				b.Fatal(err)
			}
			for _, v := range store.memory.unloadable(store.roots.Root().State) {
				store.memory.unload(v)
			}
		}
		for name, opts := range map[string]AggregateOptions{"sum": {Sum: "value", By: []string{"pod"}}, "trace": {}} {
			b.Run(state+" "+name, func(b *testing.B) {
				for b.Loop() {
					if state == "files" {
						store.cache.Shrink(math.MaxInt64)
					}
					if name == "trace" {
						opts.Where = Equal("trace", traceOf(rng.IntN(n)))
					}
					if _, err := askTraces(b, store, table, opts); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(store.Stats().FileBytes)/n, "B/row")
			})
		}
	}
}
