package columnstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/schema"
)

// New series are inserted into a generation while the series of two of its buckets are read: the answer
// comes from the snapshot.
func TestQueries_SeriesWhileInserting(t *testing.T) {
	for name, ask := range map[string]func(table *Table, snap *Snapshot, where Expr) (int, error){
		"series": func(table *Table, snap *Snapshot, where Expr) (int, error) {
			series, err := table.Series(t.Context(), snap, where)
			return len(series), err
		},
		"series values": func(table *Table, snap *Snapshot, where Expr) (int, error) {
			values, err := table.SeriesValues(t.Context(), snap, "labels.pod", where)
			return len(values), err
		},
		"aggregate": func(table *Table, snap *Snapshot, where Expr) (int, error) {
			g, err := table.Aggregate(t.Context(), snap, AggregateOptions{By: []string{"labels.pod"}, Where: where})
			if err != nil {
				return 0, err
			}
			return len(g.Counts), nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if r := recover(); r != nil {
					t.Errorf("panic: %v", r)
				}
			}()
			store, table := open(t, Options{Manual: true, GenerationBuckets: 2}, samples(100))
			for i := range 4 {
				insert(t, table, shardsOf(fmt.Sprint("pod ", i), int64(50*i)))
			}
			snap := snapshot(t, store)
			done := false
			where := And(AtLeast("value", 0), Func("labels.pod", func(v any) bool {
				for i := range 200 {
					if v != nil && !done {
						insert(t, table, shardsOf(fmt.Sprint("later ", i, v), int64(i)))
					}
				}
				done = done || v != nil
				return true
			}))
			for i, where := range []Expr{where, Not(where), Or(where, Equal("kind", "x"))} {
				want := 4
				if i == 1 {
					want = 4 * boolInt(name != "aggregate") // for queries of series alone, rows below 0 may exist
				}
				done = false
				if n, err := ask(table, snap, where); err != nil || n != want {
					t.Errorf("%d, want the %d of the snapshot: %v", n, want, err)
				}
			}
		})
	}
}

// shardsOf returns a row of one pod.
func shardsOf(pod string, at int64) schema.Batch {
	b := oneRow(at)
	b.Columns["labels.pod"] = encoding.Strings(pod)
	return b
}

// A query cancelled midway returns nothing beside the error.
func TestQueries_SeriesCancelled(t *testing.T) {
	store, table := open(t, Options{Manual: true, GenerationBuckets: 1}, samples(100))
	for i := range 4 {
		insert(t, table, shardsOf(fmt.Sprint("pod ", i), int64(100*i)))
	}
	snap := snapshot(t, store)
	var ctx context.Context
	cancel := func() {}
	where := Func("labels.pod", func(v any) bool {
		if v != nil { // a row without a value is evaluated first
			cancel()
		}
		return true
	})
	for name, ask := range allQueries(t, table, where) {
		ctx, cancel = context.WithCancel(t.Context())
		if err := ask(ctx, snap); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
		cancel()
	}
}

// The condition is called once for an element of a list in each generation with the element,
// by the reading goroutine, for any number of rows and lists.
func TestQueries_ElementsAreAskedOnce(t *testing.T) {
	store, table := open(t, Options{Manual: true, GenerationBuckets: 1, GranuleRows: 50}, samples(100))
	const generations = 3
	for i := range 300 {
		b := oneRow(int64(i % generations * 100))
		b.Columns["stack"] = encoding.UUIDLists([]uuid.UUID{{1}, {2, byte(i % 50)}, {3, byte(i)}})
		insert(t, table, b)
	}
	for _, when := range []string{"fresh", "compacted"} {
		asked := map[uuid.UUID]int{}
		g, err := table.Aggregate(t.Context(), snapshot(t, store), AggregateOptions{
			Where: HasElement("stack", func(id uuid.UUID, record []byte) bool {
				asked[id]++
				if record != nil {
					t.Errorf("record %q", record)
				}
				return id == uuid.UUID{2, 7}
			}),
		})
		if err != nil || len(g.Counts) != 1 || g.Counts[0] != 6 {
			t.Errorf("%s: %v, %v; want 6 rows", when, g, err)
		}
		for id, n := range asked {
			if n > generations {
				t.Errorf("%s: asked %d times about %v", when, n, id)
			}
		}
		compact(t, store)
	}
}

// KnownTuples has a snapshot's combinations, over several generations.
func TestKnownTuples(t *testing.T) {
	store, table := open(t, Options{Manual: true, GenerationBuckets: 1}, samples(100))
	none, err := table.KnownTuples(snapshot(t, store), []string{"labels.pod"})
	if err != nil || len(none) != 0 {
		t.Errorf("of no series: %q, %v", none, err)
	}
	for i := range 4 {
		insert(t, table, shardsOf(fmt.Sprint("pod ", i), int64(100*i)))
	}
	snap := snapshot(t, store)
	insert(t, table, shardsOf("later", 5))
	for _, columns := range [][]string{{"labels.pod"}, {"kind", "labels.pod"}, {"labels.none"}} {
		want, err := table.SeriesTuples(t.Context(), snap, columns, Expr{})
		if err != nil || len(want) == 0 {
			t.Fatalf("%q: %q, %v", columns, want, err)
		}
		got, err := table.KnownTuples(snap, columns)
		if err != nil {
			t.Fatal(err)
		}
		for _, tuple := range want {
			if !slices.ContainsFunc(got, func(other []string) bool { return slices.Equal(tuple, other) }) {
				t.Errorf("%q: %q is not known: %q", columns, tuple, got)
			}
		}
	}
	if _, err := table.KnownTuples(snap, []string{"value"}); !errors.Is(err, ErrQuery) {
		t.Errorf("of a column that is not of series: %v", err)
	}
	snap.Close()
	if _, err := table.KnownTuples(snap, []string{"labels.pod"}); !errors.Is(err, ErrSnapshotClosed) {
		t.Errorf("of a closed snapshot: %v", err)
	}
}

// An empty string of a column that is not dynamic is a value, distinct from null.
func TestQueries_EmptyValues(t *testing.T) {
	store, table := open(t, Options{Manual: true}, wide(100, wideKey))
	for i, zone := range []string{"", "a"} {
		b := oneRow(int64(i))
		b.Columns["kind"], b.Columns["zone"] = encoding.Strings(""), encoding.Strings(zone)
		b.Columns["labels.pod"] = encoding.Strings("")
		insert(t, table, b)
	}
	for column, want := range map[string][]string{"kind": {""}, "zone": {"", "a"}, "labels.pod": nil} {
		if got, err := table.SeriesValues(t.Context(), snapshot(t, store), column, Expr{}); err != nil || !slices.Equal(got, want) {
			t.Errorf("values of %s: %q, %v; want %q", column, got, err, want)
		}
	}
	got, err := table.SeriesColumns(t.Context(), snapshot(t, store), Expr{})
	if want := []string{"kind", "zone"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("columns %q, %v; want %q", got, err, want)
	}
}
