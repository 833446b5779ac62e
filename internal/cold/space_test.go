package cold_test

import (
	"maps"
	"math"
	"testing"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/internal/catalog"
	"github.com/granarydb/granary/internal/cold"
	"github.com/granarydb/granary/internal/crashfs"
	"github.com/granarydb/granary/internal/disk"
	"github.com/granarydb/granary/internal/files"
	"github.com/granarydb/granary/internal/querytest"
	"github.com/granarydb/granary/schema"
)

// rangesOf returns a root of tables with time ranges of 10, and the manifest of their files: of each bucket by its
// start, the bytes.
func rangesOf(t *testing.T, tables ...map[int64]int64) (*catalog.Database, *files.Manifest) {
	t.Helper()
	s, err := schema.New(schema.Definition{
		Columns:    []schema.Column{{Name: "time", Type: encoding.Int64, Encoding: encoding.Delta}},
		SortingKey: []string{"time"}, Bucket: schema.Bucket{Column: "time", Width: 10},
	})
	if err != nil {
		t.Fatal(err)
	}
	root, m := &catalog.Database{}, &files.Manifest{}
	for _, sizes := range tables {
		state := catalog.NewTableState(s)
		state.Newest = math.MinInt64
		edit, out := state.Buckets.Edit(), files.TableFiles{}
		for start := range int64(100) {
			bytes, ok := sizes[start]
			if !ok {
				continue
			}
			lo, _ := s.BucketBounds(start)
			edit.Set(lo, &catalog.BucketState{Start: start})
			state.Newest = start
			if bytes > 0 {
				out.Buckets = append(out.Buckets, files.BucketFile{Start: start, Bytes: bytes, Rows: 1})
			}
		}
		state.Buckets = edit.Done()
		root.Tables, m.Tables = append(root.Tables, state), append(m.Tables, out)
	}
	return root, m
}

// The oldest ranges go, over all tables, whole, and no more than needed; each table keeps its newest one.
func TestOldestRanges(t *testing.T) {
	root, m := rangesOf(t, map[int64]int64{0: 5, 4: 5, 20: 10, 30: 10}, map[int64]int64{10: 10, 20: 10})
	for _, c := range []struct {
		bytes  int64
		coming map[int]int64
		want   map[int]int64
	}{
		{0, nil, map[int]int64{}},
		{-1, nil, map[int]int64{}},
		{1, nil, map[int]int64{0: 10}},  // a range with two buckets goes whole
		{10, nil, map[int]int64{0: 10}}, // and has the bytes of both
		{11, nil, map[int]int64{0: 10, 1: 20}},
		{21, nil, map[int]int64{0: 30, 1: 20}},
		{1000, nil, map[int]int64{0: 30, 1: 20}}, // the newest stay
		{1000, map[int]int64{1: 50}, map[int]int64{0: 30, 1: 30}},
		{1000, map[int]int64{1: 10}, map[int]int64{0: 30, 1: 20}}, // rows that come late
	} {
		if got := cold.OldestRanges(root, m, cold.AllTables, c.coming, c.bytes, 0); !maps.Equal(got, c.want) {
			t.Errorf("%d bytes, coming %v: floors %v, want %v", c.bytes, c.coming, got, c.want)
		}
	}
}

// Of all tables, a file that buckets share is freed with the last of them. Of one table, each bucket frees its part. Rows
// without a file take a share of the bytes that their files are to have.
func TestOldestRanges_Shared(t *testing.T) {
	root, m := rangesOf(t, map[int64]int64{0: 5, 10: 7, 20: 9, 30: 100}, map[int64]int64{0: 3, 10: 3})
	for i := range 2 {
		m.Tables[0].Buckets[i].File, m.Tables[0].Buckets[i].Shared = 8, 2
	}
	m.Tables[0].Buckets[2].File = 9
	for _, c := range []struct {
		table int
		bytes int64
		want  map[int]int64
	}{
		{cold.AllTables, 1, map[int]int64{1: 10}}, // the first range of table 0 frees nothing
		{cold.AllTables, 3, map[int]int64{1: 10}},
		{cold.AllTables, 4, map[int]int64{1: 10, 0: 20}},
		{cold.AllTables, 15, map[int]int64{1: 10, 0: 20}},
		{cold.AllTables, 16, map[int]int64{1: 10, 0: 30}},
		{0, 1, map[int]int64{0: 10}},
		{0, 5, map[int]int64{0: 10}},
		{0, 6, map[int]int64{0: 20}},
		{0, 13, map[int]int64{0: 30}},
		{1, 100, map[int]int64{1: 10}},
	} {
		if got := cold.OldestRanges(root, m, c.table, nil, c.bytes, 0); !maps.Equal(got, c.want) {
			t.Errorf("table %d, %d bytes: floors %v, want %v", c.table, c.bytes, got, c.want)
		}
	}
}

// Ranges of two tables that begin at the same time go together.
func TestOldestRanges_SameStart(t *testing.T) {
	root, m := rangesOf(t, map[int64]int64{0: 5, 10: 5}, map[int64]int64{0: 7, 10: 7})
	if got, want := cold.OldestRanges(root, m, cold.AllTables, nil, 6, 0), (map[int]int64{0: 10, 1: 10}); !maps.Equal(got, want) {
		t.Errorf("floors %v, want %v", got, want)
	}
}

// Rows in memory that no file has are counted, with the files that a writer replaces, and have bytes of their files to be.
func TestUnfiled(t *testing.T) {
	table := querytest.Open(t, querytest.Options{}, querytest.Samples(10))
	table.Insert(querytest.Pods("a", 1, 2))
	filed := table.State().Granules
	through := uint64(0)
	for _, g := range filed.All() {
		through = g.Sections()[0].Part.Commit()
	}
	table.Insert(querytest.Pods("a", 3, 4, 5))
	table.Insert(querytest.Pods("a", 11))
	table.Insert(querytest.Pods("a", 21))
	m := &files.Manifest{Tables: []files.TableFiles{{Buckets: []files.BucketFile{
		{Start: 0, Through: through, Rows: 2, Bytes: 100}, {Start: 10, Through: math.MaxUint64, Rows: 1, Bytes: 7},
	}}}}
	root := table.Database()
	if rows, replaced := cold.Unfiled(root, m); rows != 4 || replaced != 100 {
		t.Errorf("%d rows are in no file, %d bytes are replaced", rows, replaced)
	}
	for _, c := range []struct {
		bytes, rowBytes int64
		want            map[int]int64
	}{
		{101, 0, map[int]int64{0: 20}},
		{101, 4, map[int]int64{0: 10}}, // a byte for each row
		{103, 4, map[int]int64{0: 10}},
		{104, 4, map[int]int64{0: 20}},
	} {
		if got := cold.OldestRanges(root, m, cold.AllTables, nil, c.bytes, c.rowBytes); !maps.Equal(got, c.want) {
			t.Errorf("%d bytes, %d for rows: floors %v, want %v", c.bytes, c.rowBytes, got, c.want)
		}
	}
}

// A raised floor drops the buckets and dictionaries before it, and counts their rows.
func TestRaiseFloor(t *testing.T) {
	before := files.TableFiles{
		State:       catalog.Saved{Floor: 10, Dropped: 1, Lost: 1},
		Buckets:     []files.BucketFile{{Start: 10, Rows: 2, Unit: 4}, {Start: 15, Rows: 3}, {Start: 20, Rows: 7}},
		Generations: []files.GenerationFiles{{Number: 0}, {Number: 1}, {Number: 2}},
	}
	same := before
	if cold.RaiseFloor(&same, 10, 2); len(same.Buckets) != 3 || len(same.Generations) != 3 || same.State.Dropped != 1 {
		t.Errorf("the same floor: %+v", same)
	}
	cold.RaiseFloor(&before, 20, 1)
	if s := before.State; s.Floor != 20 || s.Dropped != 6 || s.Lost != 3 || len(before.Buckets) != 1 || before.Buckets[0].Start != 20 || len(before.Generations) != 2 {
		t.Errorf("a higher floor: %+v", before)
	}
}

// Files of rows and dictionaries that the manifest does not name wait to be removed.
func TestWaiting(t *testing.T) {
	dir := crashfs.New(crashfs.Options{})
	for name, size := range map[string]int{
		disk.FileName(files.RowsKind, 1): 1, disk.FileName(files.RowsKind, 2): 2, disk.FileName(files.DictsKind, 3): 4, disk.FileName(files.DictsKind, 4): 8,
		disk.FileName(files.ManifestKind, 5): 16, disk.FileName(disk.LogKind, 6): 32,
	} {
		dir.Put(name, make([]byte, size))
	}
	space, err := disk.NewSpace(dir, 1000)
	if err != nil {
		t.Fatal(err)
	}
	m := &files.Manifest{Tables: []files.TableFiles{{Buckets: []files.BucketFile{{File: 1}}, Generations: []files.GenerationFiles{{Files: []uint64{3}}}}}}
	if got := cold.Waiting(space, m); got != 2+8 {
		t.Errorf("%d bytes wait", got)
	}
	if got := cold.Waiting(space, nil); got != 1+2+4+8 {
		t.Errorf("%d bytes wait before the first manifest", got)
	}
}

// A manifest is trimmed by the floors that cut it, and is not changed itself.
func TestTrimmed(t *testing.T) {
	root, m := rangesOf(t, map[int64]int64{0: 5, 20: 10, 30: 10}, map[int64]int64{10: 10})
	m.Tables[0].Generations = []files.GenerationFiles{{Number: 0}, {Number: 1}}
	m.Commit, m.Segment = 7, 3
	first := func(int, int64) int64 { return 1 }
	if got := cold.Trimmed(m, root, first); got != nil {
		t.Errorf("without floors: %+v", got)
	}
	root.Tables[0].Floor = 20
	got := cold.Trimmed(m, root, first)
	if got == nil {
		t.Fatal("nothing was trimmed")
	}
	cut := got.Tables[0]
	if len(cut.Buckets) != 2 || cut.Buckets[0].Start != 20 || cut.State.Floor != 20 || cut.State.Dropped != 1 ||
		len(cut.Generations) != 1 || cut.Generations[0].Number != 1 || got.Commit != 7 || got.Segment != 3 || len(got.Tables[1].Buckets) != 1 {
		t.Errorf("trimmed: %+v", got)
	}
	if before := m.Tables[0]; len(before.Buckets) != 3 || before.Buckets[0].Start != 0 || len(before.Generations) != 2 || before.State.Floor != 0 {
		t.Errorf("the manifest that was trimmed: %+v", before)
	}
	if again := cold.Trimmed(got, root, first); again != nil {
		t.Errorf("again: %+v", again)
	}
}
