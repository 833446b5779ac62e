package columnstore

import (
	"context"
	"errors"
	"testing"

	"github.com/apache/arrow/go/v14/arrow/memory"
	"github.com/google/uuid"

	"github.com/granarydb/granary/internal/effort"
)

// allQueries returns all kinds of queries, by name. They return nothing beside an error.
func allQueries(t *testing.T, table *Table, where Expr) map[string]func(ctx context.Context, snap *Snapshot) error {
	t.Helper()
	return map[string]func(ctx context.Context, snap *Snapshot) error{
		"scan": func(ctx context.Context, snap *Snapshot) error {
			return scanError(t, ctx, table, snap, ScanOptions{Where: where})
		},
		"ordered scan": func(ctx context.Context, snap *Snapshot) error {
			return scanError(t, ctx, table, snap, ScanOptions{Where: where, Ordered: true})
		},
		"aggregate": func(ctx context.Context, snap *Snapshot) error {
			g, err := table.Aggregate(ctx, snap, AggregateOptions{Where: where, By: []string{"stack", "labels"}, Sum: "value"})
			if g != nil && err != nil {
				t.Errorf("groups with the error %v", err)
			}
			return err
		},
		"series": func(ctx context.Context, snap *Snapshot) error {
			series, err := table.Series(ctx, snap, where)
			if len(series) > 0 && err != nil {
				t.Errorf("series %v with the error %v", series, err)
			}
			return err
		},
		"series values": func(ctx context.Context, snap *Snapshot) error {
			values, err := table.SeriesValues(ctx, snap, "labels.pod", where)
			if len(values) > 0 && err != nil {
				t.Errorf("values %q with the error %v", values, err)
			}
			return err
		},
		"series columns": func(ctx context.Context, snap *Snapshot) error {
			columns, err := table.SeriesColumns(ctx, snap, where)
			if len(columns) > 0 && err != nil {
				t.Errorf("columns %q with the error %v", columns, err)
			}
			return err
		},
	}
}

// All kinds of queries fail alike: for a snapshot that is closed, expired or of another store,
// for a cancelled context, and for invalid conditions.
func TestQueries_Errors(t *testing.T) {
	store, table := open(t, Options{Manual: true, FutureLimit: -1}, samples(100))
	other, _ := open(t, Options{Manual: true}, samples(100))
	for i := range 5 {
		insert(t, table, at(int64(1000*i)))
	}
	closed, err := store.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	has := func(uuid.UUID, []byte) bool { return true }
	snap := snapshot(t, store)
	for _, test := range []struct {
		name     string
		ctx      context.Context
		snap     *Snapshot
		where    Expr
		sentinel error
		text     string
	}{
		{"closed", t.Context(), closed, Expr{}, ErrSnapshotClosed, "closed"},
		{"another store", t.Context(), snapshot(t, other), Expr{}, ErrTable, "different stores"},
		{"cancelled", cancelled, snap, Expr{}, context.Canceled, "canceled"},
		{"cancelled, with a condition", cancelled, snap, HasElement("stack", has), context.Canceled, "canceled"},
		{"element of no list", t.Context(), snap, HasElement("kind", has), ErrQuery, `"kind"`},
		{"element of ints", t.Context(), snap, HasElement("value", has), ErrQuery, `"value"`},
		{"element of an unknown column", t.Context(), snap, HasElement("nope", has), ErrQuery, `"nope"`},
		{"element without a function", t.Context(), snap, HasElement("stack", nil), ErrQuery, `"stack"`},
		{"in a list", t.Context(), snap, In("stack", uuid.UUID{1}), ErrQuery, `"stack"`},
		{"in strings, ints", t.Context(), snap, In("labels.pod", 1, 2), ErrQuery, `"labels.pod"`},
		{"in of an unknown column", t.Context(), snap, Not(In("nope", "a")), ErrQuery, `"nope"`},
		{"family", t.Context(), snap, In("labels", "a"), ErrQuery, `"labels"`},
		{"deep", t.Context(), snap, Or(And(Not(Equal("value", "x")))), ErrQuery, `"value"`},
	} {
		for name, ask := range allQueries(t, table, test.where) {
			t.Run(test.name+"/"+name, func(t *testing.T) { wantError(t, ask(test.ctx, test.snap), test.sentinel, test.text) })
		}
	}
	for _, column := range []string{"stack", "value", "tags.t", "nope", "labels", ""} {
		values, err := table.SeriesValues(t.Context(), snap, column, Expr{})
		if wantError(t, err, ErrQuery, column); values != nil {
			t.Errorf("values of column %q: %q", column, values)
		}
	}
	if values, err := table.SeriesValues(t.Context(), snap, "labels.none", Expr{}); err != nil || len(values) > 0 {
		t.Errorf("values of a column that no series has: %q, %v", values, err)
	}
}

// A snapshot older than the table has no rows. An invalid query is an error even then.
func TestQueries_OlderSnapshot(t *testing.T) {
	store, err := Open(Options{Manual: true, PastLimit: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	snap := snapshot(t, store)
	table, err := store.CreateTable("later", samples(100))
	if err != nil {
		t.Fatal(err)
	}
	insert(t, table, oneRow(5))
	for name, ask := range allQueries(t, table, Expr{}) {
		if err := ask(t.Context(), snap); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, ask := range allQueries(t, table, Equal("nope", 1)) {
		if err := ask(t.Context(), snap); !errors.Is(err, ErrQuery) {
			t.Errorf("%s of an unknown column: %v", name, err)
		}
	}
	series, err := table.Series(t.Context(), snap, Expr{})
	if err != nil || len(series) > 0 {
		t.Errorf("series before the table: %v, %v", series, err)
	}
	g, err := table.Aggregate(t.Context(), snap, AggregateOptions{By: []string{"stack"}})
	if err != nil || len(g.Counts) > 0 || len(g.Columns) != 1 {
		t.Errorf("groups before the table: %+v, %v", g, err)
	}
}

// An expired snapshot stays expired for all kinds of queries.
func TestQueries_Expired(t *testing.T) {
	store, table := tight(t, 6)
	for i := range int64(30) {
		insert(t, table, heavy(i*10, 500))
	}
	old, err := store.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	for i := int64(30); i < 200 && store.Stats().Expired == 0; i++ {
		insert(t, table, heavy(i*10, 500))
	}
	if store.Stats().Expired == 0 {
		t.Fatal("no snapshot expired")
	}
	for name, ask := range allQueries(t, table, Expr{}) {
		if err := ask(t.Context(), old); !errors.Is(err, ErrSnapshotExpired) {
			t.Errorf("%s of an expired snapshot: %v", name, err)
		}
	}
}

// Scans release their allocations, wherever they end: at a limit in any record, when the
// receiver stops at any record, and at any granule at which the context is cancelled.
func TestQueries_ScansRelease(t *testing.T) {
	effort.Alone(t)
	var granules, last int
	var cancel context.CancelFunc
	seed := uint64(1)
	d := newQuerySet(seed)
	for d.total < 150 || d.total > 200 || d.width == 0 { // several granules and generations
		seed++
		d = newQuerySet(seed)
	}
	opts := d.opts
	opts.Manual = true
	opts.Yield = func(point string) {
		if point == "read/granule" {
			if granules++; granules == last {
				cancel()
			}
		}
	}
	a := &queryAsker{T: t, querySet: d}
	a.store, a.table = open(t, opts, d.def)
	a.writer = &queryInserter{querySet: d, rng: d.rng, table: a.table}
	a.insertSome(d.total)
	a.compact()
	a.insertSome(40)
	snap := snapshot(t, a.store)
	scan := func(opts ScanOptions, stop, cancelAt int) (rows int, err error) {
		mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
		defer mem.AssertSize(t, 0)
		ctx, end := context.WithCancel(t.Context())
		defer end()
		opts.Memory, cancel, granules, last = mem, end, 0, cancelAt
		records := 0
		for rec, err := range a.table.Scan(ctx, snap, opts) {
			if err != nil {
				return rows, err
			}
			rows += int(rec.NumRows())
			rec.Release()
			if records++; records == stop {
				return rows, nil
			}
		}
		return rows, nil
	}
	failed := 0
	for _, ordered := range []bool{false, true} {
		for _, where := range []Expr{{}, AtLeast("value", 1), HasElement("stack", func(id uuid.UUID, _ []byte) bool { return id[15]%2 == 0 })} {
			opts := ScanOptions{Ordered: ordered, Where: where}
			all, err := scan(opts, 0, 0)
			if err != nil || all == 0 {
				t.Fatalf("%d rows, %v", all, err)
			}
			n := granules
			for cut := 1; cut <= n; cut++ {
				if rows, err := scan(opts, 0, cut); !errors.Is(err, context.Canceled) || rows > all || granules != cut {
					t.Errorf("ordered=%v, cancelled at granule %d: %d rows of %d, %d granules, %v", ordered, cut, rows, all, granules, err)
				}
				failed++
			}
			for limit := 1; limit < all+10; limit += 1 + all/40 {
				opts.Limit = limit
				if rows, err := scan(opts, 0, 0); err != nil || rows != min(limit, all) {
					t.Errorf("ordered=%v, limit %d: %d rows of %d, %v", ordered, limit, rows, all, err)
				}
			}
			opts.Limit = 0
			for stop := 1; stop < 5; stop++ {
				if _, err := scan(opts, stop, 0); err != nil {
					t.Error(err)
				}
			}
		}
	}
	if failed < 20 {
		t.Errorf("only %d scans were cancelled", failed)
	}
}
