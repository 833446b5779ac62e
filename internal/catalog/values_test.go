package catalog_test

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/internal/catalog"
	"github.com/granarydb/granary/internal/querytest"
	"github.com/granarydb/granary/schema"
	"github.com/granarydb/granary/txn"
)

// A bitset is a set of numbers.
func TestBitset(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.Uint64(), 0, 4).Draw(t, "words")
		others := rapid.SliceOfN(rapid.Uint64(), len(words), 6).Draw(t, "others")
		b := catalog.Bitset(words)
		var want, both []uint32
		for i := range uint32(64 * 6) {
			if int(i/64) < len(words) && words[i/64]>>(i%64)&1 == 1 {
				want = append(want, i)
				if others[i/64]>>(i%64)&1 == 1 {
					both = append(both, i)
				}
			}
			if b.Has(i) != (len(want) > 0 && want[len(want)-1] == i) {
				t.Fatalf("%d: %v", i, b.Has(i))
			}
		}
		var got []uint32
		b.All(func(i uint32) { got = append(got, i) })
		last := 0
		if len(want) > 0 {
			last = int(want[len(want)-1])
		}
		if !slices.Equal(got, want) || b.Len() != len(want) || b.Last() != last {
			t.Fatalf("%v: members %v, %d, the last is %d", want, got, b.Len(), b.Last())
		}
		most := rapid.IntRange(0, 300).Draw(t, "most")
		if members, few := b.Few(others, most); few != (len(both) <= most) || few && !slices.Equal(members, both) {
			t.Fatalf("%v, %v of at most %d; want %v", members, few, most, both)
		}
		if members, few := b.Few(others, len(both)); !few || !slices.Equal(members, both) {
			t.Fatalf("%v, %v of at most as many; want %v", members, few, both)
		}
	})
}

// The rows of a batch come bucket by bucket, ascending, each in the bucket of its time.
func TestGroupRows(t *testing.T) {
	table := querytest.Open(t, querytest.Options{BucketRows: 3}, querytest.Samples(100))
	for at := range int64(300) {
		table.Insert(querytest.OneRow(at))
	}
	table.Edit(func(e *catalog.TableEdit) { e.DropBefore(100) })
	state, rng := table.State(), rand.New(rand.NewPCG(1, 3))
	all := catalog.TimeLimits{Earliest: math.MinInt64, Latest: math.MaxInt64}
	for range 300 {
		times := make([]int64, 1+rng.IntN(30))
		want := map[int64][]int32{}
		for row := range times {
			times[row] = 100 + rng.Int64N([]int64{2, 50, 400}[rng.IntN(3)])
			find := state.FindBuckets()
			start := find.At(times[row])
			want[start] = append(want[start], int32(row))
		}
		var starts []int64
		err := state.GroupRows(times, all, func(start int64, rows []int32) {
			starts = append(starts, start)
			if rows == nil && len(want) == 1 {
				return // all
			}
			if !slices.Equal(rows, want[start]) {
				t.Errorf("rows %v of the bucket of %d, want %v", rows, start, want[start])
			}
		})
		if err != nil || !slices.Equal(starts, slices.Sorted(maps.Keys(want))) {
			t.Fatalf("buckets %v, %v, want %v", starts, err, want)
		}
	}
	for name, test := range map[string]struct {
		times  []int64
		limits catalog.TimeLimits
		want   error
		text   string
	}{
		"too old":  {[]int64{150, 99}, all, catalog.ErrTooOld, "row 1 is at 1970-01-01T00:00:00.000000099Z, kept from 1970-01-01T00:00:00.0000001Z"},
		"future":   {[]int64{150, 151}, catalog.TimeLimits{Now: 140, Earliest: 0, Latest: 150}, catalog.ErrFuture, `row 1 of column "time"`},
		"past":     {[]int64{150}, catalog.TimeLimits{Now: 200, Earliest: 151, Latest: 300}, catalog.ErrPast, `row 0 of column "time"`},
		"many":     {manyTimes(catalog.MaxBuckets), all, nil, ""},
		"too many": {manyTimes(catalog.MaxBuckets + 1), all, schema.ErrLimit, "rows of 1025 time buckets, at most 1024"},
	} {
		yielded := 0
		err := state.GroupRows(test.times, test.limits, func(int64, []int32) { yielded++ })
		if test.want == nil && (err != nil || yielded != catalog.MaxBuckets) || test.want != nil && yielded > 0 {
			t.Errorf("%s: %d buckets, %v", name, yielded, err)
		}
		if test.want != nil && (!errors.Is(err, test.want) || !strings.Contains(err.Error(), test.text)) {
			t.Errorf("%s: %v, want %s", name, err, test.text)
		}
	}
}

// manyTimes returns times of n ranges.
func manyTimes(n int) (times []int64) {
	for i := range n {
		times = append(times, int64(100*(i+10)))
	}
	return times
}

// LimitTimes takes the limits from the options, and sets none beyond the range of int64.
func TestLimitTimes(t *testing.T) {
	now := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC).UnixNano()
	for name, test := range map[string]struct {
		now              int64
		future, past     time.Duration
		earliest, latest int64
	}{
		"defaults":                         {now, time.Minute, 0, catalog.Year1980, now + int64(time.Minute)},
		"none":                             {now, -1, -1, math.MinInt64, math.MaxInt64},
		"a past":                           {now, 0, time.Hour, now - int64(time.Hour), now},
		"a clock in 1970":                  {5, 10, 0, math.MinInt64, 15},
		"beyond the end of time":           {math.MaxInt64 - 5, 10, 0, catalog.Year1980, math.MaxInt64},
		"beyond the start of time":         {math.MinInt64 + 5, 10, 10, math.MinInt64, math.MinInt64 + 15},
		"a past up to the start of time":   {now, 0, math.MaxInt64, now - math.MaxInt64, now},
		"a clock exactly at the default's": {catalog.Year1980, 0, 0, catalog.Year1980, catalog.Year1980},
	} {
		got := catalog.LimitTimes(test.now, test.future, test.past)
		if want := (catalog.TimeLimits{Now: test.now, Earliest: test.earliest, Latest: test.latest}); got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
		for at, want := range map[int64]error{test.earliest: nil, test.latest: nil} {
			if err := got.Check(at, ""); !errors.Is(err, want) {
				t.Errorf("%s: %d: %v", name, at, err)
			}
		}
		if test.latest < math.MaxInt64 {
			if err := got.Check(test.latest+1, "x "); !errors.Is(err, catalog.ErrFuture) || !strings.Contains(err.Error(), "x "+catalog.TimeText(test.latest+1)) {
				t.Errorf("%s: after the latest: %v", name, err)
			}
		}
		if test.earliest > math.MinInt64 {
			if err := got.Check(test.earliest-1, ""); !errors.Is(err, catalog.ErrPast) {
				t.Errorf("%s: before the earliest: %v", name, err)
			}
		}
	}
}

// A time in another unit is named if it is within the limits, which are inclusive.
func TestPast_AtTheLimits(t *testing.T) {
	limits := catalog.TimeLimits{Now: 10e9, Earliest: 5e9, Latest: 10e9}
	for at, named := range map[int64]bool{4: false, 5: true, 10: true, 11: false} {
		if err := limits.Check(at, ""); !errors.Is(err, catalog.ErrPast) || strings.Contains(err.Error(), "in seconds it is") != named {
			t.Errorf("%d: %v", at, err)
		}
	}
}

// The default limit takes the dates of 2000 to 2100, and refuses them in any other unit.
func TestPast_EveryUnit(t *testing.T) {
	for year := 2000; year <= 2100; year++ {
		now := time.Date(year, 7, 1, 0, 0, 0, 0, time.UTC)
		limits := catalog.LimitTimes(now.UnixNano(), 10*time.Minute, 0)
		if err := limits.Check(now.UnixNano(), ""); err != nil {
			t.Errorf("%v: %v", now, err)
		}
		for unit, in := range map[string]int64{"seconds": now.Unix(), "milliseconds": now.UnixMilli(), "microseconds": now.UnixMicro()} {
			err := limits.Check(in, "")
			if text := fmt.Sprintf("in %s it is %d-07-01", unit, year); !errors.Is(err, catalog.ErrPast) || !strings.Contains(err.Error(), text) {
				t.Errorf("%v, want %s", err, text)
			}
		}
	}
}

// A database is a value: adding a table or a history, or another view of one, leaves the one before as it was. A commit of
// one table of several leaves the others, and counts the bytes of all.
func TestDatabase(t *testing.T) {
	s, err := schema.New(querytest.Samples(10))
	if err != nil {
		t.Fatal(err)
	}
	states, err := history.New(history.Options{})
	if err != nil {
		t.Fatal(err)
	}
	empty := &catalog.Database{Newest: math.MinInt64}
	one := empty.WithTable(catalog.NewTableState(s))
	two := one.WithTable(catalog.NewTableState(s))
	with := two.WithHistory(states.Empty())
	tx, err := states.Begin()
	if err != nil {
		t.Fatal(err)
	}
	view, err := tx.Commit()
	if err != nil {
		t.Fatal(err)
	}
	replaced := with.ReplaceHistory(0, view)
	if len(empty.Tables) != 0 || len(one.Tables) != 1 || len(two.Tables) != 2 || len(two.Histories) != 0 || len(with.Histories) != 1 {
		t.Errorf("%d, %d, %d tables", len(empty.Tables), len(one.Tables), len(two.Tables))
	}
	if with.Histories[0] == view || replaced.Histories[0] != view {
		t.Error("the view of the database before has changed")
	}
	if one.Table(0) == nil || one.Table(1) != nil {
		t.Error("a database has a table that was created after it")
	}
	e := replaced.Table(1).Edit(1)
	defer e.Release()
	if err := e.Note("a note", 0); err != nil {
		t.Fatal(err)
	}
	next := txn.Next[*catalog.Database]{State: replaced}
	if e.Done(1, &next) {
		t.Error("the floor rose")
	}
	got := next.State
	if got.Table(0) != replaced.Table(0) || len(got.Table(1).Notes) != 1 || len(replaced.Table(1).Notes) != 0 || got.Bytes != got.Table(1).Bytes || got.Histories[0] != view {
		t.Errorf("%d bytes, notes %q", got.Bytes, got.Table(1).Notes)
	}
}

// A commit of one of several tables leaves the others and the histories in the root, and counts the bytes of all. Only a
// lone table has room for its root.
func TestDatabase_Bytes(t *testing.T) {
	s, err := schema.New(querytest.Samples(10))
	if err != nil {
		t.Fatal(err)
	}
	states, err := history.New(history.Options{})
	if err != nil {
		t.Fatal(err)
	}
	one := (&catalog.Database{Newest: math.MinInt64}).WithTable(catalog.NewTableState(s))
	for name, test := range map[string]struct {
		root *catalog.Database
		room bool
	}{
		"one table": {one, true}, "two tables": {one.WithTable(catalog.NewTableState(s)), false}, "a history": {one.WithHistory(states.Empty()), false},
	} {
		root := test.root
		for i, note := range []string{"a", "note"} {
			ordinal := i % len(root.Tables)
			e := root.Table(ordinal).Edit(ordinal)
			if err := e.Note(note, 0); err != nil {
				t.Fatal(err)
			}
			next := txn.Next[*catalog.Database]{State: root}
			e.Done(txn.Version(i+1), &next)
			e.Release()
			if (next.Room != nil) != test.room {
				t.Errorf("%s: room for the root: %t", name, next.Room != nil)
			}
			root = next.State
		}
		bytes := int64(0)
		for _, state := range root.Tables {
			bytes += state.Bytes
		}
		if len(root.Tables) != len(test.root.Tables) || len(root.Histories) != len(test.root.Histories) || root.Bytes != bytes || bytes != int64(len("a"+"note"))+2*catalog.NoteSize {
			t.Errorf("%s: %d tables, %d histories, %d bytes of %d", name, len(root.Tables), len(root.Histories), root.Bytes, bytes)
		}
	}
}

// The newest range of all tables moves with the first row of a later one.
func TestDatabase_Newest(t *testing.T) {
	table := querytest.Open(t, querytest.Options{}, querytest.Samples(10))
	for _, test := range []struct {
		at, newest int64
		turns      bool
	}{{5, 0, true}, {7, 0, false}, {-5, 0, false}, {25, 20, true}, {29, 20, false}, {31, 30, true}} {
		before := table.Database().Turned
		table.Insert(querytest.OneRow(test.at))
		now := table.Database()
		want := before
		if test.turns {
			want = [2]txn.Version{before[1], table.Version()}
		}
		if now.Newest != test.newest || now.Turned != want {
			t.Errorf("a row at %d: the newest range is %d, since %v; want %d, since %v", test.at, now.Newest, now.Turned, test.newest, want)
		}
	}
}

// A part that a table has already, with its series and columns, brings none.
func TestPlacement_Size(t *testing.T) {
	table := querytest.Open(t, querytest.Options{}, querytest.Samples(10))
	place := func(b schema.Batch) catalog.Placement {
		return table.Place(b)[0]
	}
	row := querytest.OneRow(1)
	row.Columns["tags.t"] = encoding.Strings("x")
	fresh := place(row)
	if fresh.Known || len(fresh.Series) != 1 || !slices.Equal(fresh.Columns, []string{"tags.t"}) {
		t.Errorf("a first row: known %v, series %v, columns %q", fresh.Known, fresh.Series, fresh.Columns)
	}
	table.Insert(row)
	again := place(row)
	if !again.Known || again.Series != nil || again.Size() != int64(again.Part.Size()) || fresh.Size() < again.Size()+catalog.GranuleSize+catalog.BucketSize {
		t.Errorf("a second row: known %v, %d bytes; the first %d", again.Known, again.Size(), fresh.Size())
	}
	row.Columns["tags.u"] = encoding.Vector{Type: encoding.String, Strings: []string{""}, Valid: []bool{false}}
	if null := place(row); !null.Known {
		t.Errorf("a column of nulls is new: %q", null.Columns)
	}
}
