package columnstore

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apache/arrow/go/v14/arrow"
	"github.com/apache/arrow/go/v14/arrow/array"
	"github.com/apache/arrow/go/v14/arrow/memory"
	"github.com/google/go-cmp/cmp"

	"github.com/granarydb/granary/internal/oracle"
)

// scanRows decodes the records of Table.Scan, one map a row: nil for null, else a string,
// int64, uint64, float64, bool, uuid.UUID or []uuid.UUID. An error fails the test, from any
// goroutine, and ends the sequence.
func scanRows(t *testing.T, table *Table, snap *Snapshot, opts ScanOptions) iter.Seq[map[string]any] {
	t.Helper()
	return func(yield func(map[string]any) bool) {
		for rec, err := range table.Scan(context.Background(), snap, opts) {
			if err != nil {
				t.Errorf("scan: %v", err)
				return
			}
			rows, err := decode(rec)
			rec.Release()
			if err != nil {
				t.Errorf("scan: %v", err)
				return
			}
			for _, row := range rows {
				if !yield(row) {
					return
				}
			}
		}
	}
}

// snapshot takes a snapshot that is closed when the test ends.
func snapshot(t testing.TB, store *Store) *Snapshot {
	t.Helper()
	snap, err := store.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(snap.Close)
	return snap
}

// allRows scans a snapshot into a sorted multiset of rows as text.
func allRows(t *testing.T, table *Table, snap *Snapshot, opts ScanOptions) []string {
	t.Helper()
	return oracle.Texts(slices.Collect(scanRows(t, table, snap, opts)))
}

// filled opens a store with wide rows in fresh parts, base parts and several
// generations.
func filled(t *testing.T, opts Options, n int) (*Store, *Table, []oracle.Row) {
	t.Helper()
	opts.Manual = true
	store, table := open(t, opts, wide(100, wideKey))
	rng := rand.New(rand.NewPCG(11, 12))
	rows := randomRows(rng, n)
	for half := range 2 {
		for batch := range slices.Chunk(rows[half*n/2:(half+1)*n/2], 50) {
			insert(t, table, batchOf(rng, batch))
		}
		if half == 0 {
			compact(t, store)
		}
	}
	return store, table, rows
}

// TestScan_ReleasesEverything counts the allocations of scans: all are freed when the receiver
// has released its records, however the scan ended.
func TestScan_ReleasesEverything(t *testing.T) {
	store, table, rows := filled(t, Options{GranuleRows: 100}, 1000)
	snap := snapshot(t, store)
	pattern := Less("value", 20)
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
			{name: "nothing chosen", opts: ScanOptions{Where: Or()}},
			{name: "limit", opts: ScanOptions{Limit: 17}},
			{name: "receiver stops", stop: 1},
			{name: "receiver stops at the second record", stop: 2},
			{name: "cancelled", kill: 1},
			{name: "unknown column", opts: ScanOptions{Columns: []string{"nope"}}},
			{name: "bad condition", opts: ScanOptions{Where: Equal("value", "x")}},
			{name: "names", opts: ScanOptions{Elements: elementNames}},
		} {
			t.Run(fmt.Sprintf("ordered=%v/%v/own=%v/%s", ordered, form, own, test.name), func(t *testing.T) {
				mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
				defer mem.AssertSize(t, 0)
				test.opts.Memory, test.opts.Ordered, test.opts.Form, test.opts.OwnDictionaries = mem, ordered, form, own
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				records, got := 0, 0
				for rec, err := range table.Scan(ctx, snap, test.opts) {
					if err != nil {
						if test.kill > 0 && !errors.Is(err, context.Canceled) || test.kill == 0 && !errors.Is(err, ErrQuery) {
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
	store, table, rows := filled(t, Options{GranuleRows: 100}, 600)
	snap := snapshot(t, store)
	names, err := table.Columns(snap)
	if err != nil {
		t.Fatal(err)
	}
	if want := concreteNames(rows); !cmp.Equal(names, want) {
		t.Errorf("columns (-want +got):\n%s", cmp.Diff(want, names))
	}
	var first *arrow.Schema
	total := 0
	for rec, err := range table.Scan(context.Background(), snap, ScanOptions{}) {
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
	store, table := open(t, Options{Manual: true, GranuleRows: granuleRows}, samples(0))
	rng := rand.New(rand.NewPCG(1, 1))
	rows := 0
	for i := range 80 {
		b, _ := batch(rng, 1000, int64(i))
		insert(t, table, b)
		rows += b.Rows
	}
	compact(t, store)
	for _, ordered := range []bool{false, true} {
		total, records := 0, 0
		for rec, err := range table.Scan(context.Background(), snapshot(t, store), ScanOptions{Ordered: ordered}) {
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

// TestInsertRecord_RoundTrip copies a table through Arrow.
func TestInsertRecord_RoundTrip(t *testing.T) {
	store, table, _ := filled(t, Options{GranuleRows: 100}, 800)
	snap := snapshot(t, store)
	for _, ordered := range []bool{false, true} {
		copyStore, copied := open(t, Options{Manual: true, GranuleRows: 150}, wide(100, wideKey))
		for rec, err := range table.Scan(context.Background(), snap, ScanOptions{Ordered: ordered}) {
			if err != nil {
				t.Fatal(err)
			}
			_, err := copied.InsertRecord(context.Background(), rec)
			rec.Release()
			if err != nil {
				t.Fatal(err)
			}
		}
		want := allRows(t, table, snap, ScanOptions{})
		for _, when := range []string{"fresh", "compacted"} {
			if diff := cmp.Diff(want, allRows(t, copied, snapshot(t, copyStore), ScanOptions{})); diff != "" {
				t.Errorf("ordered=%v, %s (-want +got):\n%s", ordered, when, diff)
			}
			compact(t, copyStore)
		}
	}
}

// TestInsertRecord_Errors checks that a bad record inserts nothing (C5).
func TestInsertRecord_Errors(t *testing.T) {
	store, table := open(t, Options{Manual: true}, samples(0))
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema([]arrow.Field{{Name: "nope", Type: arrow.PrimitiveTypes.Int64}}, nil))
	defer b.Release()
	b.Field(0).(*array.Int64Builder).Append(1)
	rec := b.NewRecord()
	defer rec.Release()
	if _, err := table.InsertRecord(context.Background(), rec); err == nil {
		t.Error("a record with an unknown column was inserted")
	}
	if rows := store.Stats().Rows; rows != 0 {
		t.Errorf("%d rows after a failed insert", rows)
	}
}

// A scan of no columns, or of a family without members, still has rows.
func TestScanWithoutColumns(t *testing.T) {
	store, table := open(t, Options{}, samples(0))
	b, _ := batch(rand.New(rand.NewPCG(1, 1)), 7, 5)
	if _, err := table.Insert(context.Background(), b); err != nil {
		t.Fatal(err)
	}
	snap, err := store.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Close()
	for _, columns := range [][]string{{}, {"time"}} {
		rows := int64(0)
		for rec, err := range table.Scan(context.Background(), snap, ScanOptions{Columns: columns}) {
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
