package query

import (
	"context"
	"fmt"
	"math/rand/v2"
	"regexp"
	"testing"

	"github.com/google/uuid"

	"github.com/granarydb/granary/internal/query/filter"
	"github.com/granarydb/granary/internal/querytest"
)

func TestQuery_Errors(t *testing.T) {
	bucketed := querytest.Open(t, querytest.Options{}, querytest.Wide(100, querytest.WideKey))
	plain := querytest.Open(t, querytest.Options{}, querytest.Wide(0, querytest.WideKey))
	pattern := regexp.MustCompile("x")
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
		{"unknown", filter.Equal("nope", "x"), `no column "nope"`},
		{"family", filter.Equal("labels", "x"), `no column "labels"`},
		{"null of a family", filter.IsNull("labels"), `no column "labels"`},
		{"string with int", filter.Equal("kind", 1), `"kind" is string and cannot be compared with 1`},
		{"label with int", filter.Less("labels.a", 1), `"labels.a" is string`},
		{"plain string with uuid", filter.Equal("note", uuid.UUID{}), `"note" is string`},
		{"uuid with string", filter.Equal("trace", "x"), `"trace" is uuid`},
		{"int with string", filter.AtLeast("value", "x"), `"value" is int64 and cannot be compared with x`},
		{"int with uint", filter.Equal("value", uint64(1)), `"value" is int64`},
		{"uint with int", filter.Equal("size", 1), `"size" is uint64`},
		{"float with int", filter.Equal("ratio", 1), `"ratio" is float64`},
		{"int with float", filter.Equal("value", 1.0), `"value" is int64`},
		{"bool with int", filter.Equal("flag", 1), `"flag" is bool`},
		{"int with bool", filter.Equal("value", true), `"value" is int64`},
		{"dynamic int with string", filter.Equal("nums.x", "1"), `"nums.x" is int64`},
		{"list", filter.Equal("stack", uuid.UUID{}), `"stack" is uuid list`},
		{"match of a list", filter.Match("stack", pattern), `"stack" is uuid list and cannot be matched with a pattern`},
		{"match of int", filter.Match("value", pattern), `"value" is int64 and cannot be matched with a pattern`},
		{"match of uuid", filter.Match("trace", pattern), `"trace" is uuid and cannot be matched with a pattern`},
		{"match of no pattern", filter.Match("kind", nil), `"kind" is string and cannot be matched with a nil pattern`},
		{"no function", filter.Func("kind", nil), `"kind" is string and cannot be tested with a nil function`},
		{"function of a list", filter.Func("stack", func(any) bool { return true }), `"stack" is uuid list and has no single values`},
		{"no function of elements", filter.HasElement("stack", nil), `"stack" is uuid list and cannot be tested with a nil function`},
		{"elements of a string", filter.HasElement("kind", func(uuid.UUID, []byte) bool { return true }), `"kind" is string and has no elements`},
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
