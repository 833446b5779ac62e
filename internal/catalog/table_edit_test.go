package catalog_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/granule"
	"github.com/granarydb/granary/internal/catalog"
	"github.com/granarydb/granary/internal/querytest"
	"github.com/granarydb/granary/schema"
	"github.com/granarydb/granary/txn"
)

// A root notes when parts and dictionaries came, lists the parts that leave as garbage, and tells whether the floor rose.
func TestDone(t *testing.T) {
	table := querytest.Open(t, querytest.Options{}, querytest.Samples(10))
	placed := append(table.Place(querytest.OneRow(5)), table.Place(querytest.OneRow(15))...)
	root := (&catalog.Database{Newest: math.MinInt64}).WithTable(catalog.NewTableState(table.Env.Schema))
	edit := func(version txn.Version, change func(e *catalog.TableEdit)) (next txn.Next[*catalog.Database], rose bool) {
		next.State = root
		e := root.Table(0).Edit(0)
		defer e.Release()
		change(e)
		rose = e.Done(version, &next)
		root = next.State
		return next, rose
	}
	next, rose := edit(5, func(e *catalog.TableEdit) {
		for i := range placed {
			placed[i].Part.Stamp(1, 2)
			e.Add(&placed[i])
		}
	})
	first := placed[0].Part
	if rose || len(next.Garbage) > 0 || first.Since() != 5 || first.Generation().Since() != 5 {
		t.Errorf("the floor rose: %t, garbage %v, a part is there since %d, its dictionaries since %d", rose, next.Garbage, first.Since(), first.Generation().Since())
	}
	next, rose = edit(7, func(e *catalog.TableEdit) { e.Evict(10) })
	if want := []txn.Garbage{{Since: 5, Bytes: int64(first.Size())}}; !rose || !slices.Equal(next.Garbage, want) {
		t.Errorf("the floor rose: %t, garbage %v, want %v", rose, next.Garbage, want)
	}
	if next, rose = edit(8, func(e *catalog.TableEdit) { e.Evict(10) }); rose || len(next.Garbage) > 0 {
		t.Errorf("the floor rose again: %t, garbage %v", rose, next.Garbage)
	}
}

// A table without time buckets has no newest range. Nor does a row in the newest range of another table make it the newest
// again.
func TestDone_Newest(t *testing.T) {
	plain := querytest.Open(t, querytest.Options{}, querytest.Samples(0))
	plain.Insert(querytest.OneRow(5))
	if got := plain.Database(); got.Newest != math.MinInt64 || got.Turned != [2]txn.Version{} {
		t.Errorf("the newest range is %d, since %v", got.Newest, got.Turned)
	}
	b, ok := plain.State().Oldest()
	if first, last := plain.State().TimesOf(b); !ok || first != math.MinInt64 || last != math.MaxInt64 {
		t.Errorf("times %d to %d", first, last)
	}
}

// Parts of one commit for one granule are added to the same new granule, which is due once.
func TestAdd_Twice(t *testing.T) {
	table := querytest.Open(t, querytest.Options{}, querytest.Samples(10))
	placed := append(table.Place(querytest.Pods("a", 1)), table.Place(querytest.Pods("b", 2))...)
	table.Edit(func(e *catalog.TableEdit) {
		for i := range placed {
			placed[i].Part.Stamp(1, 2)
			e.Add(&placed[i])
		}
		if len(e.Due) != 1 || e.Due[0].Parts() != 2 {
			t.Errorf("%d granules are due", len(e.Due))
		}
	})
	checkTable(t, table)
	if got := table.State().Granules.Len(); got != 1 {
		t.Errorf("%d granules", got)
	}
}

// Rows for a granule that became cold come to the granule that covers their key since.
func TestAdd_GranuleBecameCold(t *testing.T) {
	table := querytest.Open(t, querytest.Options{GranuleRows: 2}, querytest.Samples(100))
	table.Insert(querytest.Pods("a", 0, 3, 6, 9, 12, 15))
	table.Compact()
	late := table.Begin()
	if err := late.Insert(querytest.Pods("a", 12)); err != nil {
		t.Fatal(err)
	}
	unload(table, 0, catalog.Cold{File: 1, Rows: 6})
	table.Insert(querytest.Pods("a", 3))
	if err := late.Commit(); err != nil {
		t.Fatal(err)
	}
	checkTable(t, table)
	if state := table.State(); state.Granules.Len() != 1 || state.Rows != 8 {
		t.Errorf("%d granules, %d rows", state.Granules.Len(), state.Rows)
	}
}

// Successors are due for another rewrite. They are closed only if their range is.
func TestReplace_Due(t *testing.T) {
	table := querytest.Open(t, querytest.Options{}, querytest.Samples(10))
	for _, at := range []int64{5, 15, 25} { // the range from 10 on is the first that is open
		table.Insert(querytest.Pods("a", at))
	}
	table.Edit(func(e *catalog.TableEdit) {
		var all []*granule.Granule
		for _, g := range table.State().Granules.All() {
			e.Replace(g, []*granule.Granule{g})
			if all = append(all, g); !slices.Equal(e.Due, all) {
				t.Errorf("%d granules are due, want %d", len(e.Due), len(all))
			}
		}
	})
	if first, _ := table.Env.Schema.BucketBounds(0); !slices.Equal(table.Due, []string{first}) {
		t.Errorf("granules at %q are closed", table.Due)
	}
}

// All notes together have a bound that no option raises.
func TestNote_AllBytes(t *testing.T) {
	table := querytest.Open(t, querytest.Options{}, querytest.Samples(10))
	table.Edit(func(e *catalog.TableEdit) {
		for i := range 17 {
			err := e.Note(strings.Repeat(string(rune('a'+i)), schema.MaxString), 1<<40)
			if (err == nil) != (i < 16) || err != nil && (!errors.Is(err, schema.ErrLimit) || !strings.Contains(err.Error(), "note 17 has 65536 bytes")) {
				t.Fatalf("note %d: %v", i+1, err)
			}
		}
	})
}

// The bytes of a placement include its new series up to the last code, and its new columns.
func TestPlacement_SizeOfNew(t *testing.T) {
	table := querytest.Open(t, querytest.Options{}, querytest.Samples(10))
	p := table.Place(querytest.OneRow(1))[0]
	p.Series, p.Columns = []uint32{3, 128}, []string{"a", "b"}
	if got, want := p.Size()-int64(p.Part.Size()), int64(catalog.GranuleSize+catalog.BucketSize+2*48+3*8); got != want {
		t.Errorf("new series and columns take %d bytes, want %d", got, want)
	}
	row := querytest.OneRow(1)
	table.Insert(row)
	row.Columns["tags.t"] = encoding.Strings("x")
	if again := table.Place(row)[0]; again.Known || !slices.Equal(again.Columns, []string{"tags.t"}) {
		t.Errorf("a known series with a new column is known, its new columns are %q", again.Columns)
	}
}

// A table works the same if the time is its first column.
func TestTimeIsFirst(t *testing.T) {
	def := schema.Definition{
		Columns: []schema.Column{
			{Name: "time", Type: encoding.Int64, Encoding: encoding.Delta},
			{Name: "value", Type: encoding.Int64, Encoding: encoding.Plain},
		},
		SortingKey: []string{"time"}, Bucket: schema.Bucket{Column: "time", Width: 10},
	}
	table := querytest.Open(t, querytest.Options{BucketRows: 3, Retention: 20}, def)
	insert := func(times ...int64) {
		table.Insert(schema.Batch{Rows: len(times), Columns: map[string]encoding.Vector{"time": encoding.Int64s(times...), "value": encoding.Int64s(1)}})
		checkTable(t, table)
	}
	insert(1, 2, 3)
	insert(5)
	wantBuckets(t, table, "a cut", map[int64][]int64{0: {1, 2, 3}, 4: {5}})
	cut := bucketAt(table, 4)
	if commit := bucketAt(table, 0).Born; cut.Born != commit || commit == 0 {
		t.Errorf("the cut began in commit %d, the rows before it came in %d", cut.Born, commit)
	}
	insert(15)
	if first, last := table.State().TimesOf(cut); first != 4 || last != 9 {
		t.Errorf("times %d to %d", first, last)
	}
	var starts []int64
	for b := range table.State().BucketsOf(4, 10) {
		starts = append(starts, b.Start)
	}
	if !slices.Equal(starts, []int64{4}) {
		t.Errorf("the buckets of times from 4 to 10 begin at %v", starts)
	}
	if newest := table.Database().Newest; newest != 10 {
		t.Errorf("the newest range is %d", newest)
	}
	insert(30)
	wantBuckets(t, table, "retention", map[int64][]int64{10: {15}, 30: {30}})
	table.Edit(func(e *catalog.TableEdit) {
		cold := &catalog.Cold{File: 1, Rows: 1}
		key, _ := table.Env.Schema.BucketBounds(10)
		e.Unload(key, cold)
		if _, ok := e.DeleteRows(catalog.Deletion{Start: 10, Cold: &catalog.Cold{}}, 9); ok {
			t.Error("rows of another file are deleted")
		}
	})
	checkTable(t, table)
}

// A bucket that begins with the cut of a cold bucket takes the dictionaries of its first rows.
func TestCut_ColdBucket(t *testing.T) {
	table := querytest.Open(t, querytest.Options{BucketRows: 4}, querytest.Samples(100))
	table.Insert(querytest.Pods("a", 1))
	unload(table, 0, catalog.Cold{File: 1, Rows: 1})
	table.Insert(querytest.Pods("a", 2, 3, 4))
	if b := bucketAt(table, 5); b == nil || b.HasRows() {
		t.Fatalf("the cut bucket is %+v", b)
	}
	if b := bucketAt(table, 0); b.Gen != nil || b.Cold == nil {
		t.Errorf("the cold bucket is %+v", b)
	}
	table.Insert(querytest.Pods("a", 6))
	if b := bucketAt(table, 5); b.Gen != table.Generation(0) {
		t.Errorf("the bucket with a row is %+v", b)
	}
	checkTable(t, table)
}

// Rows near the first time drop and close no range, and rows at the last time are not dropped with the ranges before it.
func TestEndsOfTime(t *testing.T) {
	first := querytest.Open(t, querytest.Options{Retention: 100}, querytest.Samples(10))
	first.Insert(querytest.OneRow(math.MinInt64 + 5))
	first.Insert(querytest.OneRow(math.MinInt64 + 9))
	if state := first.State(); state.Rows != 2 || state.Floor != math.MinInt64 || state.Open != math.MinInt64 {
		t.Errorf("%d rows, from %d on, open from %d on", state.Rows, state.Floor, state.Open)
	}
	checkTable(t, first)
	last := querytest.Open(t, querytest.Options{}, querytest.Samples(10))
	last.Insert(querytest.OneRow(5))
	last.Insert(querytest.OneRow(math.MaxInt64))
	last.Edit(func(e *catalog.TableEdit) { e.DropBefore(math.MaxInt64) })
	if state := last.State(); state.Rows != 1 || state.Floor != math.MaxInt64-math.MaxInt64%10 {
		t.Errorf("%d rows, from %d on", state.Rows, state.Floor)
	}
	checkTable(t, last)
}
