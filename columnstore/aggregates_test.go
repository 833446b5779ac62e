package columnstore

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/internal/oracle"
)

// aggregateOps are the functions of Aggregate, by the name that the oracle has for them.
var aggregateOps = []AggregateOp{Sum, Mean, Min, Max, Count}

// Aggregates of any kind and type equal those of the oracle, for random rows and groups, by
// steps and cases too, before, between the steps of, during and after rewrites (C2, C3).
func TestAggregates(t *testing.T) {
	effort.Slow(t)
	asked := map[string]int{}
	eachStage(t, uint64(effort.Part(30, 3+4*boolInt(effort.Race))), 2000, 12, func(a *queryAsker, v *queryView) { a.askAggregates(v, asked) })
	for _, op := range aggregateOps {
		for _, typ := range []encoding.Type{encoding.Int64, encoding.Uint64, encoding.Float64, encoding.Bool, encoding.String, encoding.UUID} {
			kind := fmt.Sprint(op, " ", typ)
			if (op == Sum || op == Mean) != (asked[kind] == 0) {
				continue
			}
			if (op != Sum && op != Mean || typ == encoding.Int64 || typ == encoding.Uint64 || typ == encoding.Float64) && asked[kind] == 0 {
				t.Errorf("%s was never asked", kind)
			}
		}
	}
	for _, kind := range []string{"overflow", "by lists", "by steps", "as of", "without counts", "null", "limited memory"} {
		if asked[kind] == 0 {
			t.Errorf("%s: never asked", kind)
		}
	}
	t.Log(asked)
}

// randomAggregates makes aggregates of columns that have them, -1 for a count of rows.
func (a *queryAsker) randomAggregates() (aggregates []Aggregate, columns []int) {
	for range 1 + a.rng.IntN(5) {
		op, column := pick(a.rng, aggregateOps), a.rng.IntN(len(a.columns))
		isNumber := slices.Contains([]encoding.Type{encoding.Int64, encoding.Uint64, encoding.Float64}, a.columns[column].of.Type)
		switch {
		case op == Count && a.rng.IntN(2) == 0:
			aggregates, columns = append(aggregates, Aggregate{Op: Count}), append(columns, -1)
			continue
		case (op == Sum || op == Mean) && !isNumber, a.columns[column].of.Type == encoding.UUIDList && op != Count:
			continue
		}
		aggregates, columns = append(aggregates, Aggregate{Op: op, Column: a.columns[column].name}), append(columns, column)
	}
	if aggregates == nil {
		return []Aggregate{{Op: Sum, Column: "value"}}, []int{a.index("value")}
	}
	return aggregates, columns
}

func (a *queryAsker) askAggregates(v *queryView, asked map[string]int) {
	where, chosen := a.randomWhere(v)
	opts := AggregateOptions{Where: a.expr(where), By: a.randomNames(), NoCounts: a.rng.IntN(4) == 0}
	var columns []int
	opts.Aggregates, columns = a.randomAggregates()
	if a.rng.IntN(4) == 0 {
		opts.By = []string{"stack"}
	}
	if list := searched(where); list >= 0 && a.rng.IntN(2) == 0 {
		opts.By = []string{a.columns[list].name} // the condition is asked of the sums
	}
	stepped := -1
	if a.rng.IntN(3) == 0 {
		opts.Step, opts.By, stepped = pick(a.rng, []int64{7, 1000}), append(opts.By, "time"), a.index("time")
		opts.Time = "time"
	}
	if a.rng.IntN(4) == 0 {
		opts.MaxBytes = 1 << 30
	}
	by := v.expand(opts.By)
	of := valuesOf(by, stepped, opts.Step)
	if a.rng.IntN(5) == 0 {
		cases, subject, time := a.randomCases()
		opts.AsOf = cases.asOf(time)
		chosen = cases.rows(chosen, subject, a.index(time))
		of = append(of, func(row oracle.Cells) any { return row[len(a.columns)] })
	}
	a.question = fmt.Sprintf("%v by %q step %d as of %v where %s", opts.Aggregates, opts.By, opts.Step, opts.AsOf != nil, where.Text(a.columnName))
	var overflow error
	want := oracle.GroupBy(chosen, of, func(group []oracle.Cells) oracle.Cells {
		out := make(oracle.Cells, len(columns)+1)
		for i, column := range columns {
			values := make([]any, len(group))
			for k, row := range group {
				if values[k] = any(true); column >= 0 {
					values[k] = row[column]
				}
			}
			var err error
			if out[i], err = oracle.Fold(opts.Aggregates[i].Op.String(), values); err != nil {
				overflow = err
			}
			asked["null"] += boolInt(out[i] == nil)
		}
		if out[len(columns)] = any(int64(len(group))); opts.NoCounts {
			out[len(columns)] = nil
		}
		return out
	})
	a.countAggregates(opts, columns, by, overflow != nil, asked)
	groups, err := a.table.Aggregate(a.Context(), v.snap, opts)
	if overflow != nil {
		if !errors.Is(err, ErrOverflow) || groups != nil {
			a.errorf(v, "aggregate: %v, %v, want an overflow", groups, err)
		}
		return
	}
	if err != nil {
		a.errorf(v, "aggregate: %v", err)
		return
	}
	got := a.aggregateRows(v, groups, opts, by)
	align(want, got, len(of), opts.Aggregates)
	if wrong := oracle.Diff(want, got, false); wrong != "" {
		a.errorf(v, "groups: %s", wrong)
	}
}

func (a *queryAsker) countAggregates(opts AggregateOptions, columns, by []int, overflow bool, asked map[string]int) {
	for i, column := range columns {
		if column >= 0 && !overflow {
			asked[fmt.Sprint(opts.Aggregates[i].Op, " ", a.columns[column].of.Type)]++
		}
	}
	count := func(kind string, is bool) { asked[kind] += boolInt(is) }
	count("overflow", overflow)
	count("by lists", slices.ContainsFunc(by, func(c int) bool { return a.columns[c].of.Type == encoding.UUIDList }))
	count("by steps", opts.Step > 0)
	count("as of", opts.AsOf != nil)
	count("without counts", opts.NoCounts)
	count("limited memory", opts.MaxBytes > 0)
}

// aggregateRows writes groups as rows: their values, aggregates and count.
func (a *queryAsker) aggregateRows(v *queryView, g *Groups, opts AggregateOptions, by []int) []oracle.Cells {
	if g.Sums != nil || (g.Counts == nil) != opts.NoCounts || len(g.Aggregates) != len(opts.Aggregates) {
		a.errorf(v, "%d sums, %d counts, %d aggregates", len(g.Sums), len(g.Counts), len(g.Aggregates))
		return nil
	}
	n := g.Aggregates[0].Values.Len()
	flat := *g
	if opts.AsOf != nil {
		flat.Columns = g.Columns[:len(by)]
	}
	out := a.groupValues(v, &flat, by, n)
	for i := range out {
		if opts.AsOf != nil {
			out[i] = append(out[i], g.Columns[len(by)].Values.Uint64s[i])
		}
		for k := range g.Aggregates {
			c := &g.Aggregates[k]
			if c.Name != opts.Aggregates[k].String() || c.Values.Len() != n {
				a.errorf(v, "aggregate %d is %q of %d groups, want %q of %d", k, c.Name, c.Values.Len(), opts.Aggregates[k], n)
				return nil
			}
			out[i] = append(out[i], valueOf(c, i))
		}
		if g.Counts == nil {
			out[i] = append(out[i], nil)
		} else {
			out[i] = append(out[i], g.Counts[i])
		}
	}
	return out
}

// align gives sums and means of got the floats of want, where they differ only in the last bit. The
// aggregates follow the values of the groups, which name them on both sides.
func align(want, got []oracle.Cells, values int, aggregates []Aggregate) {
	of := map[string]oracle.Cells{}
	for _, row := range want {
		of[row[:values].Text()] = row
	}
	for _, row := range got {
		other := of[row[:values].Text()]
		for i, g := range aggregates {
			if g.Op != Sum && g.Op != Mean || other == nil {
				continue
			}
			x, isFloat := row[values+i].(float64)
			y, too := other[values+i].(float64)
			if isFloat && too && (x != x && y != y || math.Abs(x-y) <= math.Abs(y)*0x1p-52) {
				row[values+i] = y
			}
		}
	}
}
