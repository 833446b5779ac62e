package query

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"

	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/internal/query/filter"
	"github.com/granarydb/granary/internal/query/order"
	"github.com/granarydb/granary/internal/querytest"
)

// Invalid orders are errors that name the column or the limit.
func TestOrderBy_Errors(t *testing.T) {
	table := querytest.Open(t, querytest.Options{}, querytest.Samples(10))
	table.Insert(querytest.At(1))
	r := table.Read()
	for _, test := range []struct {
		by    []order.By
		limit int
		text  string
	}{
		{[]order.By{{Column: "nope"}}, 1, `order by "nope": no such column`},
		{[]order.By{{Column: "time"}, {Column: "labels"}}, 1, `order by "labels": no such column`},
		{[]order.By{{Column: "stack"}}, 1, `order by "stack": lists have no order`},
		{[]order.By{{Column: "time"}}, 0, "limit 0: want 1 to 65536 with OrderBy"},
		{[]order.By{{Column: "time"}}, 65537, "limit 65537: want 1 to 65536"},
		{[]order.By{{Column: "time"}}, -1, "limit -1"},
	} {
		err := scanError(t, t.Context(), r, ScanOptions{OrderBy: test.by, Limit: test.limit})
		if wantError(t, err, filter.ErrQuery, test.text); err == nil {
			t.Errorf("scan by %v, limit %d: no error", test.by, test.limit)
		}
	}
	for _, test := range []struct {
		opts AggregateOptions
		text string
	}{
		{AggregateOptions{OrderBy: []order.By{{Column: "kind"}}}, `order by "kind"`},
		{AggregateOptions{By: []string{"stack"}, OrderBy: []order.By{{Column: "stack"}}}, `order by "stack"`},
		{AggregateOptions{OrderBy: []order.By{{Column: "count"}}, NoCounts: true}, `order by "count"`},
		{AggregateOptions{OrderBy: []order.By{{Column: "sum"}}, Aggregates: []Aggregate{{Op: Count}}}, `order by "sum"`},
		{AggregateOptions{OrderBy: []order.By{{Column: "max(value)"}}, Aggregates: []Aggregate{{Op: Min, Column: "value"}}}, `order by "max(value)"`},
		{AggregateOptions{Limit: 1}, "limit 1"},
		{AggregateOptions{Limit: -1, OrderBy: []order.By{{Column: "sum"}}}, "limit -1"},
	} {
		groups, err := GroupRows(t.Context(), r, test.opts)
		if wantError(t, err, filter.ErrQuery, test.text); groups != nil || err == nil {
			t.Errorf("groups by %v: %v, %v", test.opts.OrderBy, groups, err)
		}
	}
}

// orderedTable has rows of twenty buckets, and in each bucket of all pods.
func orderedTable(t *testing.T, opts querytest.Options) *querytest.Table {
	t.Helper()
	table := querytest.Open(t, opts, querytest.Samples(100))
	for bucket := range int64(20) {
		const rows = 1000
		lists, values, tags := make([][]uuid.UUID, rows), make([]int64, rows), make([]string, rows)
		for i := range rows {
			lists[i], values[i] = []uuid.UUID{{1, byte(i)}}, (bucket*rows+int64(i))*7919%20011
			tags[i] = fmt.Sprintf("tag %06d", values[i])
		}
		b := querytest.Many(bucket*100+5, int(bucket%4), lists, values)
		b.Columns["tags.t"] = encoding.Strings(tags...)
		table.Insert(b)
	}
	return table
}

// An order by time reads the buckets that can have the first rows, and no others: the latest
// first if it is descending.
func TestScan_OrderBy_ReadsFewBuckets(t *testing.T) {
	table := orderedTable(t, querytest.Options{})
	for _, when := range []string{"fresh", "compacted"} {
		for _, descending := range []bool{false, true} {
			calls := 0
			opts := ScanOptions{
				Columns: []string{"time"}, Limit: 10, OrderBy: []order.By{{Column: "time", Descending: descending}, {Column: "value"}},
				Where: filter.Func("value", func(any) bool { calls++; return true }),
			}
			n, want := 0, int64(5+1900*boolInt(descending))
			for rec, err := range scanned(t.Context(), table.Read(), opts) {
				if err != nil {
					t.Fatal(err)
				}
				for i := range int(rec.NumRows()) {
					if v, err := querytest.Cell(rec.Column(0), i); err != nil || v != want {
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
		table.Compact()
	}
}

// The memory for an order is bounded by the rows that it keeps, and by MaxBytes.
func TestScan_OrderBy_Memory(t *testing.T) {
	effort.Long(t)
	if effort.Race {
		t.Skip("the race detector allocates")
	}
	table := orderedTable(t, querytest.Options{})
	for _, when := range []string{"fresh", "compacted"} {
		r := table.Read()
		for _, column := range []string{"value", "tags.t", "labels.pod"} {
			for _, limit := range []int{1, 100, 10_000} {
				opts := ScanOptions{Columns: []string{"value"}, Limit: limit, OrderBy: []order.By{{Column: column}}}
				failed := 0
				for opts.MaxBytes = 16; ; opts.MaxBytes *= 2 {
					var before, after runtime.MemStats
					runtime.GC()
					runtime.ReadMemStats(&before)
					err := scanError(t, t.Context(), r, opts)
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
		table.Compact()
	}
}

// An ordered scan ends soon after it is cancelled, at any granule, and returns no rows then.
func TestScan_OrderBy_Cancelled(t *testing.T) {
	granules, last := 0, 0
	var cancel context.CancelFunc
	table := orderedTable(t, querytest.Options{Yield: func(point string) {
		if point == "read/granule" {
			if granules++; granules == last {
				cancel()
			}
		}
	}})
	r := table.Read()
	opts := ScanOptions{Limit: 5, OrderBy: []order.By{{Column: "value"}}}
	for at := range 22 {
		var ctx context.Context
		ctx, cancel = context.WithCancel(t.Context())
		granules, last = 0, at
		err := scanError(t, ctx, r, opts)
		if cancel(); at == 0 || at > 20 {
			if err != nil || granules != 20 {
				t.Errorf("not cancelled: %d granules, %v", granules, err)
			}
		} else if !errors.Is(err, context.Canceled) || granules != at {
			t.Errorf("cancelled at granule %d: %d granules, %v", at, granules, err)
		}
	}
}
