package cold

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/granarydb/granary/granule"
	"github.com/granarydb/granary/internal/catalog"
	"github.com/granarydb/granary/internal/dictionaries"
	"github.com/granarydb/granary/internal/disk"
	"github.com/granarydb/granary/internal/files"
	"github.com/granarydb/granary/internal/querytest"
)

// after drops the ranges that end at or before a bound, and no others.
func TestAfter(t *testing.T) {
	ranges := [][2]string{{"b", "d"}, {"d", "f"}, {"m", ""}}
	for lo, want := range map[string]int{"": 0, "a": 0, "c": 0, "d": 1, "e": 1, "f": 2, "z": 2} {
		if got := after(ranges, lo); !cmp.Equal(got, ranges[want:]) {
			t.Errorf("after %q: %v, want %v", lo, got, ranges[want:])
		}
	}
	if got := after(ranges[:1], "d"); len(got) > 0 {
		t.Errorf("after all: %v", got)
	}
}

// A bucket whose file could not be opened has that error for each read, with the table's name.
func TestFiles_Unopened(t *testing.T) {
	damaged := errors.New("damaged")
	f := &Files{Name: "samples"}
	b := &catalog.BucketState{Cold: &catalog.Cold{Rows: 7, Err: damaged}}
	want := `table "samples": 7 rows from 1970-01-01T00:00:00Z on: damaged`
	if _, some, err := f.FindID(nil, b, "trace", uuid.UUID{}); some || !errors.Is(err, damaged) || err.Error() != want {
		t.Errorf("FindID: %t, %v", some, err)
	}
	if _, err := f.Dictionaries(nil, b); !errors.Is(err, damaged) || err.Error() != want {
		t.Errorf("Dictionaries: %v", err)
	}
}

// Rows leave memory if a file has them all, and if rows are in memory, or the file is another one.
func TestCanUnload(t *testing.T) {
	table := querytest.Open(t, querytest.Options{}, querytest.Samples(10))
	table.Insert(querytest.Pods("a", 1, 2))
	table.Insert(querytest.Pods("b", 3))
	hot := func() *catalog.BucketState { b, _ := table.State().Oldest(); return b }
	last := uint64(0)
	for _, g := range table.State().HotGranules(hot()) {
		for _, s := range g.Sections() {
			last = max(last, s.Part.Commit())
		}
	}
	fileOf := func(number, through uint64) *files.TableFiles {
		return &files.TableFiles{Buckets: []files.BucketFile{{Start: 0, File: number, Through: through, Rows: 3, Bytes: 50}}}
	}
	check := func(name string, m *files.TableFiles, want *catalog.Cold) {
		t.Helper()
		if got := CanUnload(table.State(), hot(), m, 4); !cmp.Equal(got, want) {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
	check("no manifest", nil, nil)
	check("no file", &files.TableFiles{}, nil)
	check("a file without the last rows", fileOf(1, last-1), nil)
	first := &catalog.Cold{File: 1, Rows: 3, Bytes: 50, Through: last, Generation: 4}
	check("a file with all rows", fileOf(1, last), first)
	key, _ := table.Env.Schema.BucketBounds(0)
	table.Edit(func(e *catalog.TableEdit) { e.Unload(key, first) })
	check("cold, in the same file", fileOf(1, last), nil)
	check("cold, in another file", fileOf(2, last+3), &catalog.Cold{File: 2, Rows: 3, Bytes: 50, Through: last + 3, Generation: 4})
	table.Insert(querytest.Pods("c", 5))
	check("late rows that no file has", fileOf(1, last), nil)
	check("late rows, in the same file", fileOf(1, last+100), &catalog.Cold{File: 1, Rows: 3, Bytes: 50, Through: last + 100, Generation: 4})
}

// Dictionaries are needed while rows in memory have codes of them, and from those of the newest rows on.
func TestIsNeeded(t *testing.T) {
	for _, test := range []struct {
		name   string
		width  int64
		ranges dictionaries.Ranges
		cold   []int64 // starts of buckets that become cold
		late   int64   // time of a row after that, or -1
		want   []bool  // by number
	}{
		{"all in memory", 10, dictionaries.Ranges{Width: 10, Count: 2}, nil, -1, []bool{true, true, true, true}},
		{"one of two is cold", 10, dictionaries.Ranges{Width: 10, Count: 2}, []int64{0}, -1, []bool{true, true, true, true}},
		{"both are cold", 10, dictionaries.Ranges{Width: 10, Count: 2}, []int64{0, 10}, -1, []bool{false, true, true, true}},
		{"late rows", 10, dictionaries.Ranges{Width: 10, Count: 2}, []int64{0, 10}, 15, []bool{true, true, true, true}},
		{"all are cold", 10, dictionaries.Ranges{Width: 10, Count: 2}, []int64{0, 10, 20, 40}, -1, []bool{false, false, true, true}},
		{"no ranges", 0, dictionaries.Ranges{}, nil, -1, []bool{true}},
	} {
		t.Run(test.name, func(t *testing.T) {
			table := querytest.Open(t, querytest.Options{}, querytest.Samples(test.width))
			for _, at := range []int64{5, 15, 25, 45} {
				table.Insert(querytest.OneRow(at))
			}
			for _, start := range test.cold {
				key, _ := table.Env.Schema.BucketBounds(start)
				table.Edit(func(e *catalog.TableEdit) { e.Unload(key, &catalog.Cold{File: 1, Rows: 1}) })
			}
			if test.late >= 0 {
				table.Insert(querytest.OneRow(test.late))
			}
			for number, want := range test.want {
				if got := isNeeded(table.State(), int64(number), test.ranges); got != want {
					t.Errorf("generation %d is needed: %t", number, got)
				}
			}
		})
	}
	gap := querytest.Open(t, querytest.Options{}, querytest.Samples(10))
	gap.Insert(querytest.OneRow(15))
	gap.Insert(querytest.OneRow(45))
	for number, want := range []bool{true, false, true} { // the rows at 15 have codes of the first alone
		if got := isNeeded(gap.State(), int64(number), dictionaries.Ranges{Width: 10, Count: 2}); got != want {
			t.Errorf("with a gap, generation %d is needed: %t", number, got)
		}
	}
	if old := querytest.Open(t, querytest.Options{}, querytest.Samples(10)); isNeeded(old.State(), math.MinInt64, dictionaries.Ranges{Width: 10, Count: 2}) {
		t.Error("dictionaries before all rows are needed")
	}
}

// A search for an id names the granules that can have it, and whether any can. Rows in memory always can.
func TestFiles_FindID(t *testing.T) {
	d := newDesk(t)
	b, _ := querytest.Batch(rand.New(rand.NewPCG(1, 3)), 100, 5)
	d.Insert(b)
	out, _, err := d.write(t.Context(), func(w *Writer) { w.Limit.Rows = 20 }, nil)
	if err != nil {
		t.Fatal(err)
	}
	trace := b.Columns["trace"]
	present := trace.UUIDs[slices.Index(trace.Valid, true)]
	state := catalog.NewTableState(d.Env.Schema)
	bucket := &catalog.BucketState{Cold: coldOf(out.Buckets[0], 0)}
	for id, want := range map[uuid.UUID]bool{present: true, {0xff, 0xee}: false} {
		granules, some, err := d.files.FindID(state, bucket, "trace", id)
		if err != nil || some != want || (granules.Len() > 0) != want || granules.Len() > 2 {
			t.Errorf("id %x: granules %v, %t, %v", id, granules, some, err)
		}
	}
	if granules, some, err := d.files.FindID(d.State(), bucket, "trace", uuid.UUID{0xff, 0xee}); err != nil || !some || granules.Len() > 0 {
		t.Errorf("beside rows in memory: granules %v, %t, %v", granules, some, err)
	}
}

// A bucket of an earlier run has the series and columns of its file. A damaged file is an error of the bucket's reads alone.
func TestFiles_OpenBucket(t *testing.T) {
	d := newDesk(t).fill()
	out, _, err := d.write(t.Context(), sameFiles, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.dir.Sync(); err != nil {
		t.Fatal(err)
	}
	file := out.Buckets[0]
	b, err := d.files.OpenBucket(file, 3)
	if err != nil || b.Start != 0 || b.Series.Len() != 2 || !b.Columns["labels.pod"] || b.Born != file.Through || b.Cold.Err != nil || *b.Cold != *coldOf(file, 3) {
		t.Errorf("%+v, %v", b, err)
	}
	name := disk.FileName(files.RowsKind, file.File)
	d.fs.Flip(name, int64(8*len(d.fs.Get(name))-4))
	b, err = d.files.OpenBucket(file, 3)
	if _, damaged := errors.AsType[*disk.DamagedError](b.Cold.Err); err != nil || !damaged {
		t.Errorf("a damaged file: %+v, %v", b.Cold, err)
	}
	state := catalog.NewTableState(d.Env.Schema)
	bucket := &catalog.BucketState{Cold: coldOf(file, 3)}
	for g, err := range d.files.Granules(state, bucket, d.Generation(0), catalog.ColdRead{}) {
		if g != nil || err == nil || !strings.HasPrefix(err.Error(), `table "samples": 3 rows from 1970`) {
			t.Errorf("a read of a damaged file: %v", err)
		}
	}
	if _, some, err := d.files.FindID(state, bucket, "trace", uuid.UUID{}); some || err == nil {
		t.Errorf("a search in a damaged file: %v", err)
	}
}

// Dictionaries are read once, until they are forgotten.
func TestFiles_Cached(t *testing.T) {
	d := newDesk(t)
	reads := 0
	read := func() (*dictionaries.DurableGeneration, error) {
		reads++
		return &dictionaries.DurableGeneration{Generation: granule.NewGeneration(1), Number: 4}, nil
	}
	get := func(want int) {
		t.Helper()
		if g, err := d.files.Cached(4, read); err != nil || g.Number != 4 || reads != want {
			t.Errorf("%d reads, want %d: %v", reads, want, err)
		}
	}
	get(1)
	get(1)
	d.files.Forget(5)
	get(1)
	d.files.Forget(4)
	get(2)
}
