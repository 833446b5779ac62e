package query

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow/go/v14/arrow"
	"github.com/apache/arrow/go/v14/arrow/memory"
	"github.com/google/go-cmp/cmp"

	"github.com/granarydb/granary/internal/query/filter"
	"github.com/granarydb/granary/internal/querytest"
)

// TestScan_ReleasesEverything counts the allocations of scans: all are freed when the receiver
// has released its records, however the scan ended.
func TestScan_ReleasesEverything(t *testing.T) {
	table, rows := filled(t, querytest.Options{GranuleRows: 100}, 1000)
	r := table.Read()
	pattern := filter.Less("value", 20)
	for i := range 2 * 3 * 2 {
		ordered, form, own := i%2 == 1, recordForms[i/2%3], i/6 == 1
		for _, test := range []struct {
			name string
			opts ScanOptions
			stop int // records after which the receiver stops; 0: never
			kill int // records after which the context is cancelled; 0: never
		}{
			{name: "all"},
			{name: "some columns", opts: ScanOptions{Columns: []string{"stack", "labels", "value"}}},
			{name: "where", opts: ScanOptions{Where: pattern}},
			{name: "nothing chosen", opts: ScanOptions{Where: filter.Or()}},
			{name: "limit", opts: ScanOptions{Limit: 17}},
			{name: "receiver stops", stop: 1},
			{name: "receiver stops at the second record", stop: 2},
			{name: "cancelled", kill: 1},
			{name: "unknown column", opts: ScanOptions{Columns: []string{"nope"}}},
			{name: "bad condition", opts: ScanOptions{Where: filter.Equal("value", "x")}},
			{name: "names", opts: ScanOptions{Elements: querytest.ElementNames}},
		} {
			t.Run(fmt.Sprintf("ordered=%v/%v/own=%v/%s", ordered, form, own, test.name), func(t *testing.T) {
				mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
				defer mem.AssertSize(t, 0)
				test.opts.Memory, test.opts.Ordered, test.opts.Form, test.opts.OwnDictionaries = mem, ordered, form, own
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				records, got := 0, 0
				for rec, err := range scanned(ctx, r, test.opts) {
					if err != nil {
						if test.kill > 0 && !errors.Is(err, context.Canceled) || test.kill == 0 && !errors.Is(err, filter.ErrQuery) {
							t.Errorf("unexpected error %v", err)
						}
						continue
					}
					records++
					got += int(rec.NumRows())
					if records%2 == 0 { // now, or when the scan has ended
						defer rec.Release()
					} else {
						rec.Release()
					}
					if records == test.kill {
						cancel()
					}
					if records == test.stop {
						break
					}
				}
				if test.stop > 0 && records != test.stop {
					t.Errorf("%d records, want %d", records, test.stop)
				}
				if test.kill > 0 && (records != test.kill || got >= len(rows)) {
					t.Errorf("cancelled after %d records, %d rows of %d came in %d records", test.kill, got, len(rows), records)
				}
			})
		}
	}
}

// TestScan_RecordsHaveOneSchema checks that all records of a scan have one schema.
func TestScan_RecordsHaveOneSchema(t *testing.T) {
	table, rows := filled(t, querytest.Options{GranuleRows: 100}, 600)
	r := table.Read()
	names, err := r.Names()
	if err != nil {
		t.Fatal(err)
	}
	if want := querytest.ConcreteNames(rows); !cmp.Equal(names, want) {
		t.Errorf("columns (-want +got):\n%s", cmp.Diff(want, names))
	}
	var first *arrow.Schema
	total := 0
	for rec, err := range scanned(context.Background(), r, ScanOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = rec.Schema()
		}
		if !rec.Schema().Equal(first) {
			t.Errorf("schema changed: %v, then %v", first, rec.Schema())
		}
		total += int(rec.NumRows())
		rec.Release()
	}
	var got []string
	for _, f := range first.Fields() {
		got = append(got, f.Name)
	}
	if !cmp.Equal(got, names) || total != len(rows) {
		t.Errorf("%d rows of columns %v, want %d of %v", total, got, len(rows), names)
	}
}

// TestScan_LargeTableComesInSeveralRecords checks the bound on records.
func TestScan_LargeTableComesInSeveralRecords(t *testing.T) {
	const granuleRows = 5000
	table := querytest.Open(t, querytest.Options{GranuleRows: granuleRows}, querytest.Samples(0))
	rng := rand.New(rand.NewPCG(1, 1))
	rows := 0
	for i := range 80 {
		b, _ := querytest.Batch(rng, 1000, int64(i))
		table.Insert(b)
		rows += b.Rows
	}
	table.Compact()
	for _, ordered := range []bool{false, true} {
		total, records := 0, 0
		for rec, err := range scanned(context.Background(), table.Read(), ScanOptions{Ordered: ordered}) {
			if err != nil {
				t.Fatal(err)
			}
			if n := int(rec.NumRows()); n > recordRows+granuleRows {
				t.Errorf("record of %d rows, want at most %d", n, recordRows+granuleRows)
			}
			total += int(rec.NumRows())
			records++
			rec.Release()
		}
		if total != rows || records < 2 {
			t.Errorf("ordered=%v: %d rows in %d records, want %d in several", ordered, total, records, rows)
		}
	}
}

// A scan of no columns, or of a family without members, still has rows.
func TestScanWithoutColumns(t *testing.T) {
	table := querytest.Open(t, querytest.Options{}, querytest.Samples(0))
	b, _ := querytest.Batch(rand.New(rand.NewPCG(1, 1)), 7, 5)
	table.Insert(b)
	r := table.Read()
	for _, columns := range [][]string{{}, {"time"}} {
		rows := int64(0)
		for rec, err := range scanned(context.Background(), r, ScanOptions{Columns: columns}) {
			if err != nil {
				t.Fatal(err)
			}
			rows += rec.NumRows()
			rec.Release()
		}
		if rows != 7 {
			t.Errorf("columns %v: %d rows, want 7", columns, rows)
		}
	}
}
