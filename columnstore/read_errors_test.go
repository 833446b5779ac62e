package columnstore

import (
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"regexp"
	"testing"

	"github.com/google/uuid"
)

func TestQuery_Errors(t *testing.T) {
	store, err := Open(Options{Manual: true, PastLimit: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	bucketed, err := store.CreateTable("bucketed", wide(100, wideKey))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := store.CreateTable("plain", wide(0, wideKey))
	if err != nil {
		t.Fatal(err)
	}
	pattern := regexp.MustCompile("x")
	type ask struct {
		name  string
		table *Table
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
		where Expr
		text  string
	}{
		{"unknown", Equal("nope", "x"), `no column "nope"`},
		{"family", Equal("labels", "x"), `no column "labels"`},
		{"null of a family", IsNull("labels"), `no column "labels"`},
		{"string with int", Equal("kind", 1), `"kind" is string and cannot be compared with 1`},
		{"label with int", Less("labels.a", 1), `"labels.a" is string`},
		{"plain string with uuid", Equal("note", uuid.UUID{}), `"note" is string`},
		{"uuid with string", Equal("trace", "x"), `"trace" is uuid`},
		{"int with string", AtLeast("value", "x"), `"value" is int64 and cannot be compared with x`},
		{"int with uint", Equal("value", uint64(1)), `"value" is int64`},
		{"uint with int", Equal("size", 1), `"size" is uint64`},
		{"float with int", Equal("ratio", 1), `"ratio" is float64`},
		{"int with float", Equal("value", 1.0), `"value" is int64`},
		{"bool with int", Equal("flag", 1), `"flag" is bool`},
		{"int with bool", Equal("value", true), `"value" is int64`},
		{"dynamic int with string", Equal("nums.x", "1"), `"nums.x" is int64`},
		{"list", Equal("stack", uuid.UUID{}), `"stack" is uuid list`},
		{"match of a list", Match("stack", pattern), `"stack" is uuid list and cannot be matched with a pattern`},
		{"match of int", Match("value", pattern), `"value" is int64 and cannot be matched with a pattern`},
		{"match of uuid", Match("trace", pattern), `"trace" is uuid and cannot be matched with a pattern`},
		{"match of no pattern", Match("kind", nil), `"kind" is string and cannot be matched with a nil pattern`},
		{"no function", Func("kind", nil), `"kind" is string and cannot be tested with a nil function`},
		{"function of a list", Func("stack", func(any) bool { return true }), `"stack" is uuid list and has no single values`},
		{"no function of elements", HasElement("stack", nil), `"stack" is uuid list and cannot be tested with a nil function`},
		{"elements of a string", HasElement("kind", func(uuid.UUID, []byte) bool { return true }), `"kind" is string and has no elements`},
		{"deep inside", And(Equal("kind", "x"), Or(Not(Equal("nope", 1)))), `no column "nope"`},
	} {
		asks = append(asks,
			ask{"scan where: " + where.name, bucketed, &ScanOptions{Where: where.where}, nil, where.text},
			ask{"aggregate where: " + where.name, plain, nil, &AggregateOptions{Where: where.where}, where.text})
	}
	for _, rows := range []int{0, 1} {
		if rows > 0 {
			insert(t, plain, batchOf(rand.New(rand.NewPCG(1, 1)), randomRows(rand.New(rand.NewPCG(1, 1)), 5)))
			insert(t, bucketed, batchOf(rand.New(rand.NewPCG(1, 1)), randomRows(rand.New(rand.NewPCG(1, 1)), 5)))
		}
		snap := snapshot(t, store)
		for _, ask := range asks {
			t.Run(fmt.Sprintf("rows=%d/%s", rows, ask.name), func(t *testing.T) {
				if ask.scan == nil {
					groups, err := ask.table.Aggregate(context.Background(), snap, *ask.sum)
					wantError(t, err, ErrQuery, ask.text)
					if groups != nil {
						t.Error("groups with an error")
					}
					return
				}
				wantError(t, scanError(t, context.Background(), ask.table, snap, *ask.scan), ErrQuery, ask.text)
			})
		}
	}
}

// scanError returns a scan's error, which must be its last element.
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
