package catalog_test

import (
	"math"
	"slices"
	"testing"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/granule"
	"github.com/granarydb/granary/internal/catalog"
	"github.com/granarydb/granary/internal/querytest"
)

// without returns granules of the same bounds without the rows of some times.
func without(table *querytest.Table, g *granule.Granule, times ...int64) []*granule.Granule {
	column, _ := table.Env.Schema.Resolve("time")
	kept := granule.New(g.Bounds())
	for _, s := range g.Sections() {
		words := s.Part.Find(column, "time").Words()
		for row := s.Lo; row < s.Hi; row++ {
			if !slices.Contains(times, encoding.ToInt64(words.At(row))) {
				kept.Add(granule.Section{Part: s.Part, Lo: row, Hi: row + 1})
			}
		}
	}
	return granule.Rewrite(table.Env.Schema, kept, granule.Limit{Rows: table.GranuleRows})
}

// deletionOf prepares to delete rows in memory of some times.
func deletionOf(table *querytest.Table, start int64, times ...int64) catalog.Deletion {
	d := catalog.Deletion{Start: start}
	for _, g := range table.State().HotGranules(bucketAt(table, start)) {
		d.Granules = append(d.Granules, catalog.Rewritten{Old: g, Children: without(table, g, times...)})
	}
	return d
}

// deleteRows deletes rows in the commit 99, and returns their number and the files that are not needed any more.
func deleteRows(t *testing.T, table *querytest.Table, d catalog.Deletion) (rows int64, ok bool, files []uint64) {
	t.Helper()
	table.Edit(func(e *catalog.TableEdit) {
		rows, ok = e.DeleteRows(d, 99)
		files = slices.Clone(e.Files)
		if ok && d.Cold != nil && len(e.Due) == 0 {
			t.Error("the granules that come back to memory are not due")
		}
	})
	checkTable(t, table)
	return rows, ok, files
}

// Deleted rows leave memory, with the series and columns that no other row has, and are counted. The bucket is as new.
func TestDeleteRows(t *testing.T) {
	table := querytest.Open(t, querytest.Options{GranuleRows: 2}, querytest.Samples(10))
	table.Insert(querytest.Pods("a", 1, 2, 3))
	gone := querytest.Pods("b", 4, 5)
	gone.Columns["labels.zone"], gone.Columns["tags.t"] = encoding.Strings("z"), encoding.Strings("x")
	table.Insert(gone)
	table.Compact()
	table.Insert(querytest.Pods("c", 6))
	table.Insert(querytest.Pods("b", 15))
	rows, ok, _ := deleteRows(t, table, deletionOf(table, 0, 2, 4, 5))
	state, b := table.State(), bucketAt(table, 0)
	if !ok || rows != 3 || state.Rows != 4 || state.Dropped != 3 || b.Born != 99 || b.Series.Len() != 2 {
		t.Errorf("%t, %d rows deleted of %d, the bucket is of commit %d and has %d series", ok, rows, state.Rows, b.Born, b.Series.Len())
	}
	if got := slices.Collect(keysOf(b.Columns)); !slices.Equal(got, []string{"labels.pod"}) {
		t.Errorf("columns %q", got)
	}
	wantBuckets(t, table, "some are deleted", map[int64][]int64{0: {1, 3, 6}, 10: {15}})
	rows, ok, _ = deleteRows(t, table, deletionOf(table, 10, 15))
	if b := bucketAt(table, 10); !ok || rows != 1 || b != nil || table.State().Granules.Len() == 0 {
		t.Errorf("%t, %d rows deleted, the bucket without rows is %+v", ok, rows, b)
	}
	if _, ok, _ = deleteRows(t, table, catalog.Deletion{Start: 10}); ok {
		t.Error("rows of no bucket are deleted")
	}
	table.Seal(10)
	rows, ok, _ = deleteRows(t, table, deletionOf(table, 0, 1, 3, 6))
	if b := bucketAt(table, 0); !ok || rows != 3 || b == nil || b.Unit != 1 || b.Series.Len() != 0 || b.Columns != nil {
		t.Errorf("%t, %d rows deleted, the unit without rows is %+v", ok, rows, b)
	}
	if state := table.State(); state.Rows != 0 || state.Dropped != 7 {
		t.Errorf("%d rows, %d dropped", state.Rows, state.Dropped)
	}
}

func keysOf(columns map[string]bool) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for name := range columns {
			if !yield(name) {
				return
			}
		}
	}
}

// The number of series of the newest bucket follows a deletion, and that of another bucket does not count.
func TestDeleteRows_Series(t *testing.T) {
	table := querytest.Open(t, querytest.Options{}, querytest.Samples(10))
	table.Insert(querytest.Pods("a", 1))
	table.Insert(querytest.Pods("b", 2))
	for i, pod := range []string{"a", "b", "c"} {
		table.Insert(querytest.Pods(pod, 11+int64(i)))
	}
	for _, test := range []struct {
		start, at int64
		want      int
	}{{0, 1, 3}, {10, 12, 2}} {
		deleteRows(t, table, deletionOf(table, test.start, test.at))
		if got := table.State().Series; got != test.want {
			t.Errorf("a row at %d is deleted: %d series, want %d", test.at, got, test.want)
		}
	}
	plain := querytest.Open(t, querytest.Options{}, querytest.Samples(0))
	plain.Insert(querytest.Pods("a", 1, 2))
	if rows, ok, _ := deleteRows(t, plain, deletionOf(plain, 0, 1)); !ok || rows != 1 || plain.State().Series != 0 {
		t.Errorf("without buckets: %t, %d rows, %d series", ok, rows, plain.State().Series)
	}
}

// Rows that came since a deletion was prepared stay. It fails, and changes nothing, if a granule was rewritten or is gone.
func TestDeleteRows_Meanwhile(t *testing.T) {
	for name, test := range map[string]struct {
		change func(table *querytest.Table)
		ok     bool
		want   []int64
	}{
		"nothing":       {func(*querytest.Table) {}, true, []int64{1, 3}},
		"rows":          {func(table *querytest.Table) { table.Insert(querytest.Pods("b", 2, 4)) }, true, []int64{1, 2, 3, 4}},
		"a rewrite":     {func(table *querytest.Table) { table.Compact() }, false, []int64{1, 2, 3}},
		"an unload":     {func(table *querytest.Table) { unload(table, 0, catalog.Cold{File: 1, Rows: 3}) }, false, nil},
		"another range": {func(table *querytest.Table) { table.Insert(querytest.Pods("c", 25)) }, true, []int64{1, 3}},
	} {
		t.Run(name, func(t *testing.T) {
			table := querytest.Open(t, querytest.Options{}, querytest.Samples(10))
			table.Insert(querytest.Pods("a", 1, 2, 3))
			d := deletionOf(table, 0, 2)
			test.change(table)
			before := *table.State()
			rows, ok, _ := deleteRows(t, table, d)
			if got := querytest.TimesByBucket(table.State())[0]; ok != test.ok || !slices.Equal(got, test.want) || ok && rows != 1 {
				t.Errorf("%t, %d rows deleted, rows of %v are left, want %v", ok, rows, got, test.want)
			}
			if now := table.State(); !ok && (now.Dropped != before.Dropped || now.Rows != before.Rows || now.Bytes != before.Bytes) {
				t.Errorf("a deletion that failed leaves %d rows of %d", now.Rows, before.Rows)
			}
		})
	}
}

// Cold rows that stay come back to memory, beside late rows, and their file is not needed any more.
func TestDeleteRows_Cold(t *testing.T) {
	for name, late := range map[string][]int64{"no late rows": nil, "late rows": {7, 8}} {
		t.Run(name, func(t *testing.T) {
			table := querytest.Open(t, querytest.Options{GranuleRows: 2, BucketRows: 1000}, querytest.Samples(10))
			table.Insert(querytest.Pods("a", 1, 2, 3, 4, 5))
			table.Insert(querytest.Pods("b", 6))
			table.Compact()
			var kept []*granule.Granule
			for _, g := range table.State().HotGranules(bucketAt(table, 0)) {
				kept = append(kept, without(table, g, 2, 6)...)
			}
			unload(table, 0, catalog.Cold{File: 3, Rows: 6})
			if late != nil {
				table.Insert(querytest.Pods("c", late...))
			}
			filled := table.State().Filled
			d := deletionOf(table, 0, 8)
			d.Cold, d.Kept, d.Gen = bucketAt(table, 0).Cold, kept, table.Generation(0)
			rows, ok, files := deleteRows(t, table, d)
			want := []int64{1, 3, 4, 5}
			if late != nil {
				want = append(want, 7)
			}
			state, b := table.State(), bucketAt(table, 0)
			if deleted := int64(6 + len(late) - len(want)); !ok || rows != deleted || state.Dropped != deleted || state.Rows != int64(len(want)) || state.Filled != filled {
				t.Errorf("%t, %d rows deleted, %d dropped, %d left, %d since the last cut", ok, rows, state.Dropped, state.Rows, state.Filled)
			}
			wantBuckets(t, table, "deleted", map[int64][]int64{0: want})
			if b.Cold != nil || b.Gen != table.Generation(0) || !slices.Equal(files, []uint64{3}) || b.Series.Len() != 1+len(late)/2 {
				t.Errorf("files %v are not needed any more, the bucket is %+v", files, b)
			}
		})
	}
}

// A deletion of late rows leaves the cold rows beside them, with their series.
func TestDeleteRows_BesideCold(t *testing.T) {
	table := querytest.Open(t, querytest.Options{}, querytest.Samples(10))
	table.Insert(querytest.Pods("a", 1, 2))
	unload(table, 0, catalog.Cold{File: 3, Rows: 2})
	table.Insert(querytest.Pods("b", 3))
	rows, ok, files := deleteRows(t, table, deletionOf(table, 0, 3))
	b := bucketAt(table, 0)
	if !ok || rows != 1 || len(files) > 0 || b == nil || b.Cold == nil || b.Series.Len() != 2 || table.State().Rows != 2 {
		t.Errorf("%t, %d rows deleted, files %v are not needed any more, the bucket is %+v", ok, rows, files, b)
	}
}

// Rows that were prepared before a deletion bring the series and columns that it took from the bucket.
func TestDeleteRows_Prepared(t *testing.T) {
	table := querytest.Open(t, querytest.Options{}, querytest.Samples(10))
	table.Insert(querytest.Pods("a", 1))
	table.Insert(querytest.Pods("b", 2))
	tx := table.Begin()
	if err := tx.Insert(querytest.Pods("a", 3)); err != nil {
		t.Fatal(err)
	}
	deleteRows(t, table, deletionOf(table, 0, 1))
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	checkTable(t, table)
	if got := timesBetween(t, table.Read(), math.MinInt64, math.MaxInt64); !slices.Equal(got, []int64{2, 3}) {
		t.Errorf("rows of %v", got)
	}
}
