package columnstore

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"sync"
	"testing"
	"weak"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/internal/catalog"
	"github.com/granarydb/granary/schema"
)

// spread returns a coded row in each of a number of buckets of ten.
func spread(t *testing.T, codes *Codes, buckets int) schema.Batch {
	b := codedRow(t, codes, 0)
	times := make([]int64, buckets)
	for i := range times {
		times[i] = int64(10 * i)
	}
	b.Rows, b.Columns["time"] = buckets, encoding.Int64s(times...)
	stack := b.Columns["stack"].Codes[0]
	b.Columns["stack"] = encoding.ListCodes(stack)
	return b
}

// The transaction of a single insert is reused. When the insert has returned, nothing may
// refer to it: not the root, older roots with readers, the maintenance queue, pools, nor an
// error. The garbage collector is the judge.
func TestInsert_LeavesNoTransaction(t *testing.T) {
	store, table := open(t, Options{Manual: true, FreshParts: 2, MaxParts: 3, FutureLimit: -1, GenerationBuckets: 1 << 10}, samples(10))
	codes, err := table.Codes(0)
	if err != nil {
		t.Fatal(err)
	}
	closed, other := open(t, Options{Manual: true, FutureLimit: -1}, samples(10))
	otherCodes, err := other.Codes(0)
	if err != nil {
		t.Fatal(err)
	}
	wrong := codedRow(t, codes, 0)
	wrong.Series = 1 << 30
	closedRow := codedRow(t, otherCodes, 0)
	closed.Close()
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	var errs []error // they outlive the insert
	for _, tt := range []struct {
		name  string
		ctx   context.Context
		table *Table
		codes *Codes
		batch schema.Batch
		want  error
	}{
		{"the first rows", t.Context(), table, codes, codedRow(t, codes, 0), nil},
		{"rows that make a granule due", t.Context(), table, codes, codedRow(t, codes, 0), nil},
		{"rows of many buckets", t.Context(), table, codes, spread(t, codes, 9), nil},
		{"rows that make many granules due", t.Context(), table, codes, spread(t, codes, 9), nil},
		{"wrong codes", t.Context(), table, codes, wrong, ErrBatch},
		{"cancelled", cancelled, table, codes, spread(t, codes, 9), context.Canceled},
		{"a closed store", t.Context(), other, otherCodes, closedRow, ErrClosed},
	} {
		older := snapshot(t, store) // of the root before
		tx := new(Tx)
		at := weak.Make(tx)
		_, err := tx.insertAlone(tt.ctx, tt.table, tt.codes, tt.batch)
		if !errors.Is(err, tt.want) {
			t.Fatalf("%s: %v, want %v", tt.name, err, tt.want)
		}
		errs = append(errs, err)
		if !reflect.ValueOf(tx).Elem().IsZero() {
			t.Errorf("%s: the transaction is left with %+v", tt.name, tx)
		}
		tx = nil
		runtime.GC() // once: pools keep their content for one collection
		if at.Value() != nil {
			t.Errorf("%s: something has the transaction", tt.name)
		}
		runtime.KeepAlive(older)
	}
	compact(t, store)
	runtime.KeepAlive(errs)
}

// scribble overwrites a transaction with unsound values.
func scribble(tx *Tx) {
	bad := piece{Placement: catalog.Placement{Bound: "scribbled", Bucket: -1}}
	*tx = Tx{one: [1]piece{bad}, due: [1]dueGranule{{granuleName: granuleName{bound: "scribbled"}}}, bytes: -1 << 40}
	tx.pieces = tx.one[:]
}

// Readers of older roots, the maintainer and other inserts go on while the transactions of inserts are
// overwritten. The race detector reports any access to such a transaction.
func TestInsert_TransactionsAreUsedAgain(t *testing.T) {
	const writers, inserts = 4, 60
	store, table := open(t, Options{FreshParts: 2, MaxParts: 4, GranuleRows: 64, FutureLimit: -1, GenerationBuckets: 1 << 10}, samples(10))
	codes, err := table.Codes(0)
	if err != nil {
		t.Fatal(err)
	}
	batches := make([]schema.Batch, writers)
	for w := range batches {
		batches[w] = spread(t, codes, 5)
	}
	var work, readers sync.WaitGroup
	done := make(chan struct{})
	read := func(before *Snapshot) error {
		for range 2 { // the second time there are newer roots
			rows := 0
			for range scanRows(t, table, before, ScanOptions{Columns: []string{"value"}}) {
				rows++
			}
			if rows%5 != 0 {
				return fmt.Errorf("%d rows, want whole batches of 5", rows)
			}
		}
		return nil
	}
	readers.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			if err := store.View(t.Context(), read); err != nil {
				t.Error(err)
				return
			}
		}
	})
	for _, batch := range batches {
		work.Go(func() {
			for range inserts {
				tx := ownTxs.Get().(*Tx)
				if _, err := tx.insertAlone(t.Context(), table, codes, batch); err != nil {
					t.Error(err)
				}
				scribble(tx)
				runtime.Gosched()
				*tx = Tx{}
				ownTxs.Put(tx)
			}
		})
	}
	work.Wait()
	close(done)
	readers.Wait()
	if got, want := store.Stats().Rows, int64(writers*inserts*5); got != want {
		t.Errorf("%d rows, want %d", got, want)
	}
	store.Close() // after the end of the maintainer
	if pending := store.memory.pending.Load(); pending != 0 {
		t.Errorf("%d bytes are pending, want none", pending)
	}
}
