package query

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/internal/oracle"
	"github.com/granarydb/granary/internal/query/filter"
	"github.com/granarydb/granary/internal/querytest"
	"github.com/granarydb/granary/schema"
)

// manyStacks fills a table with more rows than one goroutine sums alone, in several generations that share some of their
// stacks.
func manyStacks(table *querytest.Table, generations int) {
	const profiles, rows, stacks = 200, 1500, 4000
	for g := range generations {
		lists := make([][]uuid.UUID, stacks)
		for i := range lists {
			n := g*stacks/2 + i // half of them are also in the generation before
			lists[i] = []uuid.UUID{{1, byte(n), byte(n >> 8)}, {2, byte(n % 7)}}
		}
		for p := range profiles {
			of, values := make([][]uuid.UUID, rows), make([]int64, rows)
			for i := range of {
				of[i], values[i] = lists[(p*31+i*7)%stacks], int64(p-i)
			}
			table.Insert(schema.Batch{Rows: rows, Columns: map[string]encoding.Vector{
				"kind": encoding.Strings("cpu"), "labels.pod": encoding.Strings(fmt.Sprint("pod-", p%40)), "stack": encoding.UUIDLists(of...),
				"time": encoding.Int64s(int64(100*g + p%90)), "value": encoding.Int64s(values...),
			}})
		}
	}
}

// sumTexts returns an answer as text by group.
func sumTexts(t *testing.T, g *Groups) map[string]string {
	t.Helper()
	out := map[string]string{}
	for i, count := range g.Counts {
		key := ""
		for k := range g.Columns {
			key += oracle.Text(cellOf(&g.Columns[k], i)) + " "
		}
		if _, twice := out[key]; twice {
			t.Fatalf("group %s comes twice", key)
		}
		if out[key] = fmt.Sprint(count); g.Sums != nil {
			out[key] += fmt.Sprint(" ", g.Sums[i])
		}
		for k := range g.Aggregates {
			out[key] += " " + oracle.Text(cellOf(&g.Aggregates[k], i))
		}
	}
	return out
}

// TestAggregate_Parallel compares the answers of several goroutines and of one.
func TestAggregate_Parallel(t *testing.T) {
	effort.Slow(t)
	if testing.Short() {
		t.Skip("a million rows")
	}
	table := querytest.Open(t, querytest.Options{GenerationBuckets: 1, GranuleRows: 1 << 16}, querytest.Stacks())
	manyStacks(table, 1+effort.Part(2, 2))
	table.GranuleRows = 1 << 16
	table.Compact()
	r := table.Read()
	values := []Aggregate{{Op: Sum, Column: "value"}, {Op: Mean, Column: "value"}, {Op: Max, Column: "labels.pod"}, {Op: Count}, {Op: Min, Column: "time"}}
	for _, opts := range []AggregateOptions{
		{Sum: "value", By: []string{"stack"}},
		{Sum: "value", By: []string{"stack"}, Where: filter.Less("time", int64(100))},
		{Sum: "value", By: []string{"labels.pod", "stack"}},
		{Sum: "value", By: []string{"time"}, Step: 7},
		{By: []string{"kind"}},
		{Sum: "value", By: []string{"time", "labels"}, Where: filter.Not(filter.Equal("labels.pod", "pod-3"))},
		{Aggregates: values},
		{Aggregates: values, By: []string{"stack"}},
		{Aggregates: values, By: []string{"kind", "stack", "stack"}},
		{Aggregates: values, By: []string{"time"}, Step: 7, Where: filter.Less("value", int64(20))},
	} {
		t.Run(fmt.Sprint(opts.By, opts.Step, opts.Aggregates), func(t *testing.T) {
			ask := func(processors int) map[string]string {
				defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
				groups, err := GroupRows(t.Context(), r, opts)
				if err != nil {
					t.Fatal(err)
				}
				return sumTexts(t, groups)
			}
			got := ask(4)
			if effort.Race { // the answer of one goroutine is compared without the race detector
				if len(got) == 0 {
					t.Error("there are no groups")
				}
			} else if want := ask(1); len(want) == 0 || !maps.Equal(want, got) {
				t.Errorf("one goroutine and several (-one +several):\n%s", cmp.Diff(want, got))
			}
			opts.MaxBytes = 1 << 10
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
			if _, err := GroupRows(t.Context(), r, opts); len(got) > 100 && !errors.Is(err, ErrQueryMemory) {
				t.Errorf("%d groups in a kilobyte: %v", len(got), err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if _, err := GroupRows(ctx, r, opts); !errors.Is(err, context.Canceled) {
				t.Errorf("cancelled: %v", err)
			}
		})
	}
}
