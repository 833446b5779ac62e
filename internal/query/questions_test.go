package query

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v14/arrow"
	"github.com/apache/arrow/go/v14/arrow/array"

	"github.com/granarydb/granary/arrowconv"
	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/internal/oracle"
	"github.com/granarydb/granary/internal/query/filter"
	"github.com/granarydb/granary/internal/query/order"
	"github.com/granarydb/granary/internal/querytest"
)

// askAll asks random questions of random tables.
func askAll(t *testing.T, seeds uint64, ask func(rng *rand.Rand, table *querytest.Random, r *filter.Read, cond *oracle.Cond[string]) string) {
	t.Helper()
	seeds = effort.Less(seeds, 5)
	if effort.Race { // one goroutine asks
		seeds = 1 + seeds/8
	}
	for seed := range seeds {
		table, rng := querytest.New(t, seed), rand.New(rand.NewPCG(seed, 11))
		table.Fill(int(seed % 24))
		r := table.Read()
		for range 25 {
			cond := table.Condition(2)
			if rng.IntN(4) == 0 {
				cond = &oracle.Cond[string]{Op: "all"}
			}
			if diff := ask(rng, table, r, cond); diff != "" {
				t.Fatalf("seed %d: %s: %s", seed, cond.Text(func(name string) string { return name }), diff)
			}
		}
	}
}

// some returns some of the columns that a table has, in any order.
func some(rng *rand.Rand, table *querytest.Random) (names []string) {
	known := map[string]bool{}
	for _, row := range table.Rows {
		for name := range row {
			known[name] = true
		}
	}
	for _, i := range rng.Perm(len(querytest.Columns))[:rng.IntN(4)] {
		if name := querytest.Columns[i]; known[name] || !strings.HasPrefix(name, "labels.") {
			names = append(names, name)
		}
	}
	return names
}

// valuesBy returns functions that read columns of a row, with the time rounded to a step.
func valuesBy(names []string, step int64) (by []func(oracle.Row) any) {
	for _, name := range names {
		by = append(by, func(row oracle.Row) any {
			if at, isTime := row[name].(int64); isTime && name == "time" && step > 0 {
				return oracle.Floor(at, step)
			}
			return row[name]
		})
	}
	return by
}

// cellOf returns a group's value in a column.
func cellOf(c *GroupColumn, row int) any {
	if c.Values.Type == encoding.UUIDList {
		if c.Codes[row] == 0 {
			return nil
		}
		return c.Lists.UUIDs(nil, c.Codes[row])
	}
	v := &c.Values
	if v.Null(row) {
		return nil
	}
	switch v.Type {
	case encoding.String:
		return v.Strings[row]
	case encoding.Int64:
		return v.Int64s[row]
	case encoding.Uint64:
		return v.Uint64s[row]
	case encoding.Float64:
		return v.Float64s[row]
	case encoding.Bool:
		return v.Bools[row]
	}
	return v.UUIDs[row]
}

// cellsOf returns the groups as the oracle has them. Groups that differ in their generation alone are one there, so sums
// of equal cells must not come twice.
func cellsOf(g *Groups) (out []oracle.Cells) {
	rows := max(len(g.Sums), len(g.Counts))
	for row := range rows {
		var cells oracle.Cells
		for i := range g.Columns {
			cells = append(cells, cellOf(&g.Columns[i], row))
		}
		for i := range g.Aggregates {
			cells = append(cells, rough(cellOf(&g.Aggregates[i], row)))
		}
		if g.Sums != nil {
			cells = append(cells, g.Sums[row])
		}
		out = append(out, append(cells, g.Counts[row]))
	}
	return out
}

// rough returns a float without its last bits, as a mean may differ in the last one from that of the exact sum.
func rough(v any) any {
	if f, isFloat := v.(float64); isFloat {
		return float64(float32(f))
	}
	return v
}

// stepFor returns a step for a question by time.
func stepFor(rng *rand.Rand, by []string) int64 {
	if !slices.Contains(by, "time") {
		return 0
	}
	return []int64{0, 7, 50, 1000}[rng.IntN(4)]
}

// TestGroupRows_Sums compares sums by random columns with the oracle.
func TestGroupRows_Sums(t *testing.T) {
	askAll(t, 50, func(rng *rand.Rand, table *querytest.Random, r *filter.Read, cond *oracle.Cond[string]) string {
		by := some(rng, table)
		opts := AggregateOptions{Sum: "value", By: by, Step: stepFor(rng, by), Where: querytest.Expr(cond)}
		got, err := GroupRows(t.Context(), r, opts)
		if err != nil {
			return err.Error()
		}
		want := oracle.Groups(table.Chosen(cond), valuesBy(by, opts.Step), func(row oracle.Row) int64 { return row["value"].(int64) })
		return oracle.Diff(want, cellsOf(got), false)
	})
}

// TestGroupRows_Aggregates compares all functions of all columns with the oracle.
func TestGroupRows_Aggregates(t *testing.T) {
	effort.Slow(t)
	numbers := []string{"value", "span", "ratio"}
	askAll(t, 50, func(rng *rand.Rand, table *querytest.Random, r *filter.Read, cond *oracle.Cond[string]) string {
		by := some(rng, table)
		opts := AggregateOptions{By: by, Step: stepFor(rng, by), Where: querytest.Expr(cond)}
		for range 1 + rng.IntN(4) {
			a := Aggregate{Op: AggregateOp(1 + rng.IntN(int(Count))), Column: numbers[rng.IntN(len(numbers))]}
			if a.Op >= Min {
				a.Column = []string{"value", "span", "ratio", "kind", "trace", "ok", "note", "time"}[rng.IntN(8)]
			}
			opts.Aggregates = append(opts.Aggregates, a)
		}
		got, err := GroupRows(t.Context(), r, opts)
		if err != nil {
			return err.Error()
		}
		want := oracle.GroupBy(table.Chosen(cond), valuesBy(by, opts.Step), func(group []oracle.Row) (cells oracle.Cells) {
			for _, a := range opts.Aggregates {
				var values []any
				for _, row := range group {
					values = append(values, row[a.Column])
				}
				v, err := oracle.Fold(a.Op.String(), values)
				if err != nil {
					t.Fatal(err)
				}
				cells = append(cells, rough(v))
			}
			return append(cells, int64(len(group)))
		})
		return oracle.Diff(want, cellsOf(got), false)
	})
}

// TestGroupRows_First compares the first groups of an order with all of them in order.
func TestGroupRows_First(t *testing.T) {
	askAll(t, 40, func(rng *rand.Rand, table *querytest.Random, r *filter.Read, cond *oracle.Cond[string]) string {
		opts := AggregateOptions{
			Sum: "value", By: []string{"kind", "trace", "ok"}, Where: querytest.Expr(cond),
			OrderBy: []order.By{{Column: []string{"sum", "count", "trace"}[rng.IntN(3)], Descending: rng.IntN(2) == 0}}, Limit: rng.IntN(12),
		}
		got, err := GroupRows(t.Context(), r, opts)
		if err != nil {
			return err.Error()
		}
		limit := opts.Limit
		opts.Limit = 0
		all, err := GroupRows(t.Context(), r, opts)
		if err != nil {
			return err.Error()
		}
		cells, first := cellsOf(all), cellsOf(got)
		if limit > 0 {
			cells = cells[:min(limit, len(cells))]
		}
		if len(cells) != len(first) {
			return fmt.Sprintf("%d groups, want %d", len(first), len(cells))
		}
		for i := range cells {
			if cells[i].Text() != first[i].Text() {
				return fmt.Sprintf("group %d is %s, want %s", i, first[i].Text(), cells[i].Text())
			}
		}
		want := oracle.Groups(table.Chosen(cond), valuesBy(opts.By, 0), func(row oracle.Row) int64 { return row["value"].(int64) })
		place := map[string]int{"trace": 1, "sum": 3, "count": 4}[opts.OrderBy[0].Column]
		for i, in := 1, cellsOf(all); i < len(in); i++ {
			a, b := in[i-1][place], in[i][place]
			if opts.OrderBy[0].Descending {
				a, b = b, a
			}
			if a != nil && (b == nil || oracle.Compare(a, b) > 0) {
				return fmt.Sprintf("group %d, %v, comes before %v", i-1, in[i-1], in[i])
			}
		}
		return oracle.Diff(want, cellsOf(all), false)
	})
}

// TestScan_Rows compares the records of scans, in any order, by the key and by a column, with the oracle.
func TestScan_Rows(t *testing.T) {
	askAll(t, 40, func(rng *rand.Rand, table *querytest.Random, r *filter.Read, cond *oracle.Cond[string]) string {
		opts := ScanOptions{Columns: []string{"time", "value"}, Where: querytest.Expr(cond), Form: []arrowconv.Form{arrowconv.FormPlain, arrowconv.FormDictionary}[rng.IntN(2)]}
		switch rng.IntN(3) {
		case 0:
			opts.Ordered = true
		case 1:
			opts.OrderBy, opts.Limit = []order.By{{Column: "value", Descending: rng.IntN(2) == 0}}, 1+rng.IntN(3000)
		}
		var got []oracle.Cells
		err := Scan(t.Context(), r, opts, func(rec arrow.Record) bool {
			defer rec.Release()
			times, values := rec.Column(0).(*array.Int64), rec.Column(1).(*array.Int64)
			for i := range int(rec.NumRows()) {
				got = append(got, oracle.Cells{times.Value(i), values.Value(i)})
			}
			return true
		})
		if err != nil {
			return err.Error()
		}
		var want []oracle.Cells
		for _, row := range table.Chosen(cond) {
			want = append(want, oracle.Cells{row["time"], row["value"]})
		}
		if len(opts.OrderBy) == 0 {
			return oracle.Diff(want, got, false)
		}
		slices.SortFunc(want, func(a, b oracle.Cells) int {
			if opts.OrderBy[0].Descending {
				a, b = b, a
			}
			return oracle.Compare(a[1], b[1])
		})
		want = want[:min(len(want), opts.Limit)]
		for i := range want {
			if i >= len(got) || got[i][1] != want[i][1] {
				return fmt.Sprintf("row %d of %d is not %v", i, len(got), want[i])
			}
		}
		return oracle.Diff(nil, got[len(want):], false)
	})
}

// TestSeries compares series, their values, columns and combinations for conditions on series with the oracle.
func TestSeries(t *testing.T) {
	columns := []string{"kind", "labels.pod", "labels.zone"}
	askAll(t, 40, func(rng *rand.Rand, table *querytest.Random, r *filter.Read, _ *oracle.Cond[string]) string {
		cond := table.Leaf(columns[rng.IntN(3)])
		if rng.IntN(2) == 0 {
			cond = &oracle.Cond[string]{Op: "not", Args: []*oracle.Cond[string]{cond}}
		}
		where, text := querytest.Expr(cond), func(v any) string { s, _ := v.(string); return s }
		tuples, values, names := map[string]bool{}, map[string]bool{}, map[string]bool{}
		for _, row := range table.Chosen(cond) {
			tuples[fmt.Sprintf("%q", []string{text(row["kind"]), text(row["labels.pod"]), text(row["labels.zone"])})] = true
			for _, name := range columns {
				if row[name] != nil && (name != "kind" || row[name] != "") {
					names[name] = true
				}
			}
			if pod := text(row["labels.pod"]); pod != "" {
				values[pod] = true
			}
		}
		got, err := SeriesTuples(t.Context(), r, columns, where)
		pods, podErr := SeriesValues(t.Context(), r, "labels.pod", where)
		all, listErr := ListSeries(t.Context(), r, where)
		with, withErr := SeriesColumns(t.Context(), r, where)
		known, knownErr := KnownTuples(r, columns)
		if err := errors.Join(err, podErr, listErr, withErr, knownErr); err != nil {
			return err.Error()
		}
		for _, tuple := range got {
			if !tuples[fmt.Sprintf("%q", tuple)] {
				return fmt.Sprintf("%q is of no row", tuple)
			}
			if !slices.ContainsFunc(known, func(k []string) bool { return slices.Equal(k, tuple) }) {
				return fmt.Sprintf("%q is not known", tuple)
			}
		}
		for _, name := range with {
			if name != "kind" && !names[name] {
				return name + " is of no row"
			}
		}
		for _, s := range all {
			if key := fmt.Sprintf("%q", []string{s.Value("kind"), s.Value("labels.pod"), s.Value("labels.zone")}); !tuples[key] {
				return key + " is a series of no row"
			}
		}
		if len(got) != len(tuples) || len(all) != len(tuples) || len(pods) != len(values) {
			return fmt.Sprintf("%d tuples, %d series, %d values: want %d, %d and %d", len(got), len(all), len(pods), len(tuples), len(tuples), len(values))
		}
		return ""
	})
}

// TestQuestions_Errors asks for what is not there, and beyond bounds.
func TestQuestions_Errors(t *testing.T) {
	table := querytest.New(t, 3)
	table.Fill(12)
	r := table.Read()
	for name, opts := range map[string]AggregateOptions{
		"sum of no column":        {Sum: "nobody"},
		"sum of text":             {Sum: "kind"},
		"by no column":            {By: []string{"nobody"}},
		"step without time":       {Step: 5},
		"negative step":           {By: []string{"time"}, Step: -1},
		"time of text":            {By: []string{"time"}, Step: 5, Time: "kind"},
		"sum beside aggregates":   {Sum: "value", Aggregates: []Aggregate{{Op: Count}}},
		"mean of text":            {Aggregates: []Aggregate{{Op: Mean, Column: "kind"}}},
		"no operation":            {Aggregates: []Aggregate{{Op: 99, Column: "value"}}},
		"limit without order":     {Limit: 3},
		"order by no column":      {Sum: "value", OrderBy: []order.By{{Column: "nobody"}}},
		"order by lists":          {Sum: "value", By: []string{"stack"}, OrderBy: []order.By{{Column: "stack"}}},
		"condition on no column":  {Where: filter.Equal("nobody", 1)},
		"aggregate of no column":  {Aggregates: []Aggregate{{Op: Max, Column: "nobody"}}},
		"extreme without column":  {Aggregates: []Aggregate{{Op: Min}}},
		"negative limit of order": {Sum: "value", By: []string{"kind"}, OrderBy: []order.By{{Column: "kind"}}, Limit: -1},
	} {
		if _, err := GroupRows(t.Context(), r, opts); !errors.Is(err, filter.ErrQuery) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := GroupRows(t.Context(), r, AggregateOptions{Sum: "value", By: []string{"value", "stack"}, MaxBytes: 100}); !errors.Is(err, ErrQueryMemory) {
		t.Errorf("in 100 bytes: %v", err)
	}
	if _, err := SeriesValues(t.Context(), r, "value", filter.Expr{}); !errors.Is(err, filter.ErrQuery) {
		t.Errorf("values of a column of no series: %v", err)
	}
	for name, opts := range map[string]ScanOptions{
		"no column": {Columns: []string{"nobody"}}, "negative limit": {Limit: -1}, "order without limit": {OrderBy: []order.By{{Column: "value"}}},
	} {
		if err := Scan(t.Context(), r, opts, func(arrow.Record) bool { return true }); !errors.Is(err, filter.ErrQuery) {
			t.Errorf("scan, %s: %v", name, err)
		}
	}
}
