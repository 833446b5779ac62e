package query

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/granarydb/granary/internal/query/filter"
	"github.com/granarydb/granary/internal/querytest"
)

func TestQuery_Errors(t *testing.T) {
	bucketed := querytest.Open(t, querytest.Options{}, querytest.Wide(100, querytest.WideKey))
	plain := querytest.Open(t, querytest.Options{}, querytest.Wide(0, querytest.WideKey))
	type ask struct {
		name  string
		table *querytest.Table
		scan  *ScanOptions
		sum   *AggregateOptions
		text  string
	}
	asks := []ask{
		{"scan: unknown column", plain, &ScanOptions{Columns: []string{"value", "nope"}}, nil, `no column "nope"`},
		{"scan: family with an empty name", plain, &ScanOptions{Columns: []string{"labels."}}, nil, `no column "labels."`},
		{"scan: fixed column is no family", plain, &ScanOptions{Columns: []string{"value.x"}}, nil, `no column "value.x"`},
		{"sum: unknown", plain, nil, &AggregateOptions{Sum: "nope"}, `cannot sum column "nope"`},
		{"sum: string", plain, nil, &AggregateOptions{Sum: "note"}, `want an int64 column`},
		{"sum: float", plain, nil, &AggregateOptions{Sum: "ratio"}, `want an int64 column`},
		{"sum: family", plain, nil, &AggregateOptions{Sum: "nums"}, `cannot sum column "nums"`},
		{"by: unknown", plain, nil, &AggregateOptions{By: []string{"nope"}}, `no column "nope"`},
		{"step: negative", bucketed, nil, &AggregateOptions{Step: -1}, "step -1"},
		{"step: time is not grouped by", bucketed, nil, &AggregateOptions{By: []string{"kind"}, Step: 10}, `step 10: want column "time", which it rounds, in By`},
		{"step: other time is not grouped by", bucketed, nil, &AggregateOptions{By: []string{"time"}, Time: "value", Step: 10}, `want column "value"`},
		{"step: no bucket", plain, nil, &AggregateOptions{Step: 10}, "step 10"},
	}
	for _, where := range []struct {
		name  string
		where filter.Expr
		text  string
	}{
		{"int with string", filter.AtLeast("value", "x"), `"value" is int64 and cannot be compared with x`},
		{"deep inside", filter.And(filter.Equal("kind", "x"), filter.Or(filter.Not(filter.Equal("nope", 1)))), `no column "nope"`},
	} {
		asks = append(asks,
			ask{"scan where: " + where.name, bucketed, &ScanOptions{Where: where.where}, nil, where.text},
			ask{"aggregate where: " + where.name, plain, nil, &AggregateOptions{Where: where.where}, where.text})
	}
	for _, rows := range []int{0, 1} {
		if rows > 0 {
			plain.Insert(querytest.BatchOf(rand.New(rand.NewPCG(1, 1)), querytest.RandomRows(rand.New(rand.NewPCG(1, 1)), 5)))
			bucketed.Insert(querytest.BatchOf(rand.New(rand.NewPCG(1, 1)), querytest.RandomRows(rand.New(rand.NewPCG(1, 1)), 5)))
		}
		for _, ask := range asks {
			t.Run(fmt.Sprintf("rows=%d/%s", rows, ask.name), func(t *testing.T) {
				if ask.scan == nil {
					groups, err := GroupRows(context.Background(), ask.table.Read(), *ask.sum)
					wantError(t, err, filter.ErrQuery, ask.text)
					if groups != nil {
						t.Error("groups with an error")
					}
					return
				}
				wantError(t, scanError(t, context.Background(), ask.table.Read(), *ask.scan), filter.ErrQuery, ask.text)
			})
		}
	}
}
