package columnstore

import (
	"context"
	"io"
	"math"
	"testing"
)

// scanError returns the error of a scan, which must be its last element.
func scanError(t *testing.T, ctx context.Context, table *Table, snap *Snapshot, opts ScanOptions) (found error) {
	t.Helper()
	for rec, err := range table.Scan(ctx, snap, opts) {
		if found != nil {
			t.Errorf("the scan went on after %v", found)
		}
		if found = err; err == nil {
			rec.Release()
		} else if rec != nil {
			t.Errorf("a record with error %v", err)
		}
	}
	return found
}

func TestSnapshot_Errors(t *testing.T) {
	ctx := context.Background()
	store, table := open(t, Options{Manual: true}, samples(100))
	insert(t, table, oneRow(1))
	other, stranger := open(t, Options{Manual: true}, samples(100))
	closed, err := store.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	closed.Close() // Close is idempotent
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	for _, test := range []struct {
		name     string
		ctx      context.Context
		table    *Table
		snap     *Snapshot
		sentinel error
		text     string
	}{
		{"closed", ctx, table, closed, ErrSnapshotClosed, "snapshot is closed"},
		{"snapshot of another store", ctx, table, snapshot(t, other), ErrTable, `snapshot and table "samples" are of different stores`},
		{"table of another store", ctx, stranger, snapshot(t, store), ErrTable, "different stores"},
		{"cancelled", cancelled, table, snapshot(t, store), context.Canceled, "canceled"},
	} {
		t.Run(test.name, func(t *testing.T) {
			wantError(t, scanError(t, test.ctx, test.table, test.snap, ScanOptions{}), test.sentinel, test.text)
			wantError(t, scanError(t, test.ctx, test.table, test.snap, ScanOptions{Ordered: true}), test.sentinel, test.text)
			_, err := test.table.Aggregate(test.ctx, test.snap, AggregateOptions{})
			wantError(t, err, test.sentinel, test.text)
			_, err = test.table.Series(test.ctx, test.snap, between(0, math.MaxInt64))
			wantError(t, err, test.sentinel, test.text)
			if test.ctx == ctx {
				_, err = test.table.Columns(test.snap)
				wantError(t, err, test.sentinel, test.text)
				_, err = test.table.RecordSchema(test.snap, ScanOptions{})
				wantError(t, err, test.sentinel, test.text)
				_, err = test.table.KnownTuples(test.snap, []string{"labels.pod"})
				wantError(t, err, test.sentinel, test.text)
			}
		})
	}
	wantError(t, store.View(cancelled, func(*Snapshot) error { t.Error("called"); return nil }), context.Canceled, "canceled")
	wantError(t, store.View(ctx, func(*Snapshot) error { return io.ErrNoProgress }), io.ErrNoProgress, "")
	wantError(t, store.Compact(cancelled), context.Canceled, "canceled")
	if stats := store.Stats(); stats.Compactions != 0 {
		t.Errorf("%d compactions under a cancelled context", stats.Compactions)
	}
}

// TestMaintain_Cancelled checks that maintenance stops between granules.
func TestMaintain_Cancelled(t *testing.T) {
	store, table := open(t, Options{Manual: true, FreshParts: 2}, samples(100))
	for i := range 20 {
		insert(t, table, oneRow(int64(i%5)*100))
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	wantError(t, store.Maintain(ctx), context.Canceled, "canceled")
	if n := store.Stats().Compactions; n > 1 {
		t.Errorf("%d compactions under a cancelled context", n)
	}
	if err := store.Maintain(context.Background()); err != nil {
		t.Fatal(err)
	}
	if n := store.Stats().Parts; n > 5*2 {
		t.Errorf("%d parts in 5 granules after maintenance", n)
	}
}
