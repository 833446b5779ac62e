package columnstore

import (
	"context"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/internal/oracle"
	"github.com/granarydb/granary/schema"
)

// wantError checks an error by its sentinel and a piece of its text.
func wantError(t *testing.T, err, sentinel error, text string) {
	t.Helper()
	if !errors.Is(err, sentinel) || !strings.Contains(err.Error(), text) {
		t.Errorf("error is %v; want %q with %q", err, sentinel, text)
	}
}

func TestOptions(t *testing.T) {
	for _, test := range []struct {
		name string
		opts Options
		text string // of the error, "" for none
	}{
		{"zero", Options{}, ""},
		{"least", Options{GranuleRows: 1, FreshParts: 2, MaxParts: 2}, ""},
		{"many fresh parts raise the default of MaxParts", Options{FreshParts: 1000}, ""},
		{"GranuleRows", Options{GranuleRows: -1}, "GranuleRows is -1, want at least 1"},
		{"FreshParts", Options{FreshParts: 1}, "FreshParts is 1, want at least 2"},
		{"negative FreshParts", Options{FreshParts: -3}, "FreshParts is -3, want at least 2"},
		{"MaxParts", Options{MaxParts: 1}, "MaxParts is 1, want at least 16"},
		{"Retention", Options{Retention: -1}, "Retention is -1ns"},
		{"MaxParts below FreshParts", Options{FreshParts: 20, MaxParts: 19}, "MaxParts is 19, want at least 20"},
	} {
		t.Run(test.name, func(t *testing.T) {
			store, err := Open(test.opts)
			if test.text == "" {
				if err != nil {
					t.Fatal(err)
				}
				store.Close()
				return
			}
			wantError(t, err, ErrOptions, test.text)
			if store != nil {
				t.Error("a store was returned with the error")
			}
		})
	}
}

func TestClosed(t *testing.T) {
	ctx := context.Background()
	for _, manual := range []bool{false, true} {
		store, table := open(t, Options{Manual: manual}, samples(0))
		insert(t, table, oneRow(1))
		tx := store.Begin()
		if err := tx.Insert(ctx, table, oneRow(2)); err != nil {
			t.Fatal(err)
		}
		early := store.Begin()
		snap := snapshot(t, store)
		store.Close()
		store.Close() // Close is idempotent

		_, err := table.Insert(ctx, oneRow(3))
		wantError(t, err, ErrClosed, "store is closed")
		_, err = tx.Commit()
		wantError(t, err, ErrClosed, "store is closed")
		_, err = tx.Commit()
		wantError(t, err, ErrTxDone, "transaction has ended")
		wantError(t, early.Insert(ctx, table, oneRow(3)), ErrClosed, "store is closed")
		_, err = store.Begin().Commit()
		wantError(t, err, ErrClosed, "store is closed")
		_, err = store.Snapshot()
		wantError(t, err, ErrClosed, "store is closed")
		wantError(t, store.View(ctx, func(*Snapshot) error { return nil }), ErrClosed, "store is closed")
		_, err = store.CreateTable("more", samples(0))
		wantError(t, err, ErrClosed, "store is closed")
		wantError(t, store.Maintain(ctx), ErrClosed, "store is closed")
		wantError(t, store.Compact(ctx), ErrClosed, "store is closed")

		// Open snapshots stay readable.
		if c := total(t, table, snap); c != (oracle.Sum{Rows: 1, Sum: 1}) {
			t.Errorf("a snapshot from before has %+v", c)
		}
		if got := allRows(t, table, snap, ScanOptions{}); len(got) != 1 {
			t.Errorf("a snapshot from before has rows %v", got)
		}
		if rows := store.Stats().Rows; rows != 1 {
			t.Errorf("%d rows", rows)
		}
	}
}

func TestClosed_EmptyStore(t *testing.T) {
	store, err := Open(Options{Manual: true})
	if err != nil {
		t.Fatal(err)
	}
	store.Close()
	wantError(t, store.Maintain(context.Background()), ErrClosed, "store is closed")
	wantError(t, store.Compact(context.Background()), ErrClosed, "store is closed")
}

func TestCreateTable_Errors(t *testing.T) {
	store, table := open(t, Options{Manual: true}, samples(0))
	_, err := store.CreateTable("samples", samples(0))
	wantError(t, err, ErrTable, `"samples" exists already`)
	_, err = store.CreateTable("bad", schema.Definition{})
	wantError(t, err, schema.ErrSchema, `create table "bad"`)
	if store.Table("bad") != nil {
		t.Error("a bad table exists")
	}
	if store.Table("samples") != table || table.Name() != "samples" || len(table.Schema().Columns()) != 7 {
		t.Error("the table is not what it was made as")
	}

	broken, err := Open(Options{Manual: true, Rand: iotest.ErrReader(io.ErrUnexpectedEOF)})
	if err != nil {
		t.Fatal(err)
	}
	defer broken.Close()
	_, err = broken.CreateTable("t", samples(0))
	wantError(t, err, io.ErrUnexpectedEOF, "hash seed")
	if broken.Table("t") != nil {
		t.Error("a table without a seed exists")
	}
}

func TestFuture(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	for _, test := range []struct {
		name   string
		limit  time.Duration
		bucket int64
		at     time.Time
		ok     bool
	}{
		{"default limit, at it", 0, 100, now.Add(10 * time.Minute), true},
		{"default limit, 1 ns beyond", 0, 100, now.Add(10*time.Minute + 1), false},
		{"limit, at it", time.Second, 100, now.Add(time.Second), true},
		{"limit, 1 ns beyond", time.Second, 100, now.Add(time.Second + 1), false},
		{"past", time.Second, 100, time.Unix(0, math.MinInt64), true},
		{"negative is none", -1, 100, time.Unix(0, math.MaxInt64), true},
		{"no bucket", time.Second, 0, time.Unix(0, math.MaxInt64), true},
		{"limit beyond the end of time", math.MaxInt64, 100, now.Add(time.Hour), true},
		{"limit beyond the end of time, end of time", math.MaxInt64, 100, time.Unix(0, math.MaxInt64), true},
	} {
		t.Run(test.name, func(t *testing.T) {
			opts := Options{Manual: true, FutureLimit: test.limit, Now: func() time.Time { return now }}
			store, table := open(t, opts, samples(test.bucket))
			insert(t, table, oneRow(0))
			before := stateOf(t, store, table)
			b := oneRow(0)
			b.Rows = 3
			b.Columns["time"] = encoding.Int64s(0, test.at.UnixNano(), 0)
			_, err := table.Insert(context.Background(), b)
			if test.ok {
				if err != nil {
					t.Errorf("unexpected error %v", err)
				}
				return
			}
			wantError(t, err, ErrFuture, `row 1 of column "time" is at 1970-01-12T`)
			wantError(t, err, ErrFuture, `table "samples"`)
			before.check(t, store, table)
		})
	}
}

// state is the visible state of a table.
type state struct {
	Rows    []string
	Series  []Series
	Columns []string
	Stats   Stats
	Commits oracle.Sum
}

func stateOf(t *testing.T, store *Store, table *Table) state {
	t.Helper()
	snap := snapshot(t, store)
	series, err := table.Series(context.Background(), snap, Expr{})
	if err != nil {
		t.Fatal(err)
	}
	columns, err := table.Columns(snap)
	if err != nil {
		t.Fatal(err)
	}
	stats := store.Stats()
	stats.OldestSnapshot = 0 // an empty commit makes the test's own snapshots old
	return state{allRows(t, table, snap, ScanOptions{}), series, columns, stats, total(t, table, snap)}
}

// check fails the test if anything of the state has changed (C5).
func (s state) check(t *testing.T, store *Store, table *Table) {
	t.Helper()
	if diff := cmp.Diff(s, stateOf(t, store, table)); diff != "" {
		t.Errorf("something happened in spite of the error (-before +after):\n%s", diff)
	}
}

// visible is the part of the state that an aborted transaction must not change. Its entries in
// dictionaries stay until their generation goes, and its parts are pending while it is open.
func (s state) visible() state {
	s.Stats.PendingBytes = 0
	s.Stats.Series, s.Stats.Stacks, s.Stats.SeriesBytes, s.Stats.StackBytes, s.Stats.RecordBytes = 0, 0, 0, 0, 0
	return s
}

func TestInsert_Errors(t *testing.T) {
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	other, err := Open(Options{Manual: true})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	stranger, err := other.CreateTable("samples", samples(100))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name     string
		ctx      context.Context
		table    *Table
		edit     func(*schema.Batch)
		sentinel error
		text     string
	}{
		{"unknown column", nil, nil, func(b *schema.Batch) { b.Columns["nope"] = encoding.Int64s(1) }, ErrBatch, `"nope"`},
		{"wrong type", nil, nil, func(b *schema.Batch) { b.Columns["value"] = encoding.Strings("1") }, ErrBatch, `"value"`},
		{"missing", nil, nil, func(b *schema.Batch) { delete(b.Columns, "value") }, ErrBatch, `"value"`},
		{"too many values", nil, nil, func(b *schema.Batch) { b.Columns["labels.new"] = encoding.Strings("a", "b") }, ErrBatch, `"labels.new"`},
		{"not UTF-8", nil, nil, func(b *schema.Batch) { b.Columns["labels.new"] = encoding.Strings("\xff") }, ErrBatch, "UTF-8"},
		{"long string", nil, nil, func(b *schema.Batch) {
			b.Columns["labels.new"] = encoding.Strings(strings.Repeat("x", schema.MaxString+1))
		}, ErrLimit, `"labels.new"`},
		{"too many rows", nil, nil, func(b *schema.Batch) { b.Rows = schema.MaxRows + 1 }, ErrLimit, "rows"},
		{"negative rows", nil, nil, func(b *schema.Batch) { b.Rows = -1 }, ErrLimit, "rows"},
		{"future", nil, nil, func(b *schema.Batch) { b.Columns["time"] = encoding.Int64s(math.MaxInt64) }, ErrFuture, "row 0"},
		{"cancelled", cancelled, nil, func(b *schema.Batch) { b.Columns["labels.new"] = encoding.Strings("n") }, context.Canceled, "canceled"},
		{"another store", nil, stranger, func(*schema.Batch) {}, ErrTable, "different stores"},
	} {
		t.Run(test.name, func(t *testing.T) {
			store, table := open(t, Options{Manual: true}, samples(100))
			b, _ := batch(rand.New(rand.NewPCG(1, 1)), 30, 150)
			insert(t, table, b)
			before := stateOf(t, store, table)
			bad := oneRow(300)
			bad.Columns["kind"] = encoding.Strings("another kind")
			test.edit(&bad)
			ctx, into := test.ctx, test.table
			if ctx == nil {
				ctx = context.Background()
			}
			if into == nil {
				into = table
				_, err := table.Insert(ctx, bad)
				wantError(t, err, test.sentinel, test.text)
				before.check(t, store, table)
			}
			// Earlier and later inserts of the transaction are unaffected.
			tx := store.Begin()
			for i := range 3 {
				if i == 1 {
					wantError(t, tx.Insert(ctx, into, bad), test.sentinel, test.text)
				} else if err := tx.Insert(context.Background(), table, oneRow(151)); err != nil {
					t.Fatal(err)
				}
			}
			before.visibleCheck(t, store, table)
			if _, err := tx.Commit(); err != nil {
				t.Fatal(err)
			}
			after := stateOf(t, store, table)
			if got := len(after.Rows) - len(before.Rows); got != 2 || len(after.Series) != len(before.Series)+1 {
				t.Errorf("%d rows more, series %v; want 2 rows and one series more", got, after.Series)
			}
		})
	}
}

func (s state) visibleCheck(t *testing.T, store *Store, table *Table) {
	t.Helper()
	if diff := cmp.Diff(s.visible(), stateOf(t, store, table).visible()); diff != "" {
		t.Errorf("something is visible (-before +after):\n%s", diff)
	}
}

// TestAbort_LeavesNothingVisible ends transactions with new series, columns, stacks and
// buckets without a commit (C5).
func TestAbort_LeavesNothingVisible(t *testing.T) {
	ctx := context.Background()
	for _, test := range []struct {
		name string
		end  func(*testing.T, *Store, *Tx)
	}{
		{"abort", func(_ *testing.T, _ *Store, tx *Tx) { tx.Abort(); tx.Abort() }},
		{"forgotten", func(*testing.T, *Store, *Tx) {}},
		{"insert after abort", func(t *testing.T, s *Store, tx *Tx) {
			tx.Abort()
			wantError(t, tx.Insert(ctx, s.Table("samples"), oneRow(1)), ErrTxDone, "transaction has ended")
			_, err := tx.Commit()
			wantError(t, err, ErrTxDone, "transaction has ended")
		}},
		{"closed store", func(t *testing.T, s *Store, tx *Tx) {
			s.closed.Store(true)
			_, err := tx.Commit()
			wantError(t, err, ErrClosed, "closed")
			s.closed.Store(false)
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			store, table := open(t, Options{Manual: true, GranuleRows: 8}, samples(100))
			b, _ := batch(rand.New(rand.NewPCG(1, 1)), 30, 150)
			insert(t, table, b)
			before := stateOf(t, store, table)
			tx := store.Begin()
			secret := oneRow(150)
			secret.Rows = 2
			secret.Columns["time"] = encoding.Int64s(150, -9000)
			secret.Columns["labels.secret"] = encoding.Strings("s")
			secret.Columns["tags.secret"] = encoding.Strings("s")
			if err := tx.Insert(ctx, table, secret); err != nil {
				t.Fatal(err)
			}
			before.visibleCheck(t, store, table)
			test.end(t, store, tx)
			before.visibleCheck(t, store, table)
			compact(t, store)
			if got := stateOf(t, store, table); !cmp.Equal(before.Rows, got.Rows) || !cmp.Equal(before.Series, got.Series) || !cmp.Equal(before.Columns, got.Columns) {
				t.Errorf("compaction changed %+v to %+v", before, got)
			}
		})
	}
}

// TestInsert_CancelledBetweenBuckets cancels in the middle of a batch (C5).
func TestInsert_CancelledBetweenBuckets(t *testing.T) {
	store, table := open(t, Options{Manual: true}, samples(100))
	insert(t, table, oneRow(1))
	before := stateOf(t, store, table)
	b := oneRow(0)
	b.Rows = 50
	var times []int64
	for i := range 50 {
		times = append(times, int64(i)*100)
	}
	b.Columns["time"] = encoding.Int64s(times...)
	b.Columns["labels.new"] = encoding.Strings("n")
	_, err := table.Insert(&countdown{Context: context.Background(), left: 10}, b)
	wantError(t, err, context.DeadlineExceeded, "deadline")
	before.visibleCheck(t, store, table)
}

// countdown is a context that ends after a number of checks.
type countdown struct {
	context.Context
	left int
}

func (c *countdown) Err() error {
	if c.left--; c.left < 0 {
		return context.DeadlineExceeded
	}
	return nil
}
