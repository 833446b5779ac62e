package columnstore

import (
	"context"
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
