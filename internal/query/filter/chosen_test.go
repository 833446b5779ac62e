package filter_test

import (
	"context"
	"errors"
	"testing"

	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/internal/oracle"
	"github.com/granarydb/granary/internal/query/filter"
	"github.com/granarydb/granary/internal/querytest"
)

// TestChosen compares the rows that random conditions choose with those of the oracle.
func TestChosen(t *testing.T) {
	effort.Slow(t)
	for seed := range effort.Less(uint64(40), 5) {
		table := querytest.New(t, seed)
		table.Fill(int(seed % 20))
		r := table.Read()
		for range 60 {
			cond := table.Condition(3)
			var want, got []oracle.Cells
			for _, row := range table.Chosen(cond) {
				want = append(want, oracle.Cells{row["value"]})
			}
			for _, ordered := range []bool{false, true} {
				got = got[:0]
				for s, err := range r.Chosen(t.Context(), querytest.Expr(cond), ordered, ordered) {
					if err != nil {
						t.Fatal(err)
					}
					checkSpans(t, &s)
					got = append(got, valuesOf(&table.Env, &s)...)
				}
				if diff := oracle.Diff(want, got, false); diff != "" {
					t.Fatalf("seed %d: %s: %s", seed, cond.Text(func(name string) string { return name }), diff)
				}
			}
		}
	}
}

// valuesOf returns the values of chosen rows, which tell most rows apart.
func valuesOf(env *filter.Env, s *filter.Selection) (rows []oracle.Cells) {
	if s.Rows == 0 {
		return nil
	}
	column, _ := env.Schema.Resolve("value")
	for _, word := range s.Words(nil, s.Part.Find(column, "value").Words()) {
		rows = append(rows, oracle.Cells{int64(word)})
	}
	return rows
}

// TestChosen_Errors names a column that is not there, compares values of other types, and ends a read whose context has.
func TestChosen_Errors(t *testing.T) {
	table := querytest.New(t, 1)
	table.Fill(5)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		where filter.Expr
		ctx   context.Context
		want  error
	}{
		"no column": {filter.Equal("nobody", "x"), t.Context(), filter.ErrQuery},
		"a type":    {filter.Equal("value", "x"), t.Context(), filter.ErrQuery},
		"a pattern": {filter.Not(filter.HasElement("value", nil)), t.Context(), filter.ErrQuery},
		"cancelled": {filter.Expr{}, over, context.Canceled},
	} {
		var last error
		for _, err := range table.Read().Chosen(c.ctx, c.where, false, false) {
			last = err
		}
		if !errors.Is(last, c.want) {
			t.Errorf("%s: %v, want %v", name, last, c.want)
		}
	}
}
