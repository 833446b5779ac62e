package catalog_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/internal/catalog"
	"github.com/granarydb/granary/internal/query/filter"
	"github.com/granarydb/granary/internal/query/order"
	"github.com/granarydb/granary/internal/querytest"
)

// insertAt inserts a row of each time in a transaction of its own.
func insertAt(table *querytest.Table, times ...int64) {
	for _, at := range times {
		table.Insert(querytest.Heavy(at, 1))
	}
}

// timesOfUnit returns the sorted times of the rows of a unit.
func timesOfUnit(t *testing.T, table *querytest.Table, id uint64) []int64 {
	t.Helper()
	r := *table.Read()
	only, err := r.State.OnlyUnits([]uint64{id})
	if err != nil {
		t.Fatal(err)
	}
	r.State = only
	return timesBetween(t, &r, math.MinInt64, math.MaxInt64)
}

// Seal takes the ranges that end at a time, and no others, and each row that comes later is in the next unit of its
// range.
func TestSeal(t *testing.T) {
	table := querytest.Open(t, querytest.Options{}, querytest.Samples(10))
	insertAt(table, 1, 2, 9, 11, 25)
	if got := table.Seal(19); !cmp.Equal(got, []catalog.Unit{{ID: 1, First: 0, Last: 9, Rows: 3}}) {
		t.Errorf("sealed %v", got)
	}
	if got := table.Seal(20); !cmp.Equal(got, []catalog.Unit{{ID: 2, First: 10, Last: 19, Rows: 1}}) {
		t.Errorf("sealed %v", got)
	}
	if got := table.Seal(20); got != nil {
		t.Errorf("sealed %v again", got)
	}
	insertAt(table, 0, 9, 9, 12, 26)
	if got := table.Seal(10); !cmp.Equal(got, []catalog.Unit{{ID: 3, First: 0, Last: 9, Rows: 3}}) {
		t.Errorf("sealed %v", got)
	}
	insertAt(table, 5)
	for id, want := range map[uint64][]int64{1: {1, 2, 9}, 2: {11}, 3: {0, 9, 9}, 0: {5, 12, 25, 26}} {
		if got := timesOfUnit(t, table, id); !slices.Equal(got, want) {
			t.Errorf("unit %d has rows of %v, want %v", id, got, want)
		}
	}
	checkRowsByTime(t, table, []int64{0, 1, 2, 5, 9, 9, 9, 11, 12, 25, 26})
	table.Drop(1, 3, 9)
	table.Drop(1) // it is not there
	state := table.State()
	if state.Rows != 5 || state.Dropped != 6 || state.Lost != 0 || state.LastUnit != 3 { // which was dropped
		t.Errorf("%d rows, %d dropped, %d lost, the last unit is %d", state.Rows, state.Dropped, state.Lost, state.LastUnit)
	}
	want := []catalog.Unit{{First: 0, Last: 9, Rows: 1}, {ID: 2, First: 10, Last: 19, Rows: 1}, {First: 10, Last: 19, Rows: 1}, {First: 20, Last: 26, Rows: 2}}
	if got := state.Units(); !cmp.Equal(got, want) {
		t.Errorf("units %v, want %v", got, want)
	}
	insertAt(table, 3) // the range goes on, with the late bucket
	if got := table.Seal(10); !cmp.Equal(got, []catalog.Unit{{ID: 4, First: 0, Last: 9, Rows: 1}, {ID: 5, First: 0, Last: 9, Rows: 1}}) {
		t.Errorf("sealed %v", got)
	}
}

// checkRowsByTime asks for the rows of all ranges of time, and for the first ones, of a table with rows of some times, which
// are sorted.
func checkRowsByTime(t *testing.T, table *querytest.Table, times []int64) {
	t.Helper()
	r := table.Read()
	first := func(descending bool, limit int) (got []int64) {
		column, _ := r.Schema.Resolve("time")
		by := []order.By{{Column: "time", Descending: descending}}
		selections, err := order.FirstRows(t.Context(), r, filter.Expr{}, false, by, limit, func(int64) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		for s := range selections {
			for _, word := range s.Words(nil, s.Part.Find(column, "time").Words()) {
				got = append(got, encoding.ToInt64(word))
			}
		}
		return got
	}
	for lo := int64(-1); lo < 31; lo++ {
		for hi := lo; hi < 31; hi++ {
			want := []int64{}
			for _, at := range times {
				if lo <= at && at < hi {
					want = append(want, at)
				}
			}
			if got := timesBetween(t, r, lo, hi); !slices.Equal(got, want) {
				t.Errorf("rows from %d to %d are of %v, want %v", lo, hi, got, want)
			}
		}
	}
	for n := 1; n <= len(times); n++ {
		early, last := first(false, n), first(true, n)
		if slices.Reverse(last); !slices.Equal(early, times[:n]) || !slices.Equal(last, times[len(times)-n:]) {
			t.Errorf("the first %d rows are of %v, the last of %v", n, early, last)
		}
	}
}

// A cut can begin a bucket where late rows were to begin theirs: then these go to another one.
func TestSeal_CutMeanwhile(t *testing.T) {
	table := querytest.Open(t, querytest.Options{BucketRows: 3}, querytest.Samples(10))
	insertAt(table, 1, 2, 4) // and a cut at 5
	if got := table.Seal(4); got != nil {
		t.Fatalf("sealed %v, which gets rows up to 4", got)
	}
	if got := table.Seal(5); !cmp.Equal(got, []catalog.Unit{{ID: 1, First: 0, Last: 4, Rows: 3}}) {
		t.Fatalf("sealed %v", got)
	}
	tx := table.Begin()
	if err := tx.Insert(querytest.Heavy(3, 1)); err != nil { // for a bucket that begins at 9
		t.Fatal(err)
	}
	insertAt(table, 5, 6, 8) // and a cut at 9
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	insertAt(table, 9)
	checkRowsByTime(t, table, []int64{1, 2, 3, 4, 5, 6, 8, 9})
	if got := table.Seal(10); !cmp.Equal(got, []catalog.Unit{{ID: 2, First: 5, Last: 8, Rows: 3}, {ID: 3, First: 0, Last: 9, Rows: 1}, {ID: 4, First: 9, Last: 9, Rows: 1}}) {
		t.Errorf("sealed %v", got)
	}
}

// A range of few nanoseconds is sealed only while it has room for a late bucket.
func TestSeal_NarrowRange(t *testing.T) {
	table := querytest.Open(t, querytest.Options{}, querytest.Samples(3))
	for i := range 5 {
		insertAt(table, 0, 1, 2)
		if got, want := len(table.Seal(3)), 1; i < 2 && got != want || i >= 2 && got != 0 {
			t.Fatalf("seal %d takes %d units", i, got) // late rows would have no place
		}
	}
	if got := timesOfUnit(t, table, 0); len(got) != 9 {
		t.Errorf("%d rows are in no unit, want 9", len(got))
	}
}

// Rows of units that nobody dropped as such are counted when retention, DropBefore or an eviction drops them.
func TestSeal_Lost(t *testing.T) {
	for name, test := range map[string]struct {
		opts querytest.Options
		drop func(table *querytest.Table)
		rows int64 // that are left
	}{
		"DropBefore": {drop: func(table *querytest.Table) { table.Edit(func(e *catalog.TableEdit) { e.DropBefore(20) }) }, rows: 1},
		"eviction":   {drop: func(table *querytest.Table) { table.Edit(func(e *catalog.TableEdit) { e.Evict(20) }) }, rows: 1},
		"retention":  {opts: querytest.Options{Retention: 20}, drop: func(table *querytest.Table) { insertAt(table, 100) }, rows: 1},
	} {
		t.Run(name, func(t *testing.T) {
			table := querytest.Open(t, test.opts, querytest.Samples(10))
			insertAt(table, 1, 2, 11, 12, 13, 21)
			table.Seal(20)
			insertAt(table, 3)
			table.Drop(2)
			test.drop(table)
			if state := table.State(); state.Lost != 2 || state.Rows != test.rows {
				t.Errorf("%d rows lost, %d left, want 2 and %d", state.Lost, state.Rows, test.rows)
			}
			checkTable(t, table)
		})
	}
}

// A question of units that are not there is an error.
func TestOnlyUnits(t *testing.T) {
	table := querytest.Open(t, querytest.Options{}, querytest.Samples(10))
	insertAt(table, 1, 25)
	before := table.State()
	table.Seal(20)
	for _, test := range []struct {
		name  string
		state *catalog.TableState
		ids   []uint64
		want  error
	}{
		{"before the seal", before, []uint64{0, 1}, catalog.ErrUnit},
		{"another", table.State(), []uint64{0, 2}, catalog.ErrUnit},
		{"the unit", table.State(), []uint64{1}, nil},
		{"what is not sealed", before, []uint64{0}, nil},
		{"none", before, nil, nil},
	} {
		if _, err := test.state.OnlyUnits(test.ids); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", test.name, err, test.want)
		}
	}
	if units := (*catalog.TableState)(nil).Units(); units != nil {
		t.Errorf("units before the table: %v", units)
	}
}

// A change seals and drops what is there, and passes over the rest: a restart can know a later floor.
func TestChangeUnits_OfNothing(t *testing.T) {
	table := querytest.Open(t, querytest.Options{}, querytest.Samples(10))
	insertAt(table, 1)
	change := catalog.UnitsChange{Seal: []catalog.UnitPlace{{Start: 20, ID: 4}}, Drop: []catalog.UnitPlace{{Start: 30, ID: 2}, {Start: 0, ID: 7}}}
	if (catalog.UnitsChange{}).Equal(change) || change.Equal(catalog.UnitsChange{Seal: change.Seal}) || change.Equal(catalog.UnitsChange{Drop: change.Drop}) || !change.Equal(change) || change.IsEmpty() || !(catalog.UnitsChange{}).IsEmpty() {
		t.Error("changes are equal, or empty, that are not")
	}
	table.Edit(func(e *catalog.TableEdit) { e.ChangeUnits(change) })
	if state := table.State(); state.LastUnit != 4 || state.Rows != 1 { // ids are never used again
		t.Errorf("the last unit is %d, with %d rows", state.LastUnit, state.Rows)
	}
	if got := table.Seal(10); !cmp.Equal(got, []catalog.Unit{{ID: 5, First: 0, Last: 1, Rows: 1}}) {
		t.Errorf("sealed %v", got)
	}
}

// A row that was prepared for a bucket of a unit that was dropped since, or sealed, comes into one that takes it, with its
// series and columns.
func TestReroute(t *testing.T) {
	for name, change := range map[string]func(table *querytest.Table){
		"sealed":             func(table *querytest.Table) { table.Seal(10) },
		"sealed and dropped": func(table *querytest.Table) { table.Seal(10); table.Drop(1) },
		"sealed, dropped and begun again": func(table *querytest.Table) {
			table.Seal(10)
			table.Drop(1)
			table.Insert(querytest.OneRow(1))
		},
	} {
		t.Run(name, func(t *testing.T) {
			table := querytest.Open(t, querytest.Options{GranuleRows: 2}, querytest.Samples(10))
			row := querytest.At(5)
			table.Insert(row) // the series is known
			table.Insert(querytest.Pods("a", 1, 2, 3, 4))
			table.Compact()
			tx := table.Begin()
			if err := tx.Insert(row); err != nil {
				t.Fatal(err)
			}
			change(table)
			if err := tx.Commit(); err != nil {
				t.Fatal(err)
			}
			checkTable(t, table)
			if got := timesOfUnit(t, table, 0); !slices.Contains(got, 5) {
				t.Errorf("rows of %v are in no unit", got)
			}
			if got := table.State().Family("labels"); !slices.Equal(got, []string{"labels.only0", "labels.pod"}) {
				t.Errorf("labels %q", got)
			}
		})
	}
}
