package catalog_test

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/granule"
	"github.com/granarydb/granary/internal/catalog"
	"github.com/granarydb/granary/internal/querytest"
	"github.com/granarydb/granary/schema"
)

// A bucket takes memory for itself, its series, its columns and a file, and has rows in memory or in a file.
func TestBucketState(t *testing.T) {
	empty := &catalog.BucketState{}
	base := empty.Size()
	if base != catalog.BucketSize || empty.HasRows() {
		t.Errorf("a new bucket takes %d bytes, has rows: %t", base, empty.HasRows())
	}
	series := &catalog.BucketState{Series: make(catalog.Bitset, 3)}
	columns := &catalog.BucketState{Columns: map[string]bool{"a": true, "b": true}}
	cold := &catalog.BucketState{Cold: &catalog.Cold{}}
	hot := &catalog.BucketState{Gen: granule.NewGeneration(1)}
	for name, got := range map[string]int64{
		"3 words of series": series.Size() - base - 3*8, "2 columns": columns.Size() - base - 2*48, "a file": cold.Size() - base - 96,
	} {
		if got != 0 {
			t.Errorf("%s take %d bytes more", name, got)
		}
	}
	if !cold.HasRows() || !hot.HasRows() {
		t.Error("a bucket with rows has none")
	}
}

// A bucket lacks the columns in which a row has a value, among all rows or among some. Columns of the series come with
// them, as labels or as a code.
func TestBucketState_Columns(t *testing.T) {
	s, err := schema.New(querytest.Samples(10))
	if err != nil {
		t.Fatal(err)
	}
	gen := granule.NewGeneration(1)
	tuple := s.AppendTuple(nil, []schema.SeriesValue{{Column: 0, Name: "kind", Value: "k"}, {Column: 1, Name: "labels.pod", Value: "p"}, {Column: 1, Name: "labels.zone", Value: "z"}})
	code, err := gen.Series.Intern(tuple)
	if err != nil {
		t.Fatal(err)
	}
	nulls := encoding.Vector{Type: encoding.String, Strings: []string{"", "", "x"}, Valid: []bool{false, true, true}}
	tests := []struct {
		name    string
		columns map[string]encoding.Vector
		series  uint32
		rows    []int32
		known   []string
		has     bool
		lacks   []string
	}{
		{"no dynamic column", nil, 0, nil, nil, true, nil},
		{"a value for all", map[string]encoding.Vector{"tags.t": encoding.Strings("x")}, 0, nil, nil, false, []string{"tags.t"}},
		{"a value for all, of some", map[string]encoding.Vector{"tags.t": encoding.Strings("x")}, 0, []int32{2}, nil, false, []string{"tags.t"}},
		{"no value for all", map[string]encoding.Vector{"tags.t": encoding.Strings("")}, 0, nil, nil, true, nil},
		{"a known column", map[string]encoding.Vector{"tags.t": encoding.Strings("x")}, 0, nil, []string{"tags.t"}, true, nil},
		{"one known, one new", map[string]encoding.Vector{"tags.t": encoding.Strings("x"), "tags.u": encoding.Strings("x")}, 0, nil, []string{"tags.t"}, false, []string{"tags.u"}},
		{"a value in the last row", map[string]encoding.Vector{"tags.t": nulls}, 0, nil, nil, false, []string{"tags.t"}},
		{"a value in one of the rows", map[string]encoding.Vector{"tags.t": nulls}, 0, []int32{0, 2}, nil, false, []string{"tags.t"}},
		{"a value in another row", map[string]encoding.Vector{"tags.t": nulls}, 0, []int32{0, 1}, nil, true, nil},
		{"nulls", map[string]encoding.Vector{"tags.t": {Type: encoding.String, Strings: []string{"", "", ""}, Valid: []bool{true, false, false}}}, 0, nil, nil, true, nil},
		{"a label", map[string]encoding.Vector{"labels.pod": encoding.Strings("p")}, 0, nil, nil, true, []string{"labels.pod"}},
		{"a code of a series", nil, code, nil, []string{"labels.zone"}, true, []string{"labels.pod"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := &schema.Batch{Rows: 3, Series: tt.series, Columns: map[string]encoding.Vector{
				"stack": encoding.UUIDLists(nil), "time": encoding.Int64s(1), "value": encoding.Int64s(1),
			}}
			if tt.series == 0 {
				b.Columns["kind"] = encoding.Strings("k")
			}
			maps.Copy(b.Columns, tt.columns)
			columns, err := s.Check(b)
			if err != nil {
				t.Fatal(err)
			}
			bucket := &catalog.BucketState{Columns: map[string]bool{}}
			for _, name := range tt.known {
				bucket.Columns[name] = true
			}
			if got := bucket.HasColumns(s, columns, tt.rows); got != tt.has {
				t.Errorf("HasColumns = %t", got)
			}
			if got := bucket.NewColumns(s, gen, b, columns, tt.rows); !slices.Equal(got, tt.lacks) {
				t.Errorf("NewColumns = %q, want %q", got, tt.lacks)
			}
		})
	}
}

// A question looks at the buckets that can have rows of its times, and at no others.
func TestBucketsOf(t *testing.T) {
	table := querytest.Open(t, querytest.Options{}, querytest.Samples(10))
	for _, at := range []int64{-5, 5, 15, 25, 45} {
		table.Insert(querytest.OneRow(at))
	}
	check := func(lo, hi int64, want ...int64) {
		t.Helper()
		var got []int64
		for b := range table.State().BucketsOf(lo, hi) {
			got = append(got, b.Start)
		}
		if !slices.Equal(got, want) {
			t.Errorf("from %d to %d: buckets %v, want %v", lo, hi, got, want)
		}
	}
	check(math.MinInt64, math.MaxInt64, -10, 0, 10, 20, 40)
	check(math.MinInt64, -10)
	check(math.MinInt64, -9, -10)
	check(9, 10, 0)
	check(9, 11, 0, 10)
	check(10, 20, 10)
	check(29, 40, 20)
	check(30, 40)
	check(30, 41, 40)
	check(50, math.MaxInt64)
	if got := table.State().FamilyOf("labels", 0, 10); len(got) > 0 {
		t.Errorf("labels %q", got)
	}
	if got := (*catalog.TableState)(nil).FamilyOf("labels", 0, 10); got != nil {
		t.Errorf("labels before the table: %q", got)
	}
	for b := range table.State().BucketsOf(0, 50) { // one that goes on after a break panics
		if b.Start != 0 {
			t.Errorf("the first bucket from 0 on begins at %d", b.Start)
		}
		break
	}
	table.Seal(20) // late buckets begin anywhere
	table.Insert(querytest.OneRow(3))
	check(0, 1, 0, 9)
	check(9, 10, 0, 9)
	check(10, 11, 10)
	check(10, math.MaxInt64, 10, 20, 40)
}

// The times of a bucket end where a cut begins, with its range, or with the newest row. Without time buckets they are all.
func TestTimesOf(t *testing.T) {
	for _, test := range []struct {
		width, at   int64
		first, last int64
	}{
		{10, 5, 0, 5},
		{10, -5, -10, -5},
		{10, math.MaxInt64, math.MaxInt64 - math.MaxInt64%10, math.MaxInt64},
		{0, 5, math.MinInt64, math.MaxInt64},
	} {
		table := querytest.Open(t, querytest.Options{}, querytest.Samples(test.width))
		table.Insert(querytest.OneRow(test.at))
		state := table.State()
		b, ok := state.Oldest()
		if !ok {
			t.Fatal("there is no bucket")
		}
		if first, last := state.TimesOf(b); first != test.first || last != test.last {
			t.Errorf("a row at %d in ranges of %d: times %d to %d, want %d to %d", test.at, test.width, first, last, test.first, test.last)
		}
	}
}

// A sealed bucket takes no time, although it is the newest.
func TestFindBuckets_Sealed(t *testing.T) {
	table := querytest.Open(t, querytest.Options{}, querytest.Samples(10))
	table.Insert(querytest.OneRow(5))
	find := table.State().FindBuckets()
	if got := find.At(5); got != 0 {
		t.Errorf("the bucket of 5 begins at %d", got)
	}
	table.Seal(10)
	find = table.State().FindBuckets()
	for range 2 {
		for _, at := range []int64{0, 5, 9} {
			if got := find.At(at); got != 9 {
				t.Errorf("the bucket of %d begins at %d, want that for late rows at 9", at, got)
			}
		}
	}
}

// Among units, a bucket takes the times up to the next one, whatever was asked before.
func TestFindBuckets_AmongUnits(t *testing.T) {
	table := querytest.Open(t, querytest.Options{BucketRows: 3}, querytest.Samples(10))
	insertAt(table, 1)
	table.Seal(10) // any unit
	insertAt(table, 11, 12, 13)
	for _, order := range [][]int64{{11, 14, 19, 10}, {19, 10, 14}, {14, 13, 19}} {
		find := table.State().FindBuckets()
		for _, at := range order {
			want := int64(10)
			if at >= 14 {
				want = 14 // a cut
			}
			if got := find.At(at); got != want {
				t.Errorf("%v: the bucket of %d begins at %d, want %d", order, at, got, want)
			}
		}
	}
}

// Only units have late buckets: the one that exists, or one that begins amid a range.
func TestIsLate(t *testing.T) {
	table := querytest.Open(t, querytest.Options{BucketRows: 3}, querytest.Samples(10))
	check := func(when string, late map[int64]bool) {
		t.Helper()
		table.Edit(func(e *catalog.TableEdit) {
			for start, want := range late {
				if got := e.IsLate(start); got != want {
					t.Errorf("%s: the bucket of %d is late: %t", when, start, got)
				}
			}
		})
	}
	insertAt(table, 1, 2, 3)
	check("no units", map[int64]bool{0: false, 4: false, 8: false, 9: false, 20: false})
	table.Seal(4)
	insertAt(table, 2)
	check("late rows", map[int64]bool{0: false, 4: false, 8: true, 9: true, 20: false})
}

// Rows are divided at the bounds of granules: a row with the key of a bound goes to the granule that begins there.
func TestRouter_Bounds(t *testing.T) {
	table := querytest.Open(t, querytest.Options{GranuleRows: 2}, querytest.Samples(100))
	table.Insert(querytest.Pods("a", 0, 3, 6, 9, 12, 15))
	table.Compact()
	granules := map[string]string{}
	for bound, g := range table.State().Granules.All() {
		_, granules[bound] = g.Bounds()
	}
	if len(granules) != 3 {
		t.Fatalf("%d granules", len(granules))
	}
	for _, test := range []struct {
		times []int64
		parts int
	}{
		{[]int64{0, 3}, 1},
		{[]int64{0, 6}, 2},
		{[]int64{3, 6}, 2},
		{[]int64{6, 9}, 1},
		{[]int64{6, 12}, 2},
		{[]int64{3, 6, 9, 12}, 3},
	} {
		placed := table.Place(querytest.Pods("a", test.times...))
		if len(placed) != test.parts {
			t.Errorf("rows of %v are in %d parts, want %d", test.times, len(placed), test.parts)
		}
		for _, p := range placed {
			if hi, ok := granules[p.Bound]; !ok || hi != p.Hi {
				t.Errorf("rows of %v are for a granule from %x to %x", test.times, p.Bound, p.Hi)
			}
			for row := range p.Part.Rows() {
				if key := string(p.Part.AppendKey(nil, table.Env.Schema, row)); key < p.Bound || p.Hi != "" && key >= p.Hi {
					t.Errorf("K2: the row %x is for the granule from %x to %x", key, p.Bound, p.Hi)
				}
			}
		}
		table.Insert(querytest.Pods("a", test.times...))
		checkTable(t, table)
	}
	if n := len(table.Place(querytest.Pods("b", 0, 30))); n != 1 {
		t.Errorf("rows behind all granules are in %s parts", fmt.Sprint(n))
	}
}
