package columnstore

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/internal/catalog"
	"github.com/granarydb/granary/schema"
)

// Func receives the Go value of each type, and nil for a null.
func TestFuncSeesValues(t *testing.T) {
	store, table := open(t, Options{}, schema.Definition{Columns: []schema.Column{
		{Name: "s", Type: encoding.String, Encoding: encoding.Dictionary, Nullable: true},
		{Name: "u", Type: encoding.UUID, Encoding: encoding.Plain, Nullable: true},
		{Name: "i", Type: encoding.Int64, Encoding: encoding.Plain, Nullable: true},
		{Name: "n", Type: encoding.Uint64, Encoding: encoding.Plain, Nullable: true},
		{Name: "f", Type: encoding.Float64, Encoding: encoding.Plain, Nullable: true},
		{Name: "b", Type: encoding.Bool, Encoding: encoding.Plain, Nullable: true},
		{Name: "l", Type: encoding.UUIDList, Encoding: encoding.Dictionary, Nullable: true},
	}})
	half := func(v encoding.Vector) encoding.Vector { // the second row is null
		v.Valid = []bool{true, false}
		return v
	}
	_, err := table.Insert(t.Context(), schema.Batch{Rows: 2, Columns: map[string]encoding.Vector{
		"s": half(encoding.Strings("x", "")), "u": half(encoding.UUIDs(uuid.UUID{7}, uuid.Nil)),
		"i": half(encoding.Int64s(-3, 0)), "n": half(encoding.Uint64s(1<<63, 0)),
		"f": half(encoding.Float64s(0.5, 0)), "b": half(encoding.Bools(true, false)),
	}})
	if err != nil {
		t.Fatal(err)
	}
	snap, err := store.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Close()
	for column, want := range map[string]any{"s": "x", "u": uuid.UUID{7}, "i": int64(-3), "n": uint64(1 << 63), "f": 0.5, "b": true} {
		for _, wanted := range []any{want, nil} {
			g, err := table.Aggregate(t.Context(), snap, AggregateOptions{Where: Func(column, func(v any) bool { return v == wanted })})
			if err != nil || len(g.Counts) != 1 || g.Counts[0] != 1 {
				t.Errorf("%s: rows equal to %v: %v, %v; want one", column, wanted, g, err)
			}
		}
	}
	for _, bad := range []Expr{Func("l", func(any) bool { return true }), Func("i", nil), Func("none", func(any) bool { return true })} {
		if _, err := table.Aggregate(t.Context(), snap, AggregateOptions{Where: bad}); !errors.Is(err, ErrQuery) {
			t.Errorf("a condition that cannot be: %v", err)
		}
	}
}

// Any Int64 column can be grouped by steps.
func TestStepOfAnyColumn(t *testing.T) {
	store, table := open(t, Options{}, schema.Definition{Columns: []schema.Column{
		{Name: "at", Type: encoding.Int64, Encoding: encoding.Delta},
		{Name: "s", Type: encoding.String, Encoding: encoding.Dictionary, Nullable: true},
	}})
	if _, err := table.Insert(t.Context(), schema.Batch{Rows: 4, Columns: map[string]encoding.Vector{"at": encoding.Int64s(-1, 0, 9, 10)}}); err != nil {
		t.Fatal(err)
	}
	snap, err := store.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Close()
	g, err := table.Aggregate(t.Context(), snap, AggregateOptions{By: []string{"at"}, Step: 10, Time: "at"})
	if err != nil {
		t.Fatal(err)
	}
	counts := map[int64]int64{}
	for i, at := range g.Columns[0].Values.Int64s {
		counts[at] = g.Counts[i]
	}
	if len(counts) != 3 || counts[-10] != 1 || counts[0] != 2 || counts[10] != 1 {
		t.Errorf("counts by step %v", counts)
	}
	for _, opts := range []AggregateOptions{{Step: 10}, {Step: -1, Time: "at"}, {Step: 10, Time: "s"}, {Step: 10, Time: "none"}} {
		if _, err := table.Aggregate(t.Context(), snap, opts); !errors.Is(err, ErrQuery) {
			t.Errorf("%+v: %v", opts, err)
		}
	}
}

// Notes come with their transaction, once each, and stay in its snapshots.
func TestNotes(t *testing.T) {
	store, table := open(t, Options{}, samples(0))
	note := func(texts ...string) error {
		tx := store.Begin()
		for _, text := range texts {
			tx.Note(table, text)
		}
		_, err := tx.Commit()
		return err
	}
	notes := func(snap *Snapshot) []string {
		out, err := table.Notes(snap)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	if err := note("b", "a", "b"); err != nil {
		t.Fatal(err)
	}
	old, err := store.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	aborted := store.Begin()
	aborted.Note(table, "never")
	aborted.Abort()
	if err := note("a", "c"); err != nil {
		t.Fatal(err)
	}
	if err := note("d", strings.Repeat("x", schema.MaxString+1)); !errors.Is(err, ErrLimit) {
		t.Errorf("a long note: %v", err)
	}
	now, err := store.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer now.Close()
	if got := notes(old); !slices.Equal(got, []string{"b", "a"}) {
		t.Errorf("the old snapshot has notes %v", got)
	}
	if got := notes(now); !slices.Equal(got, []string{"b", "a", "c"}) {
		t.Errorf("the new snapshot has notes %v", got)
	}
	elsewhere, _ := open(t, Options{}, samples(0))
	foreign := elsewhere.Begin()
	foreign.Note(table, "of another store")
	if _, err := foreign.Commit(); !errors.Is(err, ErrTable) {
		t.Errorf("a note on a table of another store: %v", err)
	}
	for i := range 1024 - 3 {
		if err := note(fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := note("one too many"); !errors.Is(err, ErrLimit) {
		t.Errorf("note %d: %v", 1024+1, err)
	}
}

// A batch cannot be spread over more time buckets than the limit.
func TestTooManyBuckets(t *testing.T) {
	store, table := open(t, Options{FutureLimit: -1}, samples(10))
	times := make([]int64, catalog.MaxBuckets+1)
	for i := range times {
		times[i] = int64(10 * i)
	}
	b := schema.Batch{Rows: len(times), Columns: map[string]encoding.Vector{
		"kind": encoding.Strings("k"), "stack": encoding.UUIDLists(nil), "time": encoding.Int64s(times...), "value": encoding.Int64s(5),
	}}
	if _, err := table.Insert(t.Context(), b); !errors.Is(err, ErrLimit) {
		t.Errorf("insert into %d buckets: %v", len(times), err)
	}
	if stats := store.Stats(); stats.Rows != 0 || stats.Series != 0 {
		t.Errorf("a refused insert left %+v", stats)
	}
}
