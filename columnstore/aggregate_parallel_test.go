package columnstore

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
	"github.com/granarydb/granary/schema"
)

// manyStacks fills a table with more rows than one goroutine sums alone, by codes, in several
// generations that share some of their stacks.
func manyStacks(t testing.TB, table *Table, generations int) {
	t.Helper()
	const profiles, rows, stacks = 200, 1500, 4000
	for g := range generations {
		start := int64(g) * 100
		codes, err := table.Codes(start)
		if err != nil {
			t.Fatal(err)
		}
		lists := make([][]uuid.UUID, stacks)
		for i := range lists {
			n := g*stacks/2 + i // half of them are also in the generation before
			lists[i] = []uuid.UUID{{1, byte(n), byte(n >> 8)}, {2, byte(n % 7)}}
		}
		known, err := codes.UUIDLists(nil, lists)
		if err != nil {
			t.Fatal(err)
		}
		for p := range profiles {
			series, err := codes.Series(map[string]string{"kind": "cpu", "labels.pod": fmt.Sprint("pod-", p%40)})
			if err != nil {
				t.Fatal(err)
			}
			b := schema.Batch{Rows: rows, Series: series, Columns: map[string]encoding.Vector{"time": encoding.Int64s(start + int64(p%90))}}
			of, values := make([]uint32, rows), make([]int64, rows)
			for i := range of {
				of[i], values[i] = known[(p*31+i*7)%stacks], int64(p-i)
			}
			b.Columns["stack"], b.Columns["value"] = encoding.ListCodes(of...), encoding.Int64s(values...)
			if _, err := codes.Insert(t.Context(), b); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// stackSamples is a table of samples with the columns that sums need.
func stackSamples() schema.Definition {
	return schema.Definition{
		Columns: []schema.Column{
			{Name: "kind", Type: encoding.String, Encoding: encoding.DictionaryRLE},
			{Name: "labels", Type: encoding.String, Encoding: encoding.DictionaryRLE, Dynamic: true},
			{Name: "stack", Type: encoding.UUIDList, Encoding: encoding.DictionaryRLE},
			{Name: "time", Type: encoding.Int64, Encoding: encoding.Delta},
			{Name: "value", Type: encoding.Int64, Encoding: encoding.Plain},
		},
		SortingKey: []string{"kind", "labels", "stack", "time"},
		Header:     []string{"time"},
		Bucket:     schema.Bucket{Column: "time", Width: 100},
	}
}

// sumsOf returns an answer as text by group.
func sumsOf(t testing.TB, g *Groups) map[string]string {
	t.Helper()
	out := map[string]string{}
	for i, count := range g.Counts {
		key := ""
		for k := range g.Columns {
			if c := &g.Columns[k]; c.Codes != nil {
				key += fmt.Sprint(c.Lists.UUIDs(nil, c.Codes[i]), " ")
			} else {
				key += valueText(&c.Values, i) + " "
			}
		}
		if _, twice := out[key]; twice {
			t.Fatalf("group %s comes twice", key)
		}
		if out[key] = fmt.Sprint(count); g.Sums != nil {
			out[key] += fmt.Sprint(" ", g.Sums[i])
		}
		for k := range g.Aggregates {
			out[key] += " " + fmt.Sprint(valueOf(&g.Aggregates[k], i))
		}
	}
	return out
}

func valueText(v *encoding.Vector, i int) string {
	if v.Type == encoding.String {
		return v.Strings[i]
	}
	return fmt.Sprint(v.Int64s[i])
}

// TestAggregate_Parallel compares the answers of several goroutines and of one.
func TestAggregate_Parallel(t *testing.T) {
	effort.Long(t)
	if testing.Short() {
		t.Skip("a million rows")
	}
	collectRarely(t)
	store, table := open(t, Options{Manual: true, FutureLimit: -1, GenerationBuckets: 1}, stackSamples())
	manyStacks(t, table, 1+effort.Part(2, 2))
	if err := store.Maintain(t.Context()); err != nil {
		t.Fatal(err)
	}
	snap := snapshot(t, store)
	values := []Aggregate{{Op: Sum, Column: "value"}, {Op: Mean, Column: "value"}, {Op: Max, Column: "labels.pod"}, {Op: Count}, {Op: Min, Column: "time"}}
	for _, opts := range []AggregateOptions{
		{Sum: "value", By: []string{"stack"}},
		{Sum: "value", By: []string{"stack"}, Where: Less("time", int64(100))},
		{Sum: "value", By: []string{"labels.pod", "stack"}},
		{Sum: "value", By: []string{"time"}, Step: 7},
		{By: []string{"kind"}},
		{Sum: "value", By: []string{"time", "labels"}, Where: Not(Equal("labels.pod", "pod-3"))},
		{Aggregates: values},
		{Aggregates: values, By: []string{"stack"}},
		{Aggregates: values, By: []string{"kind", "stack", "stack"}},
		{Aggregates: values, By: []string{"time"}, Step: 7, Where: Less("value", int64(20))},
	} {
		t.Run(fmt.Sprint(opts.By, opts.Step, opts.Aggregates), func(t *testing.T) {
			ask := func(processors int) map[string]string {
				defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
				groups, err := table.Aggregate(t.Context(), snap, opts)
				if err != nil {
					t.Fatal(err)
				}
				return sumsOf(t, groups)
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
			if _, err := table.Aggregate(t.Context(), snap, opts); len(got) > 100 && !errors.Is(err, ErrQueryMemory) {
				t.Errorf("%d groups in a kilobyte: %v", len(got), err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if _, err := table.Aggregate(ctx, snap, opts); !errors.Is(err, context.Canceled) {
				t.Errorf("cancelled: %v", err)
			}
		})
	}
}
