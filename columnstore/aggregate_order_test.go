package columnstore

import (
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/granule"
	"github.com/granarydb/granary/schema"
)

// typesOfJobs fills a table with rows of two types of some jobs, each with stacks of its own,
// so that the key has the type first and codes go by job; and a type without stacks.
func typesOfJobs(t *testing.T, table *Table, time int64) {
	t.Helper()
	for job := range 10 {
		for _, kind := range []string{"cpu", "mem", "none"} {
			const rows = 100
			b := schema.Batch{Rows: rows, Columns: map[string]encoding.Vector{
				"kind": encoding.Strings(kind), "labels.pod": encoding.Strings(fmt.Sprint(job)),
				"time": encoding.Int64s(time), "value": encoding.Int64s(int64(job)),
			}}
			if kind != "none" {
				stacks := make([][]uuid.UUID, rows)
				for i := range stacks {
					stacks[i] = []uuid.UUID{{1, byte(job), byte(i)}}
				}
				b.Columns["stack"] = encoding.UUIDLists(stacks...)
			}
			if _, err := table.Insert(t.Context(), b); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// Granules come by what stacks they have, those of a generation after those of the one before,
// and the sums stay what they are.
func TestAggregator_SortByLists(t *testing.T) {
	samples := stackSamples()
	samples.Columns[slices.IndexFunc(samples.Columns, func(c schema.Column) bool { return c.Name == "stack" })].Nullable = true
	store, table := open(t, Options{Manual: true, FutureLimit: -1, GenerationBuckets: 1, GranuleRows: 150}, samples)
	typesOfJobs(t, table, 1)
	typesOfJobs(t, table, 101)
	compact(t, store)
	typesOfJobs(t, table, 102) // not rewritten
	opts := AggregateOptions{Sum: "value", By: []string{"stack"}}
	snap := snapshot(t, store)
	want, err := table.Aggregate(t.Context(), snap, opts)
	if err != nil {
		t.Fatal(err)
	}
	state, use, err := snap.read(table)
	if err != nil {
		t.Fatal(err)
	}
	defer use.Done()
	c, err := newChooser(t.Context(), table, opts.Where)
	if err != nil {
		t.Fatal(err)
	}
	defer c.done()
	a, err := table.newAggregator(t.Context(), state, opts)
	if err != nil {
		t.Fatal(err)
	}
	defer a.done()
	granules := c.granules(state, opts.Where)
	inKeyOrder := slices.Clone(granules)
	a.sortByLists(granules)
	if slices.Equal(granules, inKeyOrder) {
		t.Error("granules stay in the order of the key")
	}
	place := func(g *granule.Granule) (gen int, code uint64) {
		s := g.Slices()[0]
		if column := s.Part.Find(a.by[0].Column, ""); column != nil {
			code = column.Words().At((s.Lo + s.Hi) / 2)
		}
		return a.number(s.Part.Generation()), code
	}
	for i := 1; i < len(granules); i++ {
		before, codeBefore := place(granules[i-1])
		if gen, code := place(granules[i]); gen < before || gen == before && code < codeBefore {
			t.Errorf("a granule of generation %d, code %d, comes after one of %d, %d", gen, code, before, codeBefore)
		}
	}
	if err := a.sumSome(t.Context(), use, c, granules, new(atomic.Int64)); err != nil {
		t.Fatal(err)
	}
	got, err := a.groups()
	if err != nil {
		t.Fatal(err)
	}
	if !maps.Equal(sumsOf(t, got), sumsOf(t, want)) {
		t.Errorf("%d sums are not the %d in the order of the key", len(got.Sums), len(want.Sums))
	}
}
