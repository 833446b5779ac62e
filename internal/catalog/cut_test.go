package catalog_test

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/granule"
	"github.com/granarydb/granary/internal/catalog"
	"github.com/granarydb/granary/internal/query/filter"
	"github.com/granarydb/granary/internal/querytest"
)

// wantBuckets compares the times of the rows of each bucket.
func wantBuckets(t *testing.T, table *querytest.Table, when string, want map[int64][]int64) {
	t.Helper()
	if got := querytest.TimesByBucket(table.State()); !maps.EqualFunc(got, want, slices.Equal) {
		t.Errorf("%s: rows by bucket %v, want %v", when, got, want)
	}
}

// A bucket with enough rows is cut behind the newest row of the commit. Later rows go to the
// new bucket, late rows to the bucket of their time, and rows inserted before the cut to the
// bucket of their insertion.
func TestCut(t *testing.T) {
	table := querytest.Open(t, querytest.Options{BucketRows: 4}, querytest.Samples(100))
	before := table.Begin()
	if err := before.Insert(querytest.Pods("early", 1, 50)); err != nil {
		t.Fatal(err)
	}
	table.Insert(querytest.Pods("a", 90)) // from a clock ahead: it does not decide the place of the cut
	table.Insert(querytest.Pods("a", 10, 20))
	wantBuckets(t, table, "three rows", map[int64][]int64{0: {10, 20, 90}})
	table.Insert(querytest.Pods("a", 30))
	wantBuckets(t, table, "the fourth", map[int64][]int64{0: {10, 20, 30, 90}, 31: nil})
	table.Insert(querytest.Pods("a", 31, 30, 99))
	wantBuckets(t, table, "after the cut", map[int64][]int64{0: {10, 20, 30, 30, 90}, 31: {31, 99}})
	if err := before.Commit(); err != nil { // five since the cut: the next is behind 50
		t.Fatal(err)
	}
	wantBuckets(t, table, "inserted before the cut", map[int64][]int64{0: {1, 10, 20, 30, 30, 50, 90}, 31: {31, 99}, 51: nil})
	table.Insert(querytest.Pods("b", 49, 51, 100, 205))
	wantBuckets(t, table, "other ranges", map[int64][]int64{0: {1, 10, 20, 30, 30, 50, 90}, 31: {31, 49, 99}, 51: {51}, 100: {100}, 200: {205}})
	table.Insert(querytest.Pods("b", 1, 2, 3, 4, 5, 60)) // not the newest range: no cut
	table.Insert(querytest.Pods("b", 299, 298, 297))     // no bucket begins behind 299 in its range
	wantBuckets(t, table, "ranges that are not cut", map[int64][]int64{
		0: {1, 1, 2, 3, 4, 5, 10, 20, 30, 30, 50, 90}, 31: {31, 49, 99}, 51: {51, 60}, 100: {100}, 200: {205, 297, 298, 299},
	})
	table.Compact()
	checkRange(t, table, 40, 60, 3)
	checkRange(t, table, 90, 100, 2)
	checkRange(t, table, math.MinInt64, 31, 10)
}

// The number of series of the newest bucket follows its rows.
func TestCut_Series(t *testing.T) {
	table := querytest.Open(t, querytest.Options{BucketRows: 5}, querytest.Samples(100))
	wantSeries := func(when string, want int) {
		t.Helper()
		if got := table.State().Series; got != want {
			t.Errorf("%s: %d series, want %d", when, got, want)
		}
	}
	table.Insert(querytest.Pods("a", 110, 111))
	table.Insert(querytest.Pods("b", 112))
	wantSeries("two of the range", 2)
	table.Insert(querytest.Pods("c", 50)) // in an older bucket
	wantSeries("a third in an older range", 2)
	table.Insert(querytest.Pods("a", 113, 114))
	wantSeries("cut", 0)
	table.Insert(querytest.Pods("b", 115))
	table.Insert(querytest.Pods("d", 101))
	wantSeries("after the cut", 1)
	table.Insert(querytest.Pods("a", 230))
	wantSeries("another range", 1)
}

// Queries about later times skip a bucket that was cut, until later rows are added to it.
func TestCut_Late(t *testing.T) {
	table := querytest.Open(t, querytest.Options{BucketRows: 4}, querytest.Samples(100))
	early := table.Begin()
	if err := early.Insert(querytest.Pods("early", 60)); err != nil {
		t.Fatal(err)
	}
	table.Insert(querytest.Pods("a", 10, 20, 30, 31))
	table.Insert(querytest.Pods("a", 32, 50))
	wantFrom := func(when string, lo int64, want ...int64) {
		t.Helper()
		var got []int64
		for b := range table.State().BucketsOf(lo, math.MaxInt64) {
			got = append(got, b.Start)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: a question from %d on looks at buckets %v, want %v", when, lo, got, want)
		}
	}
	wantFrom("cut", 31, 0, 32)
	wantFrom("cut", 32, 32)
	if err := early.Commit(); err != nil {
		t.Fatal(err)
	}
	wantFrom("a later row", 60, 0, 32)
	wantFrom("a later row", 61, 32)
	checkRange(t, table, 32, 100, 3)
	table.Insert(querytest.Pods("a", 5)) // not later
	wantFrom("an earlier row", 61, 32)
	table.Compact()
	checkRange(t, table, 40, 100, 2)
	checkRange(t, table, 60, 61, 1)
}

// The bucket of a time is found after any earlier lookups, also in ranges without a bucket and
// with more buckets than are cached.
func TestCut_Finder(t *testing.T) {
	table := querytest.Open(t, querytest.Options{BucketRows: 1}, querytest.Samples(10_000))
	for _, at := range []int64{math.MinInt64, math.MinInt64 + 5, -10_000, -9_999, 7} {
		table.Insert(querytest.Pods("a", at))
	}
	for at := int64(20_000); at < 20_000+3*catalog.MaxBuckets; at += 2 {
		table.Insert(querytest.Pods("a", at))
	}
	state := table.State()
	var starts []int64
	for _, b := range state.Buckets.All() {
		starts = append(starts, b.Start)
	}
	if len(starts) < catalog.MaxBuckets+100 {
		t.Fatalf("%d buckets", len(starts))
	}
	rng := rand.New(rand.NewPCG(1, 7))
	find := table.State().FindBuckets()
	for range 20_000 {
		at := rng.Int64N(45_000) - 15_000
		switch rng.IntN(16) {
		case 0:
			at = math.MinInt64 + rng.Int64N(20_000)
		case 1:
			at = math.MaxInt64 - rng.Int64N(20_000)
		case 2:
			at = starts[rng.IntN(len(starts))] + rng.Int64N(2)
		}
		want := table.Env.Schema.BucketStart(at)
		for _, start := range starts {
			if want < start && start <= at {
				want = start
			}
		}
		if got := find.At(at); got != want {
			t.Fatalf("the bucket of %d begins at %d, want %d", at, got, want)
		}
	}
	// An insert of late rows visits few buckets, however many the range has.
	late := func() {
		find := table.State().FindBuckets()
		find.At(20_000)
	}
	if n := testing.AllocsPerRun(100, late); n > 8 {
		t.Errorf("%v allocations for a late row", n)
	}
}

// timesBetween returns the sorted times in [lo, hi) of the rows of a state that a question finds.
func timesBetween(t *testing.T, r *filter.Read, lo, hi int64) []int64 {
	t.Helper()
	times := []int64{}
	column, _ := r.Schema.Resolve("time")
	where := filter.And(filter.AtLeast("time", lo), filter.Less("time", hi))
	for s, err := range r.Chosen(t.Context(), where, false, false) {
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range s.Words(nil, s.Part.Find(column, "time").Words()) {
			times = append(times, encoding.ToInt64(word))
		}
	}
	slices.Sort(times)
	return times
}

// checkRange counts the rows of times [lo, hi).
func checkRange(t *testing.T, table *querytest.Table, lo, hi int64, want int) {
	t.Helper()
	if got := timesBetween(t, table.Read(), lo, hi); len(got) != want {
		t.Errorf("rows of [%d, %d): %v, want %d", lo, hi, got, want)
	}
}

// There are no cuts where they are impossible or turned off.
func TestCut_Never(t *testing.T) {
	for name, tc := range map[string]struct {
		opts  querytest.Options
		width int64
		times []int64
		want  int // buckets
	}{
		"negative":          {querytest.Options{BucketRows: -1}, 100, []int64{1, 2, 3, 4}, 1},
		"the default":       {querytest.Options{}, 100, []int64{1, 2, 3, 4}, 1},
		"no buckets":        {querytest.Options{BucketRows: 1}, 0, []int64{1, 2, 3, 4}, 1},
		"one time":          {querytest.Options{BucketRows: 1}, 100, []int64{1, 1, 1, 1}, 2},
		"buckets of a time": {querytest.Options{BucketRows: 1}, 1, []int64{1, 2, 3, 4}, 4},
		"the last time":     {querytest.Options{BucketRows: 1}, 100, []int64{math.MaxInt64, math.MaxInt64}, 1},
		"the first time":    {querytest.Options{BucketRows: 1}, 100, []int64{math.MinInt64, math.MinInt64 + 1}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			table := querytest.Open(t, tc.opts, querytest.Samples(tc.width))
			for _, at := range tc.times {
				table.Insert(querytest.Pods("a", at))
			}
			got := querytest.TimesByBucket(table.State())
			rows := 0
			for _, times := range got {
				rows += len(times)
			}
			if len(got) != tc.want || rows != len(tc.times) {
				t.Errorf("buckets %v, want %d", got, tc.want)
			}
		})
	}
}

// Retention drops all buckets of a range, and none of a range that stays. The floor is that of ranges.
func TestCut_Retention(t *testing.T) {
	table := querytest.Open(t, querytest.Options{BucketRows: 2, Retention: 15}, querytest.Samples(10))
	table.Insert(querytest.Pods("a", 1, 2))
	table.Insert(querytest.Pods("a", 5, 6))
	table.Insert(querytest.Pods("a", 3, 9, 11, 12))
	table.Insert(querytest.Pods("a", 14))
	want := map[int64][]int64{0: {1, 2}, 3: {3, 5, 6}, 7: {9}, 10: {11, 12}, 13: {14}}
	wantBuckets(t, table, "five buckets", want)
	table.Insert(querytest.Pods("a", 24)) // 24-15 = 9: a time of the range that ends at 10 is kept
	want[20] = []int64{24}
	wantBuckets(t, table, "all are kept", want)
	late := table.Begin()
	if err := late.Insert(querytest.Pods("a", 8)); err != nil {
		t.Fatal(err)
	}
	table.Insert(querytest.Pods("a", 25)) // fills the bucket of 20 too
	wantBuckets(t, table, "a range is dropped", map[int64][]int64{10: {11, 12}, 13: {14}, 20: {24, 25}, 26: nil})
	if err := late.Commit(); !errors.Is(err, catalog.ErrTooOld) {
		t.Errorf("a row of a bucket that was dropped: %v", err)
	}
	if err := table.Begin().Insert(querytest.Pods("a", 9)); !errors.Is(err, catalog.ErrTooOld) {
		t.Errorf("a row of the last time that was dropped: %v", err)
	}
	checkRange(t, table, math.MinInt64, math.MaxInt64, 5)
	if state := table.State(); state.Rows != 5 || state.Dropped != 6 || state.Floor != 10 {
		t.Errorf("%d rows from %d on, %d dropped", state.Rows, state.Floor, state.Dropped)
	}
}

// A new bucket begins with granules that have bounds of the bucket before it, and the fresh parts of that bucket are
// due.
func TestCut_Divides(t *testing.T) {
	table := querytest.Open(t, querytest.Options{BucketRows: 200, GranuleRows: 20}, querytest.Samples(1000))
	for n := range 199 {
		table.Insert(querytest.Pods(fmt.Sprint("pod", n%20), int64(n)))
		if n%40 == 39 {
			table.Compact()
		}
	}
	bounds := func() map[int64][]string {
		out := map[int64][]string{}
		state := table.State()
		for _, b := range state.Buckets.All() {
			for _, g := range state.HotGranules(b) {
				lo, _ := g.Bounds()
				out[b.Start] = append(out[b.Start], lo[8:])
			}
		}
		return out
	}
	before := bounds()
	table.Insert(querytest.Pods("pod0", 199))
	after := bounds()
	if len(before) != 1 || len(before[0]) < 5 || !slices.Equal(before[0], after[0]) || len(after) != 2 || len(after[200]) < 3 {
		t.Fatalf("granules %v before the cut, %v after it", before, after)
	}
	for _, bound := range after[200] {
		if !slices.Contains(before[0], bound) {
			t.Errorf("a granule begins at %q, which none of the bucket before does", bound)
		}
	}
	fresh := 0
	for _, g := range table.State().Granules.All() {
		if g.FreshParts() > 0 {
			fresh++
		}
	}
	if fresh == 0 || len(table.Due) != fresh {
		t.Errorf("%d granules are due, want the %d with fresh parts", len(table.Due), fresh)
	}
	checkTable(t, table)
}

// A bucket is due once, when the newest row is a whole bucket beyond it. Late rows wait for the usual limits.
func TestCloseBuckets(t *testing.T) {
	table := querytest.Open(t, querytest.Options{}, querytest.Samples(10))
	for _, test := range []struct {
		at  int64
		due []int64 // starts of the buckets
	}{
		{1, nil},
		{2, nil},
		{11, nil},
		{19, nil},
		{20, []int64{0}}, // bucket 0 ended at 10, and 20 is a whole bucket later
		{3, nil},         // late
		{55, []int64{10, 20}},
		{56, nil}, // closed stays closed
	} {
		table.Insert(querytest.Pods("a", test.at))
		var got []int64
		for _, bound := range table.Due {
			_, b, _ := table.State().Buckets.Floor(bound)
			got = append(got, b.Start)
		}
		if !slices.Equal(got, test.due) {
			t.Errorf("a row at %d: the buckets of %v are due, want %v", test.at, got, test.due)
		}
	}
	table.Compact()
	table.Edit(func(e *catalog.TableEdit) { // a rewrite that left fresh parts in a closed bucket makes it due again
		for _, g := range table.State().HotGranules(bucketAt(table, 10)) {
			e.Replace(g, []*granule.Granule{g})
		}
	})
	if len(table.Due) != 0 {
		t.Errorf("due without fresh parts: %q", table.Due)
	}
	table.Insert(querytest.Pods("a", 12))
	table.Edit(func(e *catalog.TableEdit) {
		for _, g := range table.State().HotGranules(bucketAt(table, 10)) {
			e.Replace(g, []*granule.Granule{g})
		}
	})
	if len(table.Due) != 1 {
		t.Errorf("due with a fresh part: %q", table.Due)
	}
}

// bucketAt returns the bucket that begins at a time.
func bucketAt(table *querytest.Table, start int64) *catalog.BucketState {
	key, _ := table.Env.Schema.BucketBounds(start)
	b, _ := table.State().Buckets.Get(key)
	return b
}

// A drop takes the ranges before a time, whole ones, and its floor is never beyond the range of the newest row.
func TestDropBefore(t *testing.T) {
	all := []int64{-15, 1, 11, 21, 31}
	for _, test := range []struct {
		name  string
		at    int64
		left  []int64
		floor int64 // of rows that go in
	}{
		{"before all", -21, all, -30},
		{"at the start of a range", -20, all, -20},
		{"in the first range", -11, all, -20},
		{"at its end", -10, []int64{1, 11, 21, 31}, -10},
		{"in the middle", 15, []int64{11, 21, 31}, 10},
		{"at a row", 21, []int64{21, 31}, 20},
		{"in the newest range", 39, []int64{31}, 30},
		{"at its end", 40, nil, 40},
		{"behind all", 1_000_000, nil, 40},
		{"the last time", math.MaxInt64, nil, 40},
		{"the first time", math.MinInt64, all, -1000},
	} {
		t.Run(test.name, func(t *testing.T) {
			table := querytest.Open(t, querytest.Options{}, querytest.Samples(10))
			for _, at := range all {
				table.Insert(querytest.At(at))
			}
			before := table.Read()
			for range 2 { // the second drop finds nothing
				table.Edit(func(e *catalog.TableEdit) { e.DropBefore(test.at) })
				if got := timesBetween(t, table.Read(), math.MinInt64, math.MaxInt64); !slices.Equal(got, test.left) {
					t.Errorf("rows at %v are left, want %v", got, test.left)
				}
			}
			if got := timesBetween(t, before, math.MinInt64, math.MaxInt64); !slices.Equal(got, all) {
				t.Errorf("an earlier snapshot has rows at %v", got)
			}
			if state := table.State(); state.Rows != int64(len(test.left)) || state.Dropped != int64(len(all)-len(test.left)) || state.Evicted != 0 {
				t.Errorf("%d rows, %d dropped, %d evicted", state.Rows, state.Dropped, state.Evicted)
			}
			checkTable(t, table)
			if err := table.Begin().Insert(querytest.At(test.floor - 1)); (err == nil) != (test.floor == -1000) || err != nil && !errors.Is(err, catalog.ErrTooOld) {
				t.Errorf("a row below the floor: %v", err)
			}
			table.Insert(querytest.At(test.floor))
		})
	}
	empty := querytest.Open(t, querytest.Options{}, querytest.Samples(10))
	empty.Edit(func(e *catalog.TableEdit) { e.DropBefore(math.MaxInt64) })
	plain := querytest.Open(t, querytest.Options{}, querytest.Samples(0))
	plain.Insert(querytest.OneRow(5))
	plain.Edit(func(e *catalog.TableEdit) { e.DropBefore(100) })
	if empty.State().Floor != math.MinInt64 || plain.State().Rows != 1 {
		t.Error("a drop of no range does something")
	}
}
