package catalog_test

import (
	"math"
	"slices"
	"testing"

	"github.com/granarydb/granary/internal/catalog"
	"github.com/granarydb/granary/internal/querytest"
)

// unload takes the rows of a bucket out of memory.
func unload(table *querytest.Table, start int64, cold catalog.Cold) {
	key, _ := table.Env.Schema.BucketBounds(start)
	table.Edit(func(e *catalog.TableEdit) { e.Unload(key, &cold) })
}

// Rows that are in a file alone count in Rows and in no byte. Late rows come beside them, in granules that cover the bucket
// by themselves (K1), and the file that has both replaces the one before.
func TestUnload(t *testing.T) {
	table := querytest.Open(t, querytest.Options{GranuleRows: 2}, querytest.Samples(10))
	table.Insert(querytest.Pods("a", 1, 2, 3))
	table.Insert(querytest.Pods("b", 4, 5, 6))
	table.Insert(querytest.Pods("a", 15))
	table.Compact()
	if n := len(table.State().HotGranules(bucketAt(table, 0))); n < 2 {
		t.Fatalf("%d granules", n)
	}
	unload(table, 30, catalog.Cold{File: 9, Rows: 9}) // no such bucket
	unload(table, 0, catalog.Cold{File: 1, Rows: 6})
	checkTable(t, table)
	cold := bucketAt(table, 0)
	if granules := table.State().HotGranules(cold); len(granules) > 0 || cold.Gen != nil || !cold.HasRows() || table.State().Rows != 7 {
		t.Errorf("%d granules in memory, %d rows, the bucket %+v", len(granules), table.State().Rows, cold)
	}
	if units := table.State().Units(); len(units) != 2 || units[0].Rows != 6 {
		t.Errorf("units %+v", units)
	}
	if !cold.Columns["labels.pod"] || cold.Series.Len() != 2 {
		t.Errorf("the cold bucket has %d series and the columns %v", cold.Series.Len(), cold.Columns)
	}

	table.Insert(querytest.Pods("c", 7)) // late
	checkTable(t, table)
	if granules := table.State().HotGranules(bucketAt(table, 0)); len(granules) != 1 || table.State().Rows != 8 {
		t.Errorf("%d granules, %d rows", len(granules), table.State().Rows)
	}
	var files []uint64
	key, _ := table.Env.Schema.BucketBounds(0)
	table.Edit(func(e *catalog.TableEdit) {
		e.Unload(key, &catalog.Cold{File: 2, Rows: 7})
		files = slices.Clone(e.Files)
	})
	checkTable(t, table)
	if !slices.Equal(files, []uint64{1}) || table.State().Rows != 8 {
		t.Errorf("the files %v are not needed any more, want 1; %d rows", files, table.State().Rows)
	}
}

// Whatever drops a bucket with cold rows counts them, and names their file.
func TestUnload_Drops(t *testing.T) {
	for name, test := range map[string]struct {
		drop          func(e *catalog.TableEdit)
		dropped, lost int64
	}{
		"DropBefore": {func(e *catalog.TableEdit) { e.DropBefore(10) }, 4, 4},
		"eviction":   {func(e *catalog.TableEdit) { e.Evict(10) }, 0, 4},
		"a unit":     {func(e *catalog.TableEdit) { e.ChangeUnits(e.State.PlanDrop([]uint64{1})) }, 4, 0},
	} {
		t.Run(name, func(t *testing.T) {
			table := querytest.Open(t, querytest.Options{}, querytest.Samples(10))
			table.Insert(querytest.Pods("a", 1, 2, 3))
			unload(table, 0, catalog.Cold{File: 5, Rows: 3})
			table.Insert(querytest.Pods("a", 4))
			table.Insert(querytest.Pods("a", 25))
			table.Seal(10)
			var files []uint64
			table.Edit(func(e *catalog.TableEdit) {
				test.drop(e)
				files = slices.Clone(e.Files)
			})
			checkTable(t, table)
			if state := table.State(); state.Rows != 1 || state.Dropped != test.dropped || state.Dropped+state.Evicted != 4 || state.Lost != test.lost || !slices.Equal(files, []uint64{5}) {
				t.Errorf("%d rows, %d dropped, %d evicted, %d lost, files %v", state.Rows, state.Dropped, state.Evicted, state.Lost, files)
			}
		})
	}
}

// A bucket of an earlier run begins with its rows in a file, and its series and columns are known.
func TestLoadCold(t *testing.T) {
	table := querytest.Open(t, querytest.Options{}, querytest.Samples(10))
	table.Edit(func(e *catalog.TableEdit) {
		e.LoadCold(&catalog.BucketState{
			Start: 20, Latest: math.MaxInt64, Series: catalog.Bitset{0, 0b1010}, Columns: map[string]bool{"labels.old": true}, Cold: &catalog.Cold{File: 1, Rows: 30},
		})
	})
	checkTable(t, table)
	table.Insert(querytest.Pods("a", 21))
	checkTable(t, table)
	state := table.State()
	if got := state.Family("labels"); state.Rows != 31 || !slices.Equal(got, []string{"labels.old", "labels.pod"}) {
		t.Errorf("%d rows, labels %q", state.Rows, got)
	}
	if names := (*catalog.TableState)(nil).Family("labels"); names != nil {
		t.Errorf("labels before the table: %q", names)
	}
}

// BytesBetween sums the bytes of the parts of ranges, and the bytes that an older root holds too.
func TestBytesBetween(t *testing.T) {
	table := querytest.Open(t, querytest.Options{}, querytest.Samples(10))
	table.Insert(querytest.Pods("a", 1, 2))
	table.Insert(querytest.Pods("a", 11))
	old := table.Version()
	table.Insert(querytest.Pods("a", 12, 13))
	table.Insert(querytest.Pods("a", 21))
	state := table.State()
	for _, test := range []struct {
		first, last int64 // ranges
		bytes, kept []int64
	}{
		{0, 0, []int64{1, 2}, []int64{1, 2}},
		{0, 10, []int64{1, 2, 11, 12, 13}, []int64{1, 2, 11}},
		{10, 20, []int64{11, 12, 13, 21}, []int64{11}},
		{20, 20, []int64{21}, nil},
		{30, 30, nil, nil},
	} {
		size := func(times []int64) (bytes int64) {
			for _, g := range state.Granules.All() {
				for _, s := range g.Sections() {
					if lo, _ := s.Part.TimeRange(); slices.Contains(times, lo) {
						bytes += int64(s.Size())
					}
				}
			}
			return bytes
		}
		from, _ := state.RangeBounds(test.first)
		_, to := state.RangeBounds(test.last)
		bytes, kept := state.BytesBetween(from, to, old)
		if bytes != size(test.bytes) || kept != size(test.kept) {
			t.Errorf("ranges %d to %d: %d bytes, %d kept; want %d and %d", test.first, test.last, bytes, kept, size(test.bytes), size(test.kept))
		}
	}
}
