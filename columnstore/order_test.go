package columnstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/internal/crashfs"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/internal/oracle"
)

// orderStages are the times at which ordered answers are asked for.
var orderStages = []string{"empty", "fresh", "rewriting", "compacted", "fresh upon base", "during inserts and rewrites", "compacted"}

// eachStage calls ask `times` times at each stage of each random table, and at the end for the snapshots
// of all stages.
func eachStage(t *testing.T, seeds, first uint64, times int, ask func(a *queryAsker, v *queryView)) {
	t.Helper()
	for seed := range seeds {
		a := newQueryAsker(t, first+seed)
		var held []*queryView
		for _, when := range orderStages {
			switch when {
			case "fresh", "fresh upon base":
				a.insertSome(a.total / 2)
			case "rewriting":
				a.rewriteOne()
			case "compacted":
				a.compact()
			}
			v := a.view(when)
			a.during = a.opts.Manual && when == "during inserts and rewrites"
			for range times {
				ask(a, v)
			}
			a.during = false
			held = append(held, v)
		}
		for _, v := range held {
			v.when = "held since " + v.when
			ask(a, v)
		}
		if t.Failed() {
			return
		}
	}
}

// randomOrder makes an order of one to three columns.
func (a *queryAsker) randomOrder() (by []Ordering, columns []int) {
	for len(by) == 0 || len(by) < 3 && a.rng.IntN(3) == 0 {
		column := a.rng.IntN(len(a.columns))
		if a.rng.IntN(4) == 0 {
			column = a.index("time")
		}
		if a.columns[column].of.Type != encoding.UUIDList {
			by, columns = append(by, Ordering{Column: a.columns[column].name, Descending: a.rng.IntN(2) == 0}), append(columns, column)
		}
	}
	return by, columns
}

// compareBy compares the values that come first in two rows, as an order says.
func compareBy(by []Ordering, x, y oracle.Cells) int {
	for i, o := range by {
		if order := oracle.CompareKeys(x[i], y[i]); order != 0 {
			if o.Descending {
				return -order
			}
			return order
		}
	}
	return 0
}

// The first rows by any columns equal the oracle's, and are in the order of an ordered scan that is
// sorted stably: for any type and label, ascending and descending, before, between the steps of, during
// and after rewrites (C2, C3).
func TestScan_OrderBy(t *testing.T) {
	effort.Long(t)
	asked := map[string]int{}
	eachStage(t, 25-17*uint64(boolInt(effort.Race)), 3000, 10, func(a *queryAsker, v *queryView) {
		where, chosen := a.randomWhere(v)
		opts := ScanOptions{Where: a.expr(where), Limit: 1 + a.rng.IntN(min(2*len(chosen)+2, 40)), Ordered: a.rng.IntN(2) == 0, Columns: []string{}}
		if a.rng.IntN(8) == 0 {
			opts.Limit = 1 << 16
		}
		if a.rng.IntN(3) > 0 {
			opts.Columns = append(opts.Columns, a.randomNames()...)
		}
		var by []int
		opts.OrderBy, by = a.randomOrder()
		columns := v.expand(opts.Columns)
		a.question = fmt.Sprintf("first %d by %v of %q where %s", opts.Limit, opts.OrderBy, opts.Columns, where.Text(a.columnName))
		got := a.scan(v, opts, columns)

		all := ScanOptions{Where: opts.Where, Ordered: true, Columns: append(v.names(by), opts.Columns...)}
		during := a.during
		a.during = false
		sorted := a.scan(v, all, append(slices.Clone(by), columns...))
		a.during = during
		slices.SortStableFunc(sorted, func(x, y oracle.Cells) int { return compareBy(opts.OrderBy, x, y) })
		values := make([]oracle.Cells, len(chosen))
		for i, row := range chosen {
			values[i] = row.Pick(by)
		}
		slices.SortStableFunc(values, func(x, y oracle.Cells) int { return compareBy(opts.OrderBy, x, y) })

		if n := min(opts.Limit, len(chosen)); len(got) != n || len(sorted) != len(chosen) {
			a.errorf(v, "%d rows, want %d; %d rows in all, want %d", len(got), n, len(sorted), len(chosen))
			return
		}
		for i, row := range got {
			want := sorted[i][len(by):]
			if row.Text() != want.Text() || sorted[i][:len(by)].Text() != values[i].Text() {
				a.errorf(v, "row %d of %d is %s, want %s with %s; the oracle has %s", i, len(got), row.Text(), want.Text(), sorted[i][:len(by)].Text(), values[i].Text())
				return
			}
		}
		for i, c := range by {
			asked[fmt.Sprint(a.columns[c].of.Type, " descending=", opts.OrderBy[i].Descending)]++
			asked["label"] += boolInt(a.columns[c].series)
		}
		asked["several"] += boolInt(len(by) > 1)
		asked["all rows"] += boolInt(len(got) == len(chosen) && len(got) > 0)
		asked["some rows"] += boolInt(len(got) < len(chosen))
	})
	kinds := []string{"label", "several", "all rows", "some rows"}
	for _, typ := range []encoding.Type{encoding.Int64, encoding.Uint64, encoding.Float64, encoding.Bool, encoding.String, encoding.UUID} {
		kinds = append(kinds, fmt.Sprint(typ, " descending=true"), fmt.Sprint(typ, " descending=false"))
	}
	for _, kind := range kinds {
		if asked[kind] == 0 {
			t.Errorf("%s: never asked", kind)
		}
	}
	t.Log(asked)
}

// compareCells compares values in a column of groups: values of a type as keys do, and lists by their
// ids.
func compareCells(x, y any) int {
	a, isList := x.([]uuid.UUID)
	b, too := y.([]uuid.UUID)
	if !isList || !too {
		return oracle.CompareKeys(x, y)
	}
	return slices.CompareFunc(a, b, func(x, y uuid.UUID) int { return bytes.Compare(x[:], y[:]) })
}

// The first groups by any columns equal the first of all sorted groups, and do not depend on rewrites:
// ordered by columns of By, by aggregates, sums and counts.
func TestAggregate_OrderBy(t *testing.T) {
	effort.Long(t)
	asked := map[string]int{}
	eachStage(t, uint64(effort.Part(25, 3)), 4000, 10, func(a *queryAsker, v *queryView) {
		where, _ := a.randomWhere(v)
		opts := AggregateOptions{Where: a.expr(where), By: a.randomNames(), NoCounts: a.rng.IntN(4) == 0}
		if a.rng.IntN(2) == 0 {
			opts.Aggregates = []Aggregate{{Op: Max, Column: "value"}, {Op: Count}, {Op: Min, Column: "nums.n"}, {Op: Mean, Column: "time"}}
		} else {
			opts.Sum = "value"
		}
		if a.rng.IntN(3) == 0 {
			opts.By = []string{"stack"}
		}
		by := v.expand(opts.By)
		var names []string // of the columns of the answer
		for _, c := range by {
			names = append(names, a.columns[c].name)
		}
		for _, g := range opts.Aggregates {
			names = append(names, g.String())
		}
		if opts.Aggregates == nil {
			names = append(names, "sum")
		}
		if !opts.NoCounts {
			names = append(names, "count")
		}
		full, err := a.table.Aggregate(a.Context(), v.snap, opts)
		if err != nil {
			a.errorf(v, "aggregate: %v", err)
			return
		}
		var order []int // places of the columns in a row
		for range 1 + a.rng.IntN(3) {
			at := a.rng.IntN(len(names))
			if at = slices.Index(names, names[at]); at < len(by) && a.columns[by[at]].of.Type == encoding.UUIDList {
				continue
			}
			order = append(order, at)
			opts.OrderBy = append(opts.OrderBy, Ordering{Column: names[at], Descending: a.rng.IntN(2) == 0})
		}
		if len(order) == 0 {
			return
		}
		want := a.rowsOfGroups(v, full, by)
		slices.SortFunc(want, func(x, y oracle.Cells) int {
			for i, at := range order {
				if order := compareCells(x[at], y[at]); order != 0 && opts.OrderBy[i].Descending {
					return -order
				} else if order != 0 {
					return order
				}
			}
			for i := range by {
				if order := compareCells(x[i], y[i]); order != 0 {
					return order
				}
			}
			return 0
		})
		if a.rng.IntN(3) > 0 {
			opts.Limit = 1 + a.rng.IntN(len(want)+2)
			want = want[:min(opts.Limit, len(want))]
		}
		a.question = fmt.Sprintf("first %d groups by %v of %q, %v where %s", opts.Limit, opts.OrderBy, opts.By, opts.Aggregates, where.Text(a.columnName))
		groups, err := a.table.Aggregate(a.Context(), v.snap, opts)
		if err != nil {
			a.errorf(v, "aggregate: %v", err)
			return
		}
		got := a.rowsOfGroups(v, groups, by)
		for i := range min(len(got), len(want)) {
			if got[i].Text() != want[i].Text() {
				a.errorf(v, "group %d is %s, want %s", i, got[i].Text(), want[i].Text())
				return
			}
		}
		if len(got) != len(want) {
			a.errorf(v, "%d groups, want %d", len(got), len(want))
		}
		asked["limit"] += boolInt(opts.Limit > 0 && len(got) == opts.Limit)
		asked["all"] += boolInt(opts.Limit == 0 && len(got) > 1)
		asked["lists"] += boolInt(len(got) > 1 && slices.Equal(opts.By, []string{"stack"}))
		for _, o := range opts.OrderBy {
			asked[o.Column]++
		}
	})
	for _, kind := range []string{"limit", "all", "lists", "sum", "count", "max(value)", "min(nums.n)", "kind", "labels.pod", "time", "ratio", "trace"} {
		if asked[kind] == 0 {
			t.Errorf("%s: never asked", kind)
		}
	}
	t.Log(asked)
}

// rowsOfGroups writes groups as rows, in their order: their values, then aggregates or sums,
// then counts if there are any.
func (a *queryAsker) rowsOfGroups(v *queryView, g *Groups, by []int) []oracle.Cells {
	n := len(g.Sums)
	if len(g.Aggregates) > 0 {
		n = g.Aggregates[0].Values.Len()
	}
	out := a.groupValues(v, g, by, n)
	for i := range out {
		for k := range g.Aggregates {
			out[i] = append(out[i], valueOf(&g.Aggregates[k], i))
		}
		if g.Sums != nil {
			out[i] = append(out[i], g.Sums[i])
		}
		if g.Counts != nil {
			out[i] = append(out[i], g.Counts[i])
		}
	}
	return out
}

// Invalid orders are errors that name the column or the limit.
func TestOrderBy_Errors(t *testing.T) {
	store, table := open(t, Options{Manual: true, FutureLimit: -1}, samples(10))
	insert(t, table, at(1))
	snap := snapshot(t, store)
	for _, test := range []struct {
		by    []Ordering
		limit int
		text  string
	}{
		{[]Ordering{{Column: "nope"}}, 1, `order by "nope": no such column`},
		{[]Ordering{{Column: "time"}, {Column: "labels"}}, 1, `order by "labels": no such column`},
		{[]Ordering{{Column: "stack"}}, 1, `order by "stack": lists have no order`},
		{[]Ordering{{Column: "time"}}, 0, "limit 0: want 1 to 65536 with OrderBy"},
		{[]Ordering{{Column: "time"}}, 65537, "limit 65537: want 1 to 65536"},
		{[]Ordering{{Column: "time"}}, -1, "limit -1"},
	} {
		err := scanError(t, t.Context(), table, snap, ScanOptions{OrderBy: test.by, Limit: test.limit})
		if wantError(t, err, ErrQuery, test.text); err == nil {
			t.Errorf("scan by %v, limit %d: no error", test.by, test.limit)
		}
	}
	for _, test := range []struct {
		opts AggregateOptions
		text string
	}{
		{AggregateOptions{OrderBy: []Ordering{{Column: "kind"}}}, `order by "kind"`},
		{AggregateOptions{By: []string{"stack"}, OrderBy: []Ordering{{Column: "stack"}}}, `order by "stack"`},
		{AggregateOptions{OrderBy: []Ordering{{Column: "count"}}, NoCounts: true}, `order by "count"`},
		{AggregateOptions{OrderBy: []Ordering{{Column: "sum"}}, Aggregates: []Aggregate{{Op: Count}}}, `order by "sum"`},
		{AggregateOptions{OrderBy: []Ordering{{Column: "max(value)"}}, Aggregates: []Aggregate{{Op: Min, Column: "value"}}}, `order by "max(value)"`},
		{AggregateOptions{Limit: 1}, "limit 1"},
		{AggregateOptions{Limit: -1, OrderBy: []Ordering{{Column: "sum"}}}, "limit -1"},
	} {
		groups, err := table.Aggregate(t.Context(), snap, test.opts)
		if wantError(t, err, ErrQuery, test.text); groups != nil || err == nil {
			t.Errorf("groups by %v: %v, %v", test.opts.OrderBy, groups, err)
		}
	}
}

// orderedTable has rows of twenty buckets, and in each bucket of all pods.
func orderedTable(t *testing.T, opts Options) (*Store, *Table) {
	t.Helper()
	opts.Manual = true
	store, table := open(t, opts, samples(100))
	for bucket := range int64(20) {
		const rows = 1000
		lists, values, tags := make([][]uuid.UUID, rows), make([]int64, rows), make([]string, rows)
		for i := range rows {
			lists[i], values[i] = []uuid.UUID{{1, byte(i)}}, (bucket*rows+int64(i))*7919%20011
			tags[i] = fmt.Sprintf("tag %06d", values[i])
		}
		b := batchOfMany(bucket*100+5, int(bucket%4), lists, values)
		b.Columns["tags.t"] = encoding.Strings(tags...)
		insert(t, table, b)
	}
	return store, table
}

// An order by time reads the buckets that can have the first rows, and no others: the latest
// first if it is descending.
func TestScan_OrderBy_ReadsFewBuckets(t *testing.T) {
	store, table := orderedTable(t, Options{})
	for _, when := range []string{"fresh", "compacted"} {
		for _, descending := range []bool{false, true} {
			calls := 0
			opts := ScanOptions{
				Columns: []string{"time"}, Limit: 10, OrderBy: []Ordering{{Column: "time", Descending: descending}, {Column: "value"}},
				Where: Func("value", func(any) bool { calls++; return true }),
			}
			n, want := 0, int64(5+1900*boolInt(descending))
			for rec, err := range table.Scan(t.Context(), snapshot(t, store), opts) {
				if err != nil {
					t.Fatal(err)
				}
				for i := range int(rec.NumRows()) {
					if v, err := cell(rec.Column(0), i); err != nil || v != want {
						t.Errorf("row %d is at %v, want %d, %v", i, v, want, err)
					}
					n++
				}
				rec.Release()
			}
			if n != 10 || calls > 1010 { // a bucket's rows, and null
				t.Errorf("%s, descending=%v: %d rows, %d values read", when, descending, n, calls)
			}
		}
		compact(t, store)
	}
}

// The memory for an order is bounded by the rows that it keeps, and by MaxBytes.
func TestScan_OrderBy_Memory(t *testing.T) {
	if effort.Race {
		t.Skip("the race detector allocates")
	}
	store, table := orderedTable(t, Options{})
	for _, when := range []string{"fresh", "compacted"} {
		snap := snapshot(t, store)
		for _, column := range []string{"value", "tags.t", "labels.pod"} {
			for _, limit := range []int{1, 100, 10_000} {
				opts := ScanOptions{Columns: []string{"value"}, Limit: limit, OrderBy: []Ordering{{Column: column}}}
				failed := 0
				for opts.MaxBytes = 16; ; opts.MaxBytes *= 2 {
					var before, after runtime.MemStats
					runtime.GC()
					runtime.ReadMemStats(&before)
					err := scanError(t, t.Context(), table, snap, opts)
					runtime.ReadMemStats(&after)
					const slack = 2 << 20 // the columns of the current part, and the record
					if got := int64(after.TotalAlloc - before.TotalAlloc); got > 4*opts.MaxBytes+slack {
						t.Errorf("%s, by %s, %d rows within %d bytes: allocates %d, %v", when, column, limit, opts.MaxBytes, got, err)
					}
					if err == nil {
						break
					}
					if failed++; !errors.Is(err, ErrQueryMemory) || opts.MaxBytes > 1<<24 {
						t.Fatal(err)
					}
				}
				if most := int64(limit) * 400; failed == 0 || opts.MaxBytes > most+512 {
					t.Errorf("%s, by %s, %d rows: pass within %d bytes after %d limits", when, column, limit, opts.MaxBytes, failed)
				}
			}
		}
		compact(t, store)
	}
}

// An ordered scan ends soon after it is cancelled, at any granule, and returns no rows then.
func TestScan_OrderBy_Cancelled(t *testing.T) {
	granules, last := 0, 0
	var cancel context.CancelFunc
	store, table := orderedTable(t, Options{Yield: func(point string) {
		if point == "read/granule" {
			if granules++; granules == last {
				cancel()
			}
		}
	}})
	snap := snapshot(t, store)
	opts := ScanOptions{Limit: 5, OrderBy: []Ordering{{Column: "value"}}}
	for at := range 22 {
		var ctx context.Context
		ctx, cancel = context.WithCancel(t.Context())
		granules, last = 0, at
		err := scanError(t, ctx, table, snap, opts)
		if cancel(); at == 0 || at > 20 {
			if err != nil || granules != 20 {
				t.Errorf("not cancelled: %d granules, %v", granules, err)
			}
		} else if !errors.Is(err, context.Canceled) || granules != at {
			t.Errorf("cancelled at granule %d: %d granules, %v", at, granules, err)
		}
	}
}

// The latest rows come from all series of a bucket, and include rows that came late for a cut bucket,
// whether rows are in memory or in files.
func TestScan_OrderBy_LatestRows(t *testing.T) {
	opts := inDir(crashfs.New(crashfs.Options{}))
	opts.GranuleRows, opts.BucketRows = 8, 150
	store, table := open(t, opts, samples(10_000))
	rng := rand.New(rand.NewPCG(1, 2))
	late := store.Begin()
	defer late.Abort()
	times := []int64{}
	for i := range 60 {
		at := int64(rng.IntN(100 + 100*i))
		b, _ := batch(rng, 5, at)
		switch i {
		case 20: // it is prepared for the bucket that is cut meanwhile
			b, _ = batch(rng, 1, 9000)
			if err := late.Insert(t.Context(), table, b); err != nil {
				t.Fatal(err)
			}
			continue
		default:
			insert(t, table, b)
		}
		times = append(times, slices.Repeat([]int64{at}, 5)...)
	}
	if _, err := late.Commit(); err != nil {
		t.Fatal(err)
	}
	times = append(times, 9000)
	slices.Sort(times)
	slices.Reverse(times)
	if n := table.state().Buckets.Len(); n < 2 {
		t.Fatalf("%d buckets", n)
	}
	for _, when := range []string{"fresh", "compacted", "cold"} {
		switch when {
		case "compacted":
			compact(t, store)
		case "cold":
			coolAll(t, store)
		}
		for _, limit := range []int{1, 7, 40, 200} {
			snap := snapshot(t, store)
			got := []int64{}
			for row := range scanRows(t, table, snap, ScanOptions{Columns: []string{"time"}, Limit: limit, OrderBy: []Ordering{{Column: "time", Descending: true}}}) {
				got = append(got, row["time"].(int64))
			}
			if !slices.Equal(got, times[:limit]) {
				t.Errorf("%s: the latest %d are %v, want %v", when, limit, got, times[:limit])
			}
		}
	}
}
