package columnstore

import (
	"bytes"
	"fmt"
	"math/rand/v2"
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
	effort.Slow(t)
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

// The latest rows are those of all series of a bucket, those included that came late for a bucket that was
// cut, whether rows are in memory or in files.
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
