package query

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/internal/querytest"
)

// The allocations of a query are bounded by MaxBytes, and so is its answer.
func TestQueries_MemoryIsCounted(t *testing.T) {
	effort.Slow(t)
	if effort.Race {
		t.Skip("the race detector allocates")
	}
	table := querytest.Open(t, querytest.Options{GenerationBuckets: 1}, querytest.Samples(100))
	const n = 10_000
	for bucket := range int64(2) {
		for pod := range 4 {
			lists, values, traces, tags := make([][]uuid.UUID, n), make([]int64, n), make([]uuid.UUID, n), make([]string, n)
			for i := range n {
				lists[i] = []uuid.UUID{{1, byte(i % 5)}, {2, byte(i), byte(i >> 8)}}
				values[i], traces[i] = int64(i), uuid.UUID{byte(bucket), byte(pod), byte(i), byte(i >> 8)}
				tags[i] = fmt.Sprint("tag ", i)
			}
			b := querytest.Many(bucket*100, pod, lists, values)
			b.Columns["trace"], b.Columns["tags.t"] = encoding.UUIDs(traces...), encoding.Strings(tags...)
			for i := range 8 {
				b.Columns[fmt.Sprint("labels.l", i)] = encoding.Strings("value")
			}
			table.Insert(b)
		}
	}
	table.Compact()
	r := table.Read()
	aggregates := []Aggregate{{Op: Sum, Column: "value"}, {Op: Mean, Column: "time"}, {Op: Max, Column: "tags.t"}}
	for i, by := range [][]string{
		{"stack"},
		{"stack", "labels.pod"},
		{"labels", "kind", "stack", "time"},
		{"trace"},
		{"tags.t"},
		{"value"},
		{"stack", "stack"},
		{"tags.t", "stack", "kind"},
		{"labels", "value"},
		{"stack"}, // with aggregates from here on
		{"stack", "labels.pod"},
		{"trace"},
		{},
	} {
		opts := AggregateOptions{By: by, Sum: "value"}
		if i >= 9 {
			opts = AggregateOptions{By: by, Aggregates: aggregates}
		}
		ask := func(most int64) (g *Groups, allocated int64, err error) {
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			opts.MaxBytes = most
			g, err = GroupRows(t.Context(), r, opts)
			runtime.ReadMemStats(&after)
			return g, int64(after.TotalAlloc - before.TotalAlloc), err
		}
		// The measurement includes slices dropped by growth, and the columns of the current
		// part.
		const slack, garbage = 8 << 20, 4
		for limit := int64(1 << 16); ; limit *= 2 {
			g, allocated, err := ask(limit)
			if allocated > garbage*limit+slack {
				t.Errorf("by %q, %v within %d bytes: allocates %d, %v", by, opts.Aggregates, limit, allocated, err)
			}
			if err == nil {
				t.Logf("by %q, %v: passes within %d bytes, allocates %d, the answer has %d", by, opts.Aggregates, limit, allocated, bytesOf(g))
				if bytesOf(g) > limit {
					t.Errorf("by %q, %v within %d bytes: the answer has %d", by, opts.Aggregates, limit, bytesOf(g))
				}
				break
			}
			if !errors.Is(err, ErrQueryMemory) || g != nil {
				t.Fatal(g, err)
			}
		}
	}
}

// bytesOf returns the size of the slices of an answer.
func bytesOf(g *Groups) int64 {
	n := 8 * (len(g.Sums) + len(g.Counts))
	for _, c := range slices.Concat(g.Columns, g.Aggregates) {
		v := &c.Values
		n += 4*len(c.Codes) + len(v.Valid) + 8*(len(v.Int64s)+len(v.Uint64s)+len(v.Float64s)) + 16*(len(v.Strings)+len(v.UUIDs))
	}
	return int64(n)
}
